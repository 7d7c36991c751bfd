import type { MessageKey } from "../i18n";

/** A preset of the rewrite box. The host keeps its prompt as Markdown. */
export interface Preset {
  readonly id: string;
  readonly label: MessageKey;
}

/** The presets in the order of the box (U1). */
export const presets: readonly Preset[] = [
  { id: "improve", label: "rewrite.preset.improve" },
  { id: "grammar", label: "rewrite.preset.grammar" },
  { id: "shorten", label: "rewrite.preset.shorten" },
  { id: "expand", label: "rewrite.preset.expand" },
  { id: "simplify", label: "rewrite.preset.simplify" },
  { id: "tone", label: "rewrite.preset.tone" },
  { id: "translate", label: "rewrite.preset.translate" },
  { id: "continue", label: "rewrite.preset.continue" },
];

import type { ComponentChildren } from "preact";
import { Icon, type IconName } from "./icon";

/** How bad it is: plain says something, warn asks for care, bad is a failure. */
export type NoticeKind = "plain" | "warn" | "bad";

/** Props of Notice. */
export interface NoticeProps {
  readonly kind?: NoticeKind;
  readonly icon?: IconName;
  readonly title: string;
  /** One sentence: what holds, or what to do. */
  readonly text?: ComponentChildren;
  /** The next steps, as buttons. */
  readonly actions?: ComponentChildren;
}

/** A message in the place it concerns. A warning or failure is read out at once. */
export function Notice({ kind = "plain", icon, title, text, actions }: NoticeProps) {
  const drawn = icon ?? (kind === "bad" ? "circle-alert" : kind === "warn" ? "triangle-alert" : "info");
  return (
    <div
      class={`note full${kind === "plain" ? "" : ` ${kind}`}`}
      role={kind === "plain" ? undefined : "alert"}
    >
      <Icon name={drawn} />
      <h2>{title}</h2>
      {text && <p>{text}</p>}
      {actions && <div class="acts">{actions}</div>}
    </div>
  );
}

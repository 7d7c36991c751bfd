import { useSignal } from "@preact/signals";
import { t } from "../i18n";
import type { CommandBoard } from "./board";
import { type Command, type CommandGroup, isCommandId } from "./commands";
import { type FuzzyHit, fuzzyMatch } from "./fuzzy";
import { Icon } from "./icon";
import { keyLabel } from "./keys";
import { marked, Picker, type PickerGroup, type PickerRow } from "./picker";

/** A command that the query hits. */
interface PaletteHit {
  readonly command: Command;
  readonly hit: FuzzyHit;
}

/**
 * The commands that a query hits: by group, the group with the best hit first,
 * within a group the best first. Without a query the order is the table's.
 */
function findCommands(commands: readonly Command[], query: string): readonly PaletteHit[] {
  const hits = commands
    .filter((command) => command.palette && command.id !== "view.palette")
    .flatMap((command) => {
      const hit = fuzzyMatch(query, t(command.label));
      return hit === null ? [] : [{ command, hit }];
    });
  const best = new Map<CommandGroup, number>();
  for (const { command, hit } of hits) {
    best.set(command.group, Math.max(hit.score, best.get(command.group) ?? Number.NEGATIVE_INFINITY));
  }
  const order = [...new Set(commands.map((command) => command.group))];
  const rank = (a: PaletteHit, b: PaletteHit): number =>
    (best.get(b.command.group) ?? 0) - (best.get(a.command.group) ?? 0) ||
    order.indexOf(a.command.group) - order.indexOf(b.command.group) ||
    b.hit.score - a.hit.score;
  return [...hits].sort(rank);
}

/** Props of Palette. */
export interface PaletteProps {
  readonly board: CommandBoard;
  readonly onClose: () => void;
}

/** Every command, found by its letters. A command that is off stays, and says why. */
export function Palette({ board, onClose }: PaletteProps) {
  const query = useSignal("");
  const hits = findCommands(board.bound(), query.value);
  return (
    <Picker
      title={t("commands.title")}
      find={t("commands.find")}
      run={t("commands.run")}
      groups={groupsOf(hits, board)}
      note={hits.length === 0 ? t("commands.none") : ""}
      onQuery={(typed) => {
        query.value = typed;
      }}
      onRun={(id) => {
        if (isCommandId(id) && board.offReason(id) === "") {
          // First shut, so that the focus is back where the command expects it.
          onClose();
          queueMicrotask(() => board.run(id));
        }
      }}
      onClose={onClose}
    />
  );
}

function groupsOf(hits: readonly PaletteHit[], board: CommandBoard): readonly PickerGroup[] {
  const groups = [...new Set(hits.map((hit) => hit.command.group))];
  return groups.map((group) => ({
    id: group,
    label: t(`commands.group.${group}`),
    rows: hits.filter((hit) => hit.command.group === group).map((hit) => rowOf(hit, board)),
  }));
}

function rowOf({ command, hit }: PaletteHit, board: CommandBoard): PickerRow {
  const off = board.offReason(command.id) ?? "";
  const icon = board.isChecked(command.id) ? "check" : command.icon;
  return {
    id: command.id,
    off: off !== "",
    content: (
      <>
        {icon ? <Icon name={icon} /> : <span class="gap" />}
        <span class="grow clip">{marked(t(command.label), hit.ranges)}</span>
        <span class="key">{off === "" ? keyLabel(command, board.platform.value) : t(off)}</span>
      </>
    ),
  };
}

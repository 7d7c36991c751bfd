import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n";
import type { CommandBoard } from "./board";
import type { Command, CommandGroup } from "./commands";
import { type FuzzyHit, fuzzyMatch } from "./fuzzy";
import { Icon } from "./icon";
import { keyLabel } from "./keys";
import { useModal } from "./modal";

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
    .filter((command) => command.id !== "view.palette")
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
  const id = useId();
  const ref = useRef<HTMLElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const query = useSignal("");
  const chosen = useSignal(0);
  useModal(ref, onClose);

  const hits = findCommands(board.bound(), query.value);
  const at = Math.min(chosen.value, hits.length - 1);

  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [at, query.value]);

  const run = (hit: PaletteHit | undefined): void => {
    if (hit !== undefined && board.offReason(hit.command.id) === "") {
      // First shut, so that the focus is back where the command expects it.
      onClose();
      queueMicrotask(() => board.run(hit.command.id));
    }
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing || event.keyCode === 229) {
      return;
    }
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0 && hits.length > 0) {
      chosen.value = (at + step + hits.length) % hits.length;
    } else if (event.key === "Enter") {
      run(hits[at]);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <>
      <div class="scrim" onPointerDown={onClose} />
      <section class="pop palette" role="dialog" aria-modal="true" aria-label={t("commands.title")} ref={ref}>
        <div class="q">
          <Icon name="search" />
          <input
            type="text"
            role="combobox"
            aria-expanded={true}
            aria-controls={id}
            aria-activedescendant={hits[at] && `${id}-${hits[at].command.id}`}
            aria-autocomplete="list"
            aria-label={t("commands.find")}
            placeholder={t("commands.find")}
            autocomplete="off"
            spellcheck={false}
            data-first
            onInput={(event) => {
              query.value = event.currentTarget.value;
              chosen.value = 0;
            }}
            onKeyDown={onKeyDown}
          />
        </div>
        <div
          class="all scrolls"
          role="listbox"
          id={id}
          aria-label={t("commands.title")}
          ref={list}
          tabIndex={-1}
        >
          {groupsOf(hits).map(({ group, rows }) => [
            <div class="grp" key={`${group} name`} aria-hidden="true">
              {t(`commands.group.${group}`)}
            </div>,
            // biome-ignore lint/a11y/useSemanticElements: a group of options, not of fields
            <div class="rows" role="group" key={group} aria-label={t(`commands.group.${group}`)}>
              {rows.map((hit) => (
                <Row
                  key={hit.command.id}
                  id={`${id}-${hit.command.id}`}
                  hit={hit}
                  board={board}
                  selected={hit === hits[at]}
                  onPoint={() => {
                    chosen.value = hits.indexOf(hit);
                  }}
                  onRun={() => run(hit)}
                />
              ))}
            </div>,
          ])}
        </div>
        {hits.length === 0 && (
          <p class="none" role="status">
            {t("commands.none")}
          </p>
        )}
        <div class="end" aria-hidden="true">
          <span>↑↓ {t("commands.choose")}</span>
          <span>⏎ {t("commands.run")}</span>
          <span class="grow" />
          <span>Esc {t("commands.close")}</span>
        </div>
      </section>
    </>
  );
}

interface RowProps {
  readonly id: string;
  readonly hit: PaletteHit;
  readonly board: CommandBoard;
  readonly selected: boolean;
  readonly onPoint: () => void;
  readonly onRun: () => void;
}

function Row({ id, hit: { command, hit }, board, selected, onPoint, onRun }: RowProps) {
  const off = board.offReason(command.id) ?? "";
  const label = t(command.label);
  const icon = board.isChecked(command.id) ? "check" : command.icon;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus and the keys
    <div
      role="option"
      id={id}
      aria-selected={selected}
      aria-disabled={off === "" ? undefined : "true"}
      tabIndex={-1}
      onPointerMove={onPoint}
      onClick={onRun}
    >
      {icon ? <Icon name={icon} /> : <span class="gap" />}
      <span class="grow clip">{marked(label, hit)}</span>
      <span class="key">{off === "" ? keyLabel(command, board.platform.value) : t(off)}</span>
    </div>
  );
}

function marked(label: string, hit: FuzzyHit): ComponentChildren {
  const out: ComponentChildren[] = [];
  let at = 0;
  for (const [from, to] of hit.ranges) {
    out.push(label.slice(at, from), <mark key={from}>{label.slice(from, to)}</mark>);
    at = to;
  }
  return [...out, label.slice(at)];
}

function groupsOf(
  hits: readonly PaletteHit[],
): readonly { readonly group: CommandGroup; readonly rows: readonly PaletteHit[] }[] {
  const groups = [...new Set(hits.map((hit) => hit.command.group))];
  return groups.map((group) => ({ group, rows: hits.filter((hit) => hit.command.group === group) }));
}

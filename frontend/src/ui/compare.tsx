/** The comparison of a document with its file: mine, theirs, and the merge of both, row by row. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { BackendError } from "../backend";
import { isComposingEvent, watchComposition } from "../editor";
import { formatTime, t } from "../i18n";
import {
  type Choice,
  type Choices,
  type Chunk,
  chunkText,
  diffWords,
  isConflict,
  isPartlyTaken,
} from "../text";
import { FaultNotice } from "./fault-notice";
import { Icon } from "./icon";
import type { Platform } from "./keys";
import { writeKey } from "./keys";
import { documentLabel } from "./tree-model";

/** What the comparison of a document shows. */
export type CompareView = {
  readonly id: string;
  readonly name: string;
  /** The file changed outside; else the text is compared with the file it grew from. */
  readonly conflict: boolean;
} & (
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly error: BackendError }
  | OpenCompareView
);

interface OpenCompareView {
  readonly status: "open";
  /** The merge is being saved. */
  readonly saving: boolean;
  readonly chunks: readonly Chunk[];
  readonly choices: Choices;
  /** The place among the chunks of the current difference; −1 for none. */
  readonly current: number;
  /** Which of the differences is current, from 1, and how many there are. */
  readonly number: number;
  readonly total: number;
  /** How many conflicts wait for a choice. */
  readonly open: number;
  readonly hasBase: boolean;
  /** The file changed once more, and this is the comparison with what it is now. */
  readonly again: boolean;
  /** When both sides were last the same, in ms; 0 when that is not known. */
  readonly sinceMs: number;
  readonly mineAtMs: number;
  readonly theirsAtMs: number;
  /** There is no file any more. */
  readonly missing: boolean;
}

/** What a person does in a comparison. */
export interface CompareActions {
  readonly choose: (choice: Choice) => void;
  readonly go: (chunk: number) => void;
  readonly step: (by: 1 | -1) => void;
  readonly save: () => void;
  readonly keepMine: () => void;
  readonly takeTheirs: () => void;
  readonly saveCopy: () => void;
  readonly leave: () => void;
  readonly retry: () => void;
}

/** Props of Comparing. */
export interface ComparingProps {
  readonly view: CompareView;
  readonly actions: CompareActions;
  readonly platform: Platform;
}

/** The comparison, in place of the text. */
export function Comparing({ view, actions, platform }: ComparingProps) {
  const root = useRef<HTMLElement>(null);
  const writing = useSignal(-1);

  // Whoever asked for it reads and decides here; the text behind is out of reach.
  useLayoutEffect(() => root.current?.focus(), [view.id]);
  useEffect(() => {
    root.current?.querySelector("[aria-current=true]")?.scrollIntoView?.({ block: "nearest" });
  }, [view.status === "open" ? view.current : -1]);

  const onKeyDown = (event: KeyboardEvent): void => {
    if (isComposingEvent(event) || event.target instanceof HTMLTextAreaElement) {
      return;
    }
    const action = keyAction(event, view, actions, () => {
      writing.value = view.status === "open" ? view.current : -1;
    });
    if (action !== null) {
      event.preventDefault();
      action();
    }
  };

  return (
    <section
      class="compare"
      aria-label={t("compare.label", { name: documentLabel(view.name) })}
      tabIndex={-1}
      ref={root}
      onKeyDown={onKeyDown}
    >
      <Head view={view} actions={actions} />
      {view.status === "loading" && (
        <div class="compare-wait skel" role="status" aria-label={t("compare.loading")}>
          <i />
          <i />
          <i />
        </div>
      )}
      {view.status === "failed" && (
        <div class="compare-wait">
          <FaultNotice
            fault={{ code: view.error.code, detail: view.error.detail, retryAfterMs: 0 }}
            actions={{ retry: actions.retry, dismiss: actions.leave }}
          />
        </div>
      )}
      {view.status === "open" && <Rows view={view} actions={actions} writing={writing} />}
      <Foot view={view} actions={actions} platform={platform} />
    </section>
  );
}

/** What a key does in the comparison; null for nothing. */
function keyAction(
  event: KeyboardEvent,
  view: CompareView,
  actions: CompareActions,
  write: () => void,
): (() => void) | null {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    return null;
  }
  if (event.key === "Escape") {
    return actions.leave;
  }
  if (event.key === "F8") {
    return () => actions.step(event.shiftKey ? -1 : 1);
  }
  if (view.status !== "open" || event.shiftKey) {
    return null;
  }
  // By place where the layout has no such letter.
  const key = /^[\da-z]$/i.test(event.key) ? event.key.toLowerCase() : event.code.replace(/^(Key|Digit)/, "");
  switch (key.toLowerCase()) {
    case "j":
    case "arrowdown":
      return () => actions.step(1);
    case "k":
    case "arrowup":
      return () => actions.step(-1);
  }
  const chunk = view.chunks[view.current];
  if (chunk === undefined || !isConflict(chunk) || view.saving) {
    return null;
  }
  switch (key.toLowerCase()) {
    case "1":
      return () => actions.choose({ by: "mine" });
    case "2":
      return () => actions.choose({ by: "theirs" });
    case "3":
      return () => actions.choose({ by: "both" });
    case "e":
      return write;
    default:
      return null;
  }
}

function Head({ view, actions }: { readonly view: CompareView; readonly actions: CompareActions }) {
  const name = documentLabel(view.name);
  const open = view.status === "open" ? view : null;
  return (
    <header class="compare-head">
      <div class="grow">
        <h2>{t(view.conflict ? "compare.title.conflict" : "compare.title.file", { name })}</h2>
        <p class="meta">
          <span>{t("compare.safe")}</span>
          {open !== null && <span>{marksText(open)}</span>}
        </p>
        {open?.again && (
          <p class="badge lock" role="status">
            <Icon name="triangle-alert" />
            {t("compare.again")}
          </p>
        )}
      </div>
      {open !== null && open.total > 0 && (
        <div class="acts">
          <span class="meta num">{t("compare.position", { number: open.number, total: open.total })}</span>
          <button
            type="button"
            class="ib"
            aria-label={t("compare.previous")}
            title={t("compare.previous")}
            onClick={() => actions.step(-1)}
          >
            <Icon name="chevron-up" />
          </button>
          <button
            type="button"
            class="ib"
            aria-label={t("compare.next")}
            title={t("compare.next")}
            onClick={() => actions.step(1)}
          >
            <Icon name="chevron-down" />
          </button>
        </div>
      )}
    </header>
  );
}

function marksText({ hasBase, sinceMs }: OpenCompareView): string {
  if (!hasBase) {
    return t("compare.marks.two");
  }
  return sinceMs > 0 ? t("compare.marks.since", { time: formatTime(sinceMs) }) : t("compare.marks");
}

/** Which conflict is being written by hand, as its place among the chunks; −1 for none. */
interface Writing {
  value: number;
}

function Rows({
  view,
  actions,
  writing,
}: {
  readonly view: OpenCompareView;
  readonly actions: CompareActions;
  readonly writing: Writing;
}) {
  const { chunks, choices, current } = view;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and has to be reached for that
    <section class="compare-rows scrolls" tabIndex={0} aria-label={t("compare.rows")}>
      <div class="compare-row compare-names">
        <div>
          <b>{t("compare.mine")}</b>
          <span class="meta num">{t("compare.mine.where", { time: formatTime(view.mineAtMs) })}</span>
        </div>
        <div>
          <b>{t("compare.theirs")}</b>
          <span class="meta num">
            {view.missing
              ? t("compare.theirs.missing")
              : t("compare.theirs.where", { time: formatTime(view.theirsAtMs) })}
          </span>
        </div>
        <div>
          <b>{t("compare.merged")}</b>
          <span class="meta">{t("compare.merged.where")}</span>
        </div>
      </div>
      {view.total === 0 && <p class="compare-none">{t("compare.none")}</p>}
      {chunks.map((chunk, i) =>
        chunk.kind === "same" ? (
          <SameRow key={i} text={chunk.mine} first={i === 0} last={i === chunks.length - 1} />
        ) : (
          <DifferentRow
            key={chunk.key || i}
            chunk={chunk}
            index={i}
            choice={choices.get(chunk.key)}
            current={i === current}
            writing={writing.value === i}
            hasBase={view.hasBase}
            label={t("compare.position", {
              number: chunks.slice(0, i + 1).filter((c) => c.kind !== "same").length,
              total: view.total,
            })}
            actions={actions}
            onWriting={(on) => {
              writing.value = on ? i : -1;
            }}
          />
        ),
      )}
      <div class="compare-row compare-rest" aria-hidden="true">
        <div />
        <div />
        <div />
      </div>
    </section>
  );
}

/** A stretch longer than this many lines is folded to its first and last lines. */
const mostSame = 8;

/** How many lines a fold leaves at each end. */
const leftSame = 3;

/** What all three have: it is only there to find one's way. */
function SameRow({
  text,
  first,
  last,
}: {
  readonly text: string;
  /** Nothing that differs stands before it, or behind it. */
  readonly first: boolean;
  readonly last: boolean;
}) {
  const unfolded = useSignal(false);
  const whole = unfolded.value;
  // Drawn once: a choice elsewhere changes nothing here.
  return useMemo(() => {
    const lines = text.split("\n");
    if (lines.length <= mostSame || whole) {
      return <SameLines text={text} />;
    }
    const head = first && !last ? 0 : leftSame;
    const tail = last && !first ? 0 : leftSame;
    return (
      <>
        <SameLines text={lines.slice(0, head).join("\n")} />
        <button
          type="button"
          class="compare-fold"
          onClick={() => {
            unfolded.value = true;
          }}
        >
          <Icon name="chevrons-up-down" small />
          {t("compare.unchanged", { n: lines.length - head - tail })}
        </button>
        <SameLines text={lines.slice(lines.length - tail).join("\n")} />
      </>
    );
  }, [text, whole, first, last, unfolded]);
}

function SameLines({ text }: { readonly text: string }) {
  const shown = text.replace(/^\n+|\n+$/g, "");
  return shown === "" ? null : (
    <div class="compare-row">
      {[0, 1, 2].map((column) => (
        // The same words thrice: once is enough for those who hear them.
        <div class="cell same" key={column} aria-hidden={column > 0 || undefined}>
          <Marked parts={[{ kind: "same", text: shown }]} />
        </div>
      ))}
    </div>
  );
}

interface DifferentRowProps {
  readonly chunk: Chunk;
  readonly index: number;
  readonly choice: Choice | undefined;
  readonly current: boolean;
  readonly writing: boolean;
  readonly hasBase: boolean;
  readonly label: string;
  readonly actions: CompareActions;
  readonly onWriting: (on: boolean) => void;
}

function DifferentRow(props: DifferentRowProps) {
  const { chunk, index, choice, current, hasBase, label, actions } = props;
  const conflict = isConflict(chunk);
  const mine = useMemo(() => sideParts(chunk, "mine", hasBase), [chunk, hasBase]);
  const theirs = useMemo(() => sideParts(chunk, "theirs", hasBase), [chunk, hasBase]);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a row of three columns is no set of fields
    // biome-ignore lint/a11y/useKeyWithClickEvents: the comparison has the keys
    <div
      class={`compare-row${conflict ? " is-conflict" : ""}`}
      role="group"
      aria-label={`${label}, ${kindText(chunk)}`}
      aria-current={current ? "true" : undefined}
      onClick={() => actions.go(index)}
    >
      <div class="cell">
        <Marked parts={mine} />
        {conflict && <SideButton {...props} side="mine" chosen={choice?.by === "mine"} number="1" />}
      </div>
      <div class="cell">
        <Marked parts={theirs} />
        {conflict && <SideButton {...props} side="theirs" chosen={choice?.by === "theirs"} number="2" />}
      </div>
      <div class="cell">{conflict ? <MergedConflict {...props} /> : <MergedTaken chunk={chunk} />}</div>
    </div>
  );
}

function SideButton({
  side,
  chosen,
  number,
  current,
  index,
  actions,
}: DifferentRowProps & {
  readonly side: "mine" | "theirs";
  readonly chosen: boolean;
  readonly number: string;
}) {
  return (
    <div class="acts">
      <button
        type="button"
        class="btn sm"
        aria-pressed={chosen}
        onClick={(event) => {
          event.stopPropagation();
          actions.go(index);
          actions.choose({ by: side });
        }}
      >
        {chosen && <Icon name="check" small />}
        {t(chosen ? `compare.${side}` : side === "mine" ? "compare.useMine" : "compare.useTheirs")}
        {current && <span class="key">{number}</span>}
      </button>
    </div>
  );
}

function MergedTaken({ chunk }: { readonly chunk: Chunk }) {
  return (
    <>
      <Marked parts={[{ kind: "same", text: chunkText(chunk, new Map()) ?? "" }]} />
      <div class="acts">
        <span class="badge">
          <Icon name="check" />
          {kindText(chunk)}
        </span>
      </div>
    </>
  );
}

function MergedConflict(props: DifferentRowProps) {
  const { chunk, index, choice, current, writing, actions, onWriting } = props;
  const text = choice === undefined ? null : chunkText(chunk, new Map([[chunk.key, choice]]));
  if (writing) {
    return (
      <Writer {...props} text={text ?? chunkText(chunk, new Map([[chunk.key, { by: "mine" }]])) ?? ""} />
    );
  }
  const act = (event: Event, what: () => void): void => {
    event.stopPropagation();
    actions.go(index);
    what();
  };
  return (
    <>
      {text === null ? (
        <p class="compare-open">{kindText(chunk)}</p>
      ) : text === "" ? (
        <p class="compare-open">{t("compare.leftOut")}</p>
      ) : (
        <Marked parts={[{ kind: "same", text }]} />
      )}
      <div class="acts">
        <button
          type="button"
          class="btn sm"
          aria-pressed={choice?.by === "both"}
          onClick={(event) => act(event, () => actions.choose({ by: "both" }))}
        >
          {choice?.by === "both" && <Icon name="check" small />}
          {t("compare.keepBoth")}
          {current && <span class="key">3</span>}
        </button>
        <button
          type="button"
          class="btn sm"
          aria-pressed={choice?.by === "written"}
          onClick={(event) => act(event, () => onWriting(true))}
        >
          {choice?.by === "written" && <Icon name="check" small />}
          {t("compare.write")}
          {current && <span class="key">E</span>}
        </button>
      </div>
      {text !== null && choice?.by !== "both" && choice?.by !== "written" && isPartlyTaken(chunk) && (
        <div class="acts">
          <span class="badge">
            <Icon name="check" />
            {t("compare.others")}
          </span>
        </div>
      )}
    </>
  );
}

/** A conflict's words written by hand. */
function Writer({ chunk, text, index, actions, onWriting }: DifferentRowProps & { readonly text: string }) {
  const field = useRef<HTMLTextAreaElement>(null);
  // Whole lines: the last break is not for the person to keep.
  const broken = [chunk.mine, chunk.theirs, chunk.base].some((part) => part.endsWith("\n"));
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) {
      return;
    }
    const watch = watchComposition(element);
    const onKeyDown = (event: KeyboardEvent): void => {
      if (watch.claims(event)) {
        return;
      }
      const done = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (done || event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        const compare = element.closest<HTMLElement>(".compare");
        if (done) {
          keep();
        } else {
          onWriting(false);
        }
        compare?.focus();
      }
    };
    element.addEventListener("keydown", onKeyDown);
    element.focus();
    element.setSelectionRange(element.value.length, element.value.length);
    return () => {
      watch.stop();
      element.removeEventListener("keydown", onKeyDown);
    };
  }, []);
  const keep = (): void => {
    const written = field.current?.value ?? "";
    actions.go(index);
    actions.choose({ by: "written", text: written !== "" && broken ? `${written}\n` : written });
    onWriting(false);
  };
  const shown = broken ? text.replace(/\n$/, "") : text;
  return (
    <>
      <textarea
        class="compare-write"
        ref={field}
        aria-label={t("compare.write.label")}
        rows={Math.min(14, rowsOf(shown) + 1)}
        defaultValue={shown}
      />
      <div class="acts">
        <button
          type="button"
          class="btn sm"
          onClick={(event) => {
            event.stopPropagation();
            const compare = event.currentTarget.closest<HTMLElement>(".compare");
            keep();
            compare?.focus();
          }}
        >
          {t("compare.write.done")}
        </button>
        <button
          type="button"
          class="btn sm quiet"
          onClick={(event) => {
            event.stopPropagation();
            const compare = event.currentTarget.closest<HTMLElement>(".compare");
            onWriting(false);
            compare?.focus();
          }}
        >
          {t("dialogs.cancel")}
        </button>
      </div>
    </>
  );
}

/** About how many rows a text takes in a column; Han characters are twice as wide as letters. */
function rowsOf(text: string): number {
  const widths = text.split("\n").map((line) => line.length + (line.match(/\p{Script=Han}/gu)?.length ?? 0));
  return widths.reduce((sum, width) => sum + 1 + Math.floor(width / 46), 0);
}

/** What became of a difference, or what it waits for. */
function kindText(chunk: Chunk): string {
  switch (chunk.kind) {
    case "same":
    case "mine":
    case "theirs":
      return t("compare.kind.one");
    case "both":
      return t("compare.kind.both");
    case "woven":
      return t("compare.kind.woven");
    case "conflict":
      if (chunk.mine === "") {
        return t("compare.kind.mineGone");
      }
      if (chunk.theirs === "") {
        return t("compare.kind.theirsGone");
      }
      return t(chunk.base === "" ? "compare.kind.added" : "compare.kind.changed");
  }
}

interface Part {
  readonly kind: "same" | "ins" | "del";
  readonly text: string;
}

/** What a side did to the base, as marks; without a base, what it has that the other has not. */
function sideParts(chunk: Chunk, side: "mine" | "theirs", hasBase: boolean): readonly Part[] {
  const text = chunk[side];
  const from = hasBase ? chunk.base : side === "mine" ? chunk.theirs : chunk.mine;
  const parts: Part[] = [];
  let at = 0;
  const add = (kind: Part["kind"], part: string): void => {
    if (part !== "") {
      parts.push({ kind, text: part });
    }
  };
  for (const range of diffWords(from, text)) {
    add("same", text.slice(at, range.fromB));
    if (hasBase) {
      add("del", from.slice(range.fromA, range.toA));
    }
    add("ins", text.slice(range.fromB, range.toB));
    at = range.toB;
  }
  add("same", text.slice(at));
  return parts;
}

/** What of one cell is drawn, in UTF-16 units. */
const mostShown = 20_000;

/** Text as it is written, line by line; a heading stands out, and a marked break is a sign. */
function Marked({ parts }: { readonly parts: readonly Part[] }) {
  const length = parts.reduce((sum, part) => sum + part.text.length, 0);
  const lines = linesOf(length > mostShown ? cut(parts) : parts);
  return (
    <>
      {lines.map((line, i) => (
        <div key={i} class={`ln${line.length === 0 ? " blank" : isHeading(line) ? " heading" : ""}`}>
          {line.map((part, j) =>
            part.kind === "ins" ? (
              <ins key={j}>{part.text}</ins>
            ) : part.kind === "del" ? (
              <del key={j}>{part.text}</del>
            ) : (
              part.text
            ),
          )}
        </div>
      ))}
      {length > mostShown && <p class="meta">{t("compare.cut")}</p>}
    </>
  );
}

function cut(parts: readonly Part[]): readonly Part[] {
  let room = mostShown;
  return parts.flatMap((part) => {
    const text = part.text.slice(0, room).replace(/[\ud800-\udbff]$/, "");
    room -= text.length;
    return text === "" ? [] : [{ ...part, text }];
  });
}

/** Parts by line. Blank lines at the end are not shown, but breaks that are marked are. */
function linesOf(parts: readonly Part[]): readonly (readonly Part[])[] {
  const lines: Part[][] = [[]];
  for (const part of parts) {
    const pieces = part.text.split("\n");
    for (const [i, text] of pieces.entries()) {
      const broken = i < pieces.length - 1;
      // Of a change of breaks alone there is nothing else to see.
      const sign = broken && part.kind !== "same" && part.text.trim() === "" ? "¶" : "";
      if (text + sign !== "") {
        lines.at(-1)?.push({ kind: part.kind, text: text + sign });
      }
      if (broken) {
        lines.push([]);
      }
    }
  }
  while (lines.length > 1 && lines.at(-1)?.length === 0) {
    lines.pop();
  }
  while (lines.length > 1 && lines[0]?.length === 0) {
    lines.shift();
  }
  return lines;
}

function isHeading(line: readonly Part[]): boolean {
  return /^#{1,6} /.test(line.map((part) => (part.kind === "del" ? "" : part.text)).join(""));
}

function Foot({ view, actions, platform }: ComparingProps) {
  const open = view.status === "open" ? view : null;
  const waiting = open === null || open.open > 0 || open.saving;
  return (
    <footer class="compare-foot">
      <button
        type="button"
        class="btn primary"
        aria-disabled={waiting || undefined}
        onClick={() => {
          if (!waiting) {
            actions.save();
          }
        }}
      >
        {open?.saving ? (
          <>
            <Icon name="loader-circle" small spin />
            {t("compare.saving")}
          </>
        ) : (
          <>
            {t("compare.save")} <span class="key">{writeKey("Mod-s", platform)}</span>
          </>
        )}
      </button>
      <span class="meta" role="status">
        {open !== null && t("compare.open", { n: open.open })}
      </span>
      <span class="grow" />
      <button type="button" class="btn" onClick={actions.keepMine}>
        {t("action.keepMine")}
      </button>
      <button type="button" class="btn" disabled={open?.missing === true} onClick={actions.takeTheirs}>
        {t("action.takeTheirs")}
      </button>
      <button type="button" class="btn" onClick={actions.saveCopy}>
        {t("compare.saveCopy")}
      </button>
      <button type="button" class="btn quiet" onClick={actions.leave}>
        {t("compare.notNow")} <span class="key">Esc</span>
      </button>
    </footer>
  );
}

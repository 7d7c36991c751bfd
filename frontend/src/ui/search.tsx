import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { type CompositionWatch, watchComposition } from "../editor";
import { t } from "../i18n";
import { tailOf, visible } from "./excerpt";
import { FaultNotice } from "./fault-notice";
import { Icon, type IconName } from "./icon";
import { LongTree } from "./long-tree";
import type { Search, SearchFields, SearchResults, SearchRow } from "./search-model";
import { FileLabel } from "./set";

/** Props of SearchView. */
export interface SearchViewProps {
  readonly search: Search;
  readonly hasFolder: boolean;
  /** The review of a replacement, in place of the results; null while there is none. */
  readonly review: ComponentChildren | null;
  /** What is said of the making of a replacement's preview. */
  readonly preview: ReadonlySignal<PreviewState>;
  /** True when the query is to get the focus; it is set back then. */
  readonly focus: Signal<boolean>;
  readonly onOpenFolder: () => void;
  readonly onPreview: () => void;
  readonly onStopPreview: () => void;
  readonly onOpen: (row: SearchRow, toText: boolean) => void;
  readonly onLeave: () => void;
}

/** How the preview of a replacement stands. */
export interface PreviewState {
  readonly busy: boolean;
  /** What came of it, when no review did; "" for nothing to say. */
  readonly told: string;
}

/** The search of the sidebar: fields, counts, results or the review of a replacement. */
export function SearchView(props: SearchViewProps) {
  const { search, review } = props;
  if (!props.hasFolder) {
    return (
      <div class="empty pad">
        <b>{t("tree.noFolder.title")}</b>
        <span>{t("search.noFolder")}</span>
        <button type="button" class="btn" onClick={props.onOpenFolder}>
          {t("start.openFolder")}
        </button>
      </div>
    );
  }
  return (
    <>
      <Fields {...props} />
      {review ?? (
        <>
          <Counts search={search} />
          <Found {...props} />
          <PreviewFoot {...props} />
        </>
      )}
    </>
  );
}

function Fields(props: SearchViewProps) {
  const { search, onLeave, onPreview } = props;
  const fields = search.fields.value;
  const { error } = search.results.value;
  const query = useRef<HTMLInputElement>(null);
  const find = useRef<HTMLDivElement>(null);
  const wrong = error?.code === "invalid_input" ? wrongText(search.fields.value, error.detail) : "";

  const asked = props.focus.value;
  useEffect(() => {
    if (asked) {
      props.focus.value = false;
      query.current?.focus();
      query.current?.select();
    }
  }, [asked, props.focus]);
  const { replaceOpen, filesOpen } = search;
  const unfolded = useRef("");
  const unfold = (name: string) => (): void => {
    unfolded.current = name;
  };
  // Whoever opens a part of the form goes on in it.
  useEffect(() => {
    if (unfolded.current !== "") {
      find.current?.querySelector<HTMLElement>(`[data-fold="${unfolded.current}"] input`)?.focus();
      unfolded.current = "";
    }
  }, [replaceOpen.value, filesOpen.value]);
  const toResults = (): void =>
    find.current?.parentElement?.querySelector<HTMLElement>(".hits[tabindex]")?.focus();

  const leave = (): void => {
    if (search.results.peek().status === "searching") {
      search.stop();
    } else {
      onLeave();
    }
  };
  return (
    <div class="find" ref={find}>
      <div class={`field${wrong !== "" ? " is-bad" : ""}`}>
        <Icon name="search" small />
        <TextField
          inputRef={query}
          label={t("search.query")}
          value={fields.query}
          first
          describedBy={wrong === "" ? undefined : "search-wrong"}
          onText={(text, composing) => search.fill({ query: text }, composing)}
          onEnter={() => search.again()}
          onDown={toResults}
          onEscape={leave}
        />
        <Toggle
          icon="case-sensitive"
          label={t("search.case")}
          on={fields.case}
          onChange={(on) => search.fill({ case: on })}
        />
        <Toggle
          icon="whole-word"
          label={t("search.word")}
          on={fields.word}
          onChange={(on) => search.fill({ word: on })}
        />
        <Toggle
          icon="regex"
          label={t("search.regexp")}
          on={fields.regexp}
          onChange={(on) => search.fill({ regexp: on })}
        />
      </div>
      {wrong !== "" && (
        <div class="err" id="search-wrong" role="alert">
          <Icon name="circle-alert" />
          <span>{wrong}</span>
        </div>
      )}
      {replaceOpen.value && (
        <div class="field" data-fold="replace">
          <Icon name="replace" small />
          <TextField
            label={t("search.replace.with")}
            value={fields.replacement}
            placeholder={t("search.replace.with")}
            onText={(text, composing) => search.fill({ replacement: text }, composing)}
            onEnter={onPreview}
            onDown={toResults}
            onEscape={leave}
          />
          {fields.regexp && <span class="meta">{t("search.replace.groups")}</span>}
        </div>
      )}
      {filesOpen.value && (
        <div class="two" data-fold="files">
          <div class="field">
            <TextField
              label={t("search.include")}
              placeholder={t("search.include.hint")}
              value={fields.include}
              onText={(text, composing) => search.fill({ include: text }, composing)}
              onEnter={() => search.again()}
              onEscape={leave}
            />
          </div>
          <div class="field">
            <TextField
              label={t("search.exclude")}
              placeholder={t("search.exclude.hint")}
              value={fields.exclude}
              onText={(text, composing) => search.fill({ exclude: text }, composing)}
              onEnter={() => search.again()}
              onEscape={leave}
            />
          </div>
        </div>
      )}
      <div class="folds">
        <Fold label={t("search.replace.show")} open={replaceOpen} onUnfold={unfold("replace")} />
        <Fold label={t("search.files.show")} open={filesOpen} onUnfold={unfold("files")} />
      </div>
    </div>
  );
}

/** What is wrong with a search that was not understood. */
function wrongText({ regexp, include, exclude }: SearchFields, detail: string): string {
  const globs = `${include}${exclude}`.trim() !== "";
  if (regexp && !globs) {
    return t("search.regexp.wrong", { detail });
  }
  return t(globs && !regexp ? "search.globs.wrong" : "search.query.wrong", { detail });
}

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  /** The part's focus goes here. */
  readonly first?: boolean;
  readonly describedBy?: string | undefined;
  readonly inputRef?: { current: HTMLInputElement | null };
  /** `composing` while an input method is at work. */
  readonly onText: (text: string, composing: boolean) => void;
  readonly onEnter: () => void;
  readonly onDown?: () => void;
  readonly onEscape: () => void;
}

/** A field that leaves its keys to an input method while one is at work. */
function TextField(props: TextFieldProps) {
  const own = useRef<HTMLInputElement>(null);
  const input = props.inputRef ?? own;
  const watch = useRef<CompositionWatch | null>(null);
  useEffect(() => {
    if (input.current === null) {
      return;
    }
    watch.current = watchComposition(input.current);
    return () => watch.current?.stop();
  }, [input]);
  return (
    <input
      ref={input}
      type="text"
      autocomplete="off"
      spellcheck={false}
      aria-label={props.label}
      aria-describedby={props.describedBy}
      aria-invalid={props.describedBy === undefined ? undefined : "true"}
      placeholder={props.placeholder ?? props.label}
      value={props.value}
      data-focus={props.first ? "" : undefined}
      onInput={(event) => props.onText(event.currentTarget.value, event.isComposing)}
      onCompositionEnd={(event) => props.onText(event.currentTarget.value, false)}
      onKeyDown={(event) => {
        if (watch.current?.claims(event) === true || event.ctrlKey || event.metaKey || event.altKey) {
          return;
        }
        if (event.key === "Enter") {
          props.onEnter();
        } else if (event.key === "ArrowDown" && props.onDown !== undefined) {
          props.onDown();
        } else if (event.key === "Escape") {
          props.onEscape();
        } else {
          return;
        }
        event.preventDefault();
      }}
    />
  );
}

function Toggle(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly on: boolean;
  readonly onChange: (on: boolean) => void;
}) {
  return (
    <button
      type="button"
      class="tog"
      aria-label={props.label}
      title={props.label}
      aria-pressed={props.on}
      onClick={() => props.onChange(!props.on)}
    >
      <Icon name={props.icon} small />
    </button>
  );
}

function Fold({
  label,
  open,
  onUnfold,
}: {
  readonly label: string;
  readonly open: Signal<boolean>;
  /** Called before it is opened. */
  readonly onUnfold: () => void;
}) {
  return (
    <button
      type="button"
      aria-expanded={open.value}
      onClick={() => {
        if (!open.peek()) {
          onUnfold();
        }
        open.value = !open.peek();
      }}
    >
      <Icon name={open.value ? "chevron-down" : "chevron-right"} small />
      {label}
    </button>
  );
}

function Counts({ search }: { readonly search: Search }) {
  const results = search.results.value;
  const said = useSignal("");
  const end = results.status === "done" || results.status === "stopped" ? countsOf(results) : "";
  // Only the end is read out, not each number on the way.
  useEffect(() => {
    said.value = end;
  }, [end, said]);
  return (
    <>
      <div class="vh" role="status">
        {said.value}
      </div>
      {results.status !== "none" && results.status !== "failed" && (
        <div class="counts meta num">
          <span class="grow">{countsOf(results)}</span>
          {results.status === "searching" && (
            <button type="button" class="linked" onClick={search.stop}>
              {t("search.stop")}
            </button>
          )}
          {notesOf(results).map((note) => (
            <span key={note}>{note}</span>
          ))}
        </div>
      )}
    </>
  );
}

function countsOf({ status, hits, ended, files }: SearchResults): string {
  if (status === "searching") {
    return hits === 0 ? t("search.searching") : t("search.sofar", { n: hits });
  }
  if (status === "stopped") {
    return t("search.stopped");
  }
  if (ended === null) {
    return "";
  }
  const n = Math.max(ended.hits, hits);
  return n === 0
    ? t("search.none.title")
    : t("search.counts", { n, files: files.length, searched: ended.searched });
}

function notesOf({ ended }: SearchResults): readonly string[] {
  if (ended === null) {
    return [];
  }
  const { tooLarge, pastLimit, unread, tooDeep } = ended;
  return [
    ...(tooLarge > 0 ? [t("search.note.tooLarge", { n: tooLarge })] : []),
    ...(pastLimit > 0 ? [t("search.note.pastLimit", { n: pastLimit })] : []),
    ...(tooDeep > 0 ? [t("search.note.tooDeep", { n: tooDeep })] : []),
    ...(unread > 0 ? [t("search.note.unread", { n: unread })] : []),
  ];
}

function Found({ search, onOpen, onLeave }: SearchViewProps) {
  const results = search.results.value;
  const rows = search.rows.value;
  if (rows.length > 0) {
    return (
      <LongTree
        rows={rows}
        label={t("search.results")}
        at={search.at}
        draw={(row) => <RowContent row={row} />}
        onOpen={onOpen}
        onToggle={(row) => search.toggle(row.file.path)}
        onLeave={onLeave}
      />
    );
  }
  return <div class="hits">{nothing(search, results)}</div>;
}

function nothing(search: Search, { status, slow, ended, error }: SearchResults): ComponentChildren {
  switch (status) {
    case "none":
      return <div class="empty pad">{t("search.idle")}</div>;
    case "searching":
      return (
        slow && (
          <div class="skel pad" aria-hidden="true">
            <i />
            <i />
            <i />
          </div>
        )
      );
    case "stopped":
      return null;
    case "failed":
      return (
        error !== null &&
        error.code !== "invalid_input" && (
          <div class="pad">
            <FaultNotice
              fault={{ code: error.code, detail: error.detail, retryAfterMs: error.retryAfterMs }}
              actions={{ retry: search.again }}
            />
          </div>
        )
      );
    case "done":
      return (
        <div class="empty pad">
          <b>{t("search.none.title")}</b>
          <span>{t("search.none.text", { searched: ended?.searched ?? 0 })}</span>
        </div>
      );
  }
}

function RowContent({ row }: { readonly row: SearchRow }) {
  switch (row.type) {
    case "file":
      return (
        <FileLabel name={row.file.name}>
          {row.file.unsaved && <span class="meta">{t("search.unsaved")}</span>}
          <span class="meta num">
            {row.file.hits.length}
            {row.file.more > 0 && "+"}
          </span>
        </FileLabel>
      );
    case "hit":
      return (
        <>
          <span class="n" title={t("search.line", { n: row.hit.line })}>
            {row.hit.line}
          </span>
          <span class="clip grow">
            {tailOf(row.hit.before)}
            <mark class="hit">{visible(row.hit.match)}</mark>
            {visible(row.hit.after)}
          </span>
        </>
      );
    case "more":
      return <span class="clip">{t("search.more", { shown: row.file.hits.length, n: row.file.more })}</span>;
  }
}

function PreviewFoot({ search, preview, onPreview, onStopPreview }: SearchViewProps) {
  const { busy, told } = preview.value;
  if (!search.replaceOpen.value) {
    return null;
  }
  const none = search.fields.value.query === "" || search.rows.value.length === 0;
  return (
    <div class="foot">
      {told !== "" && (
        <div class="meta" role="status">
          {told}
        </div>
      )}
      <div class="acts">
        <button type="button" class="btn primary grow" disabled={busy || none} onClick={onPreview}>
          {busy && <Icon name="loader-circle" small spin />}
          <span class="clip">{t(busy ? "search.previewing" : "search.preview")}</span>
        </button>
        {busy && (
          <button type="button" class="btn" onClick={onStopPreview}>
            {t("search.stop")}
          </button>
        )}
      </div>
    </div>
  );
}

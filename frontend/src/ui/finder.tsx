import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { decodeError, type FileMatch, type QuickOpenResult, type Recent } from "../backend";
import { t } from "../i18n";
import { describeFault } from "./fault";
import { fuzzyMatch } from "./fuzzy";
import { Icon, type IconName } from "./icon";
import { baseName, folderOf } from "./paths";
import { marked, Picker, type PickerGroup, type PickerRow } from "./picker";
import { documentLabel } from "./tree-model";

/** Where the finder looks, and what choosing does. */
export interface FinderSource {
  readonly recent: ReadonlySignal<Recent>;
  readonly quickOpen: (query: string) => Promise<QuickOpenResult>;
  /** Opens a file of the folder. */
  readonly openFile: (path: string) => void;
  /** Opens a file, or a folder, of the recent list. */
  readonly openRecentFile: (path: string) => void;
  readonly openRecentFolder: (path: string) => void;
  /** Empties the recent list. */
  readonly clear: () => void;
}

/** Props of the finders. */
export interface FinderProps {
  readonly source: FinderSource;
  readonly onClose: () => void;
}

/** What was found, and for which words. */
interface Found extends QuickOpenResult {
  readonly query: string;
  /** Why it could not be looked; "" when it was. */
  readonly problem: string;
}

/** After how long a search that has no answer is said to go on, in ms. */
const slowMs = 300;

/**
 * Finds a file of the folder by parts of its path. What is shown belongs to
 * the newest words that were answered; an older answer is dropped, and Enter
 * waits for the one of what is typed.
 */
export function QuickOpen({ source, onClose }: FinderProps) {
  const asked = useRef("");
  const found = useSignal<Found | null>(null);
  const slow = useSignal(false);
  /** Enter was pressed before the answer came. */
  const eager = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const open = (path: string): void => {
    onClose();
    queueMicrotask(() => source.openFile(path));
  };

  const ask = (query: string): void => {
    asked.current = query;
    eager.current = false;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      slow.value = true;
    }, slowMs);
    const settle = (result: QuickOpenResult, problem: string): void => {
      if (asked.current !== query) {
        return;
      }
      clearTimeout(timer.current);
      slow.value = false;
      found.value = { ...result, query, problem };
      const first = rowsOf(result.files)[0];
      if (eager.current && first !== undefined) {
        open(first.path);
      }
    };
    source.quickOpen(query).then(
      (result) => settle(result, ""),
      (reason) => {
        const { code, detail } = decodeError(reason);
        settle({ files: [], more: 0, cut: false }, describeFault({ code, detail, retryAfterMs: 0 }).title);
      },
    );
  };

  useEffect(() => {
    ask("");
    return () => {
      clearTimeout(timer.current);
      // An answer that comes now belongs to nobody.
      asked.current = "\u0000";
    };
    // Once, when it opens; what is typed asks by itself.
  }, []);

  const files = rowsOf(found.value?.files ?? []);
  const group = (id: "recent" | "files", recent: boolean): PickerGroup => ({
    id,
    label: t(`quick.${id}`),
    rows: files.filter((file) => file.recent === recent).map(fileRow),
  });
  return (
    <Picker
      title={t("quick.title")}
      find={t("quick.find")}
      run={t("quick.open")}
      groups={[group("recent", true), group("files", false)]}
      note={noteOf(found.value, slow.value)}
      busy={slow.value}
      onQuery={ask}
      onRun={(path) => {
        if (found.peek()?.query === asked.current) {
          open(path);
        } else {
          eager.current = true;
        }
      }}
      onClose={onClose}
    />
  );
}

/** The recent ones first, each part in the order of the host. */
function rowsOf(files: readonly FileMatch[]): readonly FileMatch[] {
  return [...files.filter((file) => file.recent), ...files.filter((file) => !file.recent)];
}

function noteOf(found: Found | null, slow: boolean): string {
  if (found === null || (slow && found.files.length === 0)) {
    return slow ? t("quick.looking") : "";
  }
  if (found.problem !== "") {
    return found.problem;
  }
  if (found.files.length === 0) {
    return t(found.query === "" ? "quick.noRecentFiles" : "quick.none");
  }
  return found.more > 0 ? t("quick.more", { n: found.more }) : found.cut ? t("quick.cut") : "";
}

function fileRow({ path, name, hits }: FileMatch): PickerRow {
  const at = name.lastIndexOf("/") + 1;
  const label = documentLabel(name.slice(at));
  return {
    id: path,
    content: (
      <FoundContent
        icon="file-text"
        label={marked(label, rangesOf(hits, at, at + label.length))}
        place={marked(name.slice(0, Math.max(0, at - 1)), rangesOf(hits, 0, at - 1))}
      />
    ),
  };
}

/** The hits between two places of a name, as ranges from the first of them. */
function rangesOf(hits: readonly number[], from: number, to: number): readonly (readonly [number, number])[] {
  const ranges: [number, number][] = [];
  for (const hit of [...hits].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (hit < from || hit >= to) {
      continue;
    }
    if (last?.[1] === hit - from) {
      last[1] += 1;
    } else {
      ranges.push([hit - from, hit - from + 1]);
    }
  }
  return ranges;
}

/** Finds a folder or a file among what was opened of late. */
export function OpenRecent({ source, onClose }: FinderProps) {
  const query = useSignal("");
  const { files, workspaces } = source.recent.value;
  const folders = workspaces.flatMap(({ path, name }) => recentRow(query.value, "folder", path, name));
  const documents = files.flatMap(({ path, name }) =>
    recentRow(query.value, "file-text", path, documentLabel(name)),
  );
  const none = folders.length + documents.length === 0;
  return (
    <Picker
      title={t("quick.recentTitle")}
      find={t("quick.findRecent")}
      run={t("quick.open")}
      groups={[
        { id: "folders", label: t("quick.folders"), rows: folders },
        { id: "files", label: t("quick.files"), rows: documents },
      ]}
      note={none ? t(query.value === "" ? "quick.noRecent" : "quick.none") : ""}
      onQuery={(typed) => {
        query.value = typed;
      }}
      onRun={(id) => {
        const path = id.slice(id.indexOf(" ") + 1);
        onClose();
        queueMicrotask(() =>
          id.startsWith("folder ") ? source.openRecentFolder(path) : source.openRecentFile(path),
        );
      }}
      onClose={onClose}
    />
  );
}

function recentRow(query: string, icon: IconName, path: string, label: string): readonly PickerRow[] {
  const hit = fuzzyMatch(query, label);
  return hit === null
    ? []
    : [
        {
          id: `${icon} ${path}`,
          content: <FoundContent icon={icon} label={marked(label, hit.ranges)} place={[folderOf(path)]} />,
        },
      ];
}

function FoundContent({
  icon,
  label,
  place,
}: {
  readonly icon: IconName;
  readonly label: ReturnType<typeof marked>;
  readonly place: ReturnType<typeof marked>;
}) {
  return (
    <>
      <Icon name={icon} />
      <span class="name clip">{label}</span>
      <span class="place clip">{place}</span>
    </>
  );
}

/** Props of RecentList. */
export interface RecentListProps {
  readonly source: FinderSource;
}

/** How many folders, and how many files, the start screen lists. */
const mostListed = 4;

/** What was opened of late, for the start screen; nothing when there is nothing. */
export function RecentList({ source }: RecentListProps) {
  const { files, workspaces } = source.recent.value;
  if (files.length + workspaces.length === 0) {
    return null;
  }
  return (
    <section class="recent" aria-label={t("start.recent")}>
      <div class="line">
        <h2 class="grow">{t("start.recent")}</h2>
        <button type="button" class="linked" onClick={source.clear}>
          {t("start.clearRecent")}
        </button>
      </div>
      <ul>
        {workspaces.slice(0, mostListed).map(({ path, name }) => (
          <RecentItem
            key={`folder ${path}`}
            icon="folder"
            label={name}
            path={path}
            onOpen={() => source.openRecentFolder(path)}
          />
        ))}
        {files.slice(0, mostListed).map(({ path, name }) => (
          <RecentItem
            key={path}
            icon="file-text"
            label={documentLabel(name)}
            path={path}
            onOpen={() => source.openRecentFile(path)}
          />
        ))}
      </ul>
    </section>
  );
}

function RecentItem({
  icon,
  label,
  path,
  onOpen,
}: {
  readonly icon: IconName;
  readonly label: string;
  readonly path: string;
  readonly onOpen: () => void;
}) {
  return (
    <li>
      <button type="button" onClick={onOpen} title={path}>
        <Icon name={icon} />
        <span class="name clip">{label}</span>
        <span class="place clip">{baseName(folderOf(path)) || folderOf(path)}</span>
      </button>
    </li>
  );
}

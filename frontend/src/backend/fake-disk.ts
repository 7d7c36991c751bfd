import { BackendError } from "./fault";
import type { DocumentsService, EndingRun, HistoryVersion } from "./gen";

/** An open document, as far as the disk concerns it. */
export interface OnDisk {
  readonly id: string;
  /** "" for one without a file. */
  readonly path: string;
  /** What is on disk as far as the document knows; null for untitled. */
  readonly saved: string | null;
}

/** What the disk's part works on. */
interface Config {
  /** File contents by absolute path, line endings as written. */
  readonly disk: ReadonlyMap<string, string>;
  readonly now: () => number;
  readonly find: (id: string) => OnDisk;
  readonly checkPage: (page: number) => void;
}

/** The disk's and history's part of the fake back end. */
export interface FakeDisk {
  readonly documents: Pick<DocumentsService, "Compare" | "History">;
  /** How a document's file stands to what the document knows: same, changed or missing. */
  readonly state: (doc: OnDisk) => string;
  /** Keeps a version of a file, unless it is the newest one kept. */
  readonly keep: (path: string, reason: string, raw: string) => void;
  /** The LF text behind a URL of a comparison or a version; undefined for any other. */
  readonly textAt: (url: string) => string | undefined;
}

/** Makes it. */
export function createFakeDisk({ disk, now, find, checkPage }: Config): FakeDisk {
  const kept = new Map<string, readonly (HistoryVersion & { readonly raw: string })[]>();
  let count = 0;

  function state({ path, saved }: OnDisk): string {
    const raw = disk.get(path);
    if (path === "" || raw === saved) {
      return "same";
    }
    return raw === undefined ? "missing" : "changed";
  }

  return {
    state,
    keep: (path, reason, raw) => {
      const versions = kept.get(path) ?? [];
      if (versions[0]?.raw === raw) {
        return;
      }
      count += 1;
      const id = `v${count}`;
      const text = lf(raw);
      const version = {
        id,
        atMs: now(),
        reason,
        bytes: new TextEncoder().encode(raw).length,
        textUrl: `/history/${id}`,
        endings: endingsOf(raw),
        length: text.length,
        raw,
      };
      kept.set(path, [version, ...versions]);
    },
    textAt: (url) => {
      const [, id = "", what = ""] = /^\/document\/([^/]+)\/(base|disk)$/.exec(url) ?? [];
      if (what !== "") {
        const doc = find(id);
        return lf((what === "base" ? doc.saved : disk.get(doc.path)) ?? "");
      }
      const version = [...kept.values()].flat().find((v) => v.textUrl === url);
      return version && lf(version.raw);
    },
    documents: {
      Compare: async (page, id) => {
        checkPage(page);
        const doc = find(id);
        if (doc.path === "") {
          throw new BackendError("invalid_input");
        }
        const raw = disk.get(doc.path);
        return {
          documentId: id,
          baseUrl: doc.saved === null ? "" : `/document/${id}/base`,
          diskUrl: `/document/${id}/disk`,
          diskHash: await hashOf(raw ?? ""),
          diskEndings: endingsOf(raw ?? ""),
          missing: raw === undefined,
          modifiedMs: now(),
        };
      },
      History: async (id) => {
        const { path } = find(id);
        const versions = (kept.get(path) ?? []).map(({ raw: _, ...version }) => version);
        return { versions, folder: "/home/recovery", broken: 0 };
      },
    },
  };
}

/** Names the bytes of a file. */
export async function hashOf(raw: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(raw));
  return [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
}

function lf(raw: string): string {
  return raw.replace(/\r\n?/g, "\n");
}

function endingsOf(raw: string): readonly EndingRun[] {
  const runs: { ending: EndingRun["ending"]; count: number }[] = [];
  for (const [found] of raw.matchAll(/\r\n|\r|\n/g)) {
    const ending = found === "\n" ? "lf" : found === "\r" ? "cr" : "crlf";
    const last = runs.at(-1);
    if (last?.ending === ending) {
      last.count += 1;
    } else {
      runs.push({ ending, count: 1 });
    }
  }
  return runs;
}

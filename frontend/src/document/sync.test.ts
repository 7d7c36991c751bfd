import { expect, test } from "vitest";
import { BackendError, type Change, type SyncRequest, type SyncResult } from "../backend";
import { createSync, type Whole } from "./sync";

/** A host that answers when it is told to. */
function makeHost(version = 1) {
  const calls: { request: SyncRequest; answer: (r: SyncResult) => void; refuse: (e: Error) => void }[] = [];
  const posts: Whole[] = [];
  const faults: string[] = [];
  const dirty: boolean[] = [];
  let page: Whole = { text: "", version, endings: [] };
  const sync = createSync({
    id: "d1",
    page: () => 7,
    version,
    send: (request) => new Promise((answer, refuse) => calls.push({ request, answer, refuse })),
    post: async (whole) => {
      posts.push(whole);
    },
    whole: () => page,
    selection: () => ({ anchor: 0, head: 0 }),
    onAcknowledged: (d) => dirty.push(d),
    onFault: (e) => faults.push(e.code),
  });
  const type = (text: string) => {
    page = { text: page.text + text, version: page.version + 1, endings: [] };
    const at = page.text.length - text.length;
    sync.add({ edits: [{ from: at, to: at, insert: text }], endings: [] } satisfies Change);
  };
  return { calls, posts, faults, dirty, sync, type, text: () => page.text };
}

const settled = () => new Promise<void>((next) => queueMicrotask(() => queueMicrotask(() => next())));

// covers: F6
test("one call is in flight, what is typed meanwhile goes with the next", async () => {
  const host = makeHost();
  host.type("a");
  host.type("b");
  host.type("c");
  await settled();
  expect(host.calls).toHaveLength(1);
  expect(host.calls[0]?.request).toMatchObject({ page: 7, fromVersion: 1 });
  expect(host.calls[0]?.request.changes).toHaveLength(1);
  const flushed = host.sync.flush();
  host.calls[0]?.answer({ version: 2, dirty: true });
  await settled();
  expect(host.calls).toHaveLength(2);
  expect(host.calls[1]?.request).toMatchObject({ fromVersion: 2 });
  expect(host.calls[1]?.request.changes.map((c) => c.edits[0]?.insert)).toEqual(["b", "c"]);
  host.calls[1]?.answer({ version: 4, dirty: true });
  expect(await flushed).toBe(4);
  expect(host.posts).toEqual([]);
});

test.each([
  ["a refusal", (h: ReturnType<typeof makeHost>) => h.calls[0]?.refuse(new BackendError("unknown_base"))],
  [
    "a version that does not follow",
    (h: ReturnType<typeof makeHost>) => h.calls[0]?.answer({ version: 9, dirty: true }),
  ],
])("%s is answered by the whole text", async (_name, spoil) => {
  const host = makeHost();
  host.type("a");
  await settled();
  host.type("b");
  spoil(host);
  await settled();
  await settled();
  expect(host.posts).toEqual([{ text: "ab", version: 3, endings: [] }]);
  host.calls[1]?.answer({ version: 3, dirty: true });
  expect(await host.sync.flush()).toBe(3);
  host.type("c");
  await settled();
  expect(host.calls.at(-1)?.request).toMatchObject({ fromVersion: 3 });
  expect(host.faults).toEqual([]);
});

test("a page that has lost its say does not post its text", async () => {
  const host = makeHost();
  host.type("a");
  await settled();
  host.calls[0]?.refuse(new BackendError("busy"));
  await settled();
  await settled();
  expect(host.posts).toEqual([]);
  expect(host.faults).toEqual(["busy"]);
});

test("after a failure the next flush sends the whole text", async () => {
  const host = makeHost();
  host.type("a");
  await settled();
  host.calls[0]?.refuse(new BackendError("busy"));
  await settled();
  await settled();
  const flushed = host.sync.flush();
  await settled();
  await settled();
  expect(host.posts).toHaveLength(1);
  host.calls.at(-1)?.answer({ version: 2, dirty: false });
  expect(await flushed).toBe(2);
  expect(host.dirty.at(-1)).toBe(false);
});

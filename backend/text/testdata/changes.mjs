// Writes changes.json: random steps on small texts, composed by the page's own
// change sets and reduced by its rules, with where every position then goes.
// Run from frontend:
//   npx rolldown ../backend/text/testdata/changes.mjs --platform node -o /tmp/changes.mjs &&
//   node /tmp/changes.mjs > ../backend/text/testdata/changes.json

import { ChangeSet, Text } from "../../../frontend/node_modules/@codemirror/state";
import { reduceRanges } from "../../../frontend/src/text/map.ts";

let seed = 20301;
/** A number from 0 to n-1, the same on every run. */
function pick(n) {
  seed = (Math.imul(seed, 1103515245) + 12345) >>> 0;
  return (seed >>> 8) % n;
}

let letters = ["a", "b", "a", "é", "😀", "😁", "\n"];
const word = (n) => Array.from({ length: n }, () => letters[pick(letters.length)]).join("");

/** The positions between characters. */
function borders(s) {
  const out = [0];
  for (const c of s) out.push(out.at(-1) + c.length);
  return out;
}

function randomEdits(s) {
  const at = borders(s);
  const edits = [];
  for (let i = 0, n = 1 + pick(3), from = 0; i < n; i++) {
    from += pick(at.length - from);
    const to = Math.min(at.length - 1, from + pick(4));
    edits.push({ from: at[from], to: at[to], insert: word(pick(3)) });
    from = to;
  }
  return edits;
}

function ranges(set) {
  const out = [];
  set.iterChangedRanges((fromA, toA, fromB, toB) => out.push({ fromA, toA, fromB, toB }), true);
  return out;
}

/** Edits side by side, some of which put the words back that they take. */
function neighbouringEdits(s) {
  const at = borders(s);
  const edits = [];
  for (let from = pick(at.length); from < at.length - 1 && edits.length < 3; ) {
    const to = Math.min(at.length - 1, from + 1 + pick(2));
    const same = pick(2) === 0;
    edits.push({ from: at[from], to: at[to], insert: same ? s.slice(at[from], at[to]) : word(pick(4)) });
    from = to;
  }
  return edits;
}

const vectors = [];
for (let i = 0; i < 700; i++) {
  // The last ones are of few letters, where words have neighbours like them.
  const close = i >= 500;
  if (close) letters = ["a", "b", "😀"];
  const base = word(pick(10));
  let doc = Text.of(base.split("\n"));
  let composed = ChangeSet.empty(doc.length);
  const steps = [];
  const undo = [];
  for (let k = 0, n = 1 + pick(5); k < n; k++) {
    // Sometimes a step is taken back, as people do.
    const back = undo.length > 0 && pick(3) === 0;
    const random = close ? neighbouringEdits : randomEdits;
    let set = back ? undo.pop() : ChangeSet.of(random(doc.toString()), doc.length);
    const edits = [];
    set.iterChanges((from, to, _fromB, _toB, insert) => edits.push({ from, to, insert: insert.toString() }), true);
    // What a reader of edits makes of them, since touching ones can merge.
    set = ChangeSet.of(edits, doc.length);
    if (!back) undo.push(set.invert(doc));
    composed = composed.compose(set);
    doc = set.apply(doc);
    steps.push(edits);
  }
  const now = doc.toString();
  const reduced = reduceRanges(ranges(composed), (a, b) => base.slice(a, b), (a, b) => now.slice(a, b));
  const set = ChangeSet.of(
    reduced.map((r) => ({ from: r.fromA, to: r.toA, insert: Text.of(now.slice(r.fromB, r.toB).split("\n")) })),
    base.length,
  );
  const points = (assoc) => borders(base).map((at) => set.mapPos(at, assoc));
  vectors.push({ base, steps, now, composed: ranges(composed), reduced, before: points(-1), behind: points(1) });
}
process.stdout.write(`[\n${vectors.map((v) => JSON.stringify(v)).join(",\n")}\n]\n`);

import { readFileSync } from "node:fs";

/** Another file of the form of fidelity.json, as its absolute path. */
const { FIDELITY: otherFidelity = "" } = process.env;

/** Whether the cases are the project's own, whose number is known. */
export const isOwnCorpus = otherFidelity === "";

/** Reads the cases of a shared vector file (P11); for tests only. */
export function readVectors<Row>(name: string): readonly Row[] {
  const own = new URL(`../../../backend/agent/core/testdata/patch/${name}`, import.meta.url);
  const path = name === "fidelity.json" && !isOwnCorpus ? otherFidelity : own;
  const file: { readonly cases: readonly Row[] } = JSON.parse(readFileSync(path, "utf8"));
  return file.cases;
}

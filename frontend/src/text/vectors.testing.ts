import { readFileSync } from "node:fs";

/** Reads the cases of a shared vector file (P11); for tests only. */
export function readVectors<Row>(name: string): readonly Row[] {
  const path = new URL(`../../../backend/agent/core/testdata/patch/${name}`, import.meta.url);
  const file: { readonly cases: readonly Row[] } = JSON.parse(readFileSync(path, "utf8"));
  return file.cases;
}

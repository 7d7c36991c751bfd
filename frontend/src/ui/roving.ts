/** Which arrow keys move: along a column, a row, or both. */
export type Orientation = "vertical" | "horizontal";

/**
 * The place that a key moves to in a list of `count`, of which one element is
 * in the tab order; -1 when the key does not move. `wrap` goes round the ends.
 */
export function rovingIndex(
  key: string,
  index: number,
  count: number,
  orientation: Orientation,
  wrap = false,
): number {
  if (count === 0) {
    return -1;
  }
  const [back, on] = orientation === "vertical" ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  switch (key) {
    case "Home":
      return 0;
    case "End":
      return count - 1;
    case back:
      return index > 0 ? index - 1 : wrap ? count - 1 : 0;
    case on:
      return index < count - 1 ? index + 1 : wrap ? 0 : count - 1;
    default:
      return -1;
  }
}

/**
 * The next label from `index` on that begins with a typed character, going
 * round; -1 for none. Only single printable characters count.
 */
export function typedIndex(key: string, index: number, labels: readonly string[]): number {
  if (key.length !== 1 || key === " ") {
    return -1;
  }
  const wanted = key.toLocaleLowerCase();
  for (let step = 1; step <= labels.length; step++) {
    const at = (index + step) % labels.length;
    if (labels[at]?.toLocaleLowerCase().startsWith(wanted)) {
      return at;
    }
  }
  return -1;
}

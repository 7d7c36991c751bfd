import type { FaultCode } from "../backend";
import type { HunkPlace, ReviewLabels } from "../editor";
import { localeTag, type MessageKey, t } from "../i18n";

const warnings: Readonly<Record<string, MessageKey>> = {
  number: "review.warning.number",
  date: "review.warning.date",
  link: "review.warning.link",
  code: "review.warning.code",
  quotation: "review.warning.quotation",
  footnote: "review.warning.footnote",
  front_matter: "review.warning.front_matter",
  invisible: "review.warning.invisible",
  heading_level: "review.warning.heading_level",
  marker: "review.warning.marker",
  table_columns: "review.warning.table_columns",
  fence: "review.warning.fence",
};

/** What a hunk with warnings changes, in words; "" when it has none (P10). */
export function warningText(kinds: readonly string[]): string {
  const words = kinds.flatMap((kind) => {
    const key = warnings[kind];
    return key === undefined ? [] : [t(key)];
  });
  return new Intl.ListFormat(localeTag.peek(), { style: "narrow" }).format(words);
}

/** Why AI is off, as the label of a control that it turns off says it. */
export function offLabel(off: FaultCode): MessageKey {
  switch (off) {
    case "no_provider":
      return "off.noProvider";
    case "no_key":
      return "off.noKey";
    case "offline":
      return "off.noNetwork";
    case "busy":
      return "off.elsewhere";
    default:
      return "off.runner";
  }
}

/** The words of a review in the language of the interface. */
export function reviewLabels(): ReviewLabels {
  const params = ({ number, total }: HunkPlace) => ({ number, total });
  return {
    spoken: (kind, place) => {
      const key =
        kind === "inserted"
          ? "review.inserted"
          : kind === "deleted"
            ? "review.deleted"
            : "review.spokenStale";
      const warning = warningText(place.warnings);
      return [t(key, params(place)), warning].filter((s) => s !== "").join(", ");
    },
    position: (place) => t("review.position", params(place)),
    reason: (place, deleted, inserted) => {
      const reason = warningText(place.warnings);
      const from = numbersOf(deleted);
      const to = numbersOf(inserted);
      return place.warnings.length === 1 && place.warnings[0] === "number" && isShort(from) && isShort(to)
        ? t("review.fromTo", { reason, from, to })
        : reason;
    },
    toolbar: (place) => t("review.change", params(place)),
    stale: t("review.stale"),
    moved: t("review.moved"),
    cutOff: t("review.cutOff"),
    accept: t("review.accept"),
    reject: t("review.reject"),
    previous: t("review.previous"),
    next: t("review.next"),
    regenerate: t("review.regenerate"),
    continue: t("review.continue"),
  };
}

/** The numbers in a piece of text; the text itself when it has none in digits. */
function numbersOf(text: string): string {
  const found = text.match(/\p{Nd}+(?:[.,:/\u00a0\u202f’'-]\p{Nd}+)*(?:\s?[%‰°])?/gu);
  return found === null ? text.trim() : found.join(", ");
}

/** Whether a piece of text fits into a sentence about it. */
function isShort(text: string): boolean {
  return text !== "" && text.length <= 24 && !text.includes("\n");
}

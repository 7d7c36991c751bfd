import type { Price, ProviderState, Usage } from "../backend";
import { formatNumber, localeTag, t } from "../i18n";

const million = 1_000_000;

/** The price that the person set for a model of a provider; null for none. */
export function priceOf(provider: ProviderState | null, model: string): Price | null {
  return provider?.prices.find((price) => price.model === model) ?? null;
}

/**
 * What some usage costs, in the currency of the price; null where the usage is
 * not known. What was read before is a part of the input and has its own price.
 */
export function costOf(usage: Usage, price: Price): number | null {
  if (!isKnown(usage)) {
    return null;
  }
  const cached = Math.min(usage.cached, usage.input);
  return (
    ((usage.input - cached) * price.input + cached * price.cached + usage.output * price.output) / million
  );
}

/** Whether the numbers mean anything; the host leaves the kind empty where nothing was told. */
function isKnown({ kind }: Usage): boolean {
  return kind === "exact" || kind === "estimated";
}

/** From this amount on an amount is written with two decimals. */
const whole = 1;
/** What is below it is not written out. */
const least = 0.0001;

/**
 * An amount as far as it can be trusted: two decimals from 1 on, two figures
 * below it, and "under 0.0001" for what is less still and not nothing.
 */
export function formatAmount(amount: number, currency: string): string {
  const sign = /^[\p{L}]{2,}$/u.test(currency) ? `${currency} ` : currency;
  if (amount > 0 && amount < least) {
    return t("provider.cost.under", {
      amount: `${sign}${new Intl.NumberFormat(localeTag.value, exact).format(least)}`,
    });
  }
  const options =
    amount >= whole || amount === 0
      ? { minimumFractionDigits: 2, maximumFractionDigits: 2 }
      : { minimumSignificantDigits: 2, maximumSignificantDigits: 2 };
  return `${sign}${new Intl.NumberFormat(localeTag.value, options).format(amount)}`;
}

const exact = { minimumFractionDigits: 4, maximumFractionDigits: 4 };

/** Tokens that were used, and what they cost where a price is set: "1,204 in, 312 out, $0.0042". */
export function usageWords(usage: Usage, price: Price | null): string {
  if (!isKnown(usage)) {
    return t("cost.unknown");
  }
  const tokens = t(usage.kind === "estimated" ? "cost.tokens.about" : "cost.tokens", {
    input: formatNumber(usage.input),
    output: formatNumber(usage.output),
  });
  const cost = price === null ? null : costOf(usage, price);
  if (price === null || cost === null) {
    return tokens;
  }
  const amount = formatAmount(cost, price.currency);
  return t(usage.kind === "estimated" ? "cost.with.about" : "cost.with", { tokens, amount });
}

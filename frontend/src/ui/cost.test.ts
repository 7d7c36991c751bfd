import { afterEach, describe, expect, it } from "vitest";
import type { Usage } from "../backend";
import { providerState } from "../backend/provider.testing";
import { setLanguage } from "../i18n";
import { costOf, formatAmount, priceOf, usageWords } from "./cost";

afterEach(() => setLanguage("en"));

const price = { model: "m", currency: "$", input: 2, output: 10, cached: 0.5 };
const usage = (change: Partial<Usage>): Usage => ({
  kind: "exact",
  input: 0,
  output: 0,
  cached: 0,
  reasoning: 0,
  ...change,
});

// covers: R11 (cost only where the person set a price; unknown stays unknown)
describe("the cost of a run", () => {
  it("counts what was read before by its own price, as a part of the input", () => {
    expect(costOf(usage({ input: 1_000_000 }), price)).toBe(2);
    expect(costOf(usage({ input: 1_000_000, cached: 400_000, output: 100_000 }), price)).toBeCloseTo(2.4);
    // More than all of the input cannot have been read before.
    expect(costOf(usage({ input: 100, cached: 200 }), price)).toBeCloseTo(0.00005);
  });

  it("is not known where the usage is not", () => {
    expect(costOf(usage({ kind: "unknown", input: 5 }), price)).toBeNull();
    expect(usageWords(usage({ kind: "unknown" }), price)).toBe("Tokens used: not known");
  });

  it("is rounded no further than it can be trusted", () => {
    expect(formatAmount(0, "$")).toBe("$0.00");
    expect(formatAmount(0.00001, "$")).toBe("under $0.0001");
    expect(formatAmount(0.004237, "$")).toBe("$0.0042");
    expect(formatAmount(0.128, "¥")).toBe("¥0.13");
    expect(formatAmount(12.345, "EUR")).toBe("EUR 12.35");
    setLanguage("zh");
    expect(formatAmount(0.00001, "¥")).toBe("不到 ¥0.0001");
  });

  it("stands beside the tokens, and says what was estimated", () => {
    expect(usageWords(usage({ input: 1204, output: 312 }), null)).toBe("1,204 tokens in, 312 out");
    expect(usageWords(usage({ input: 1204, output: 312 }), price)).toBe("1,204 tokens in, 312 out, $0.0055");
    expect(usageWords(usage({ kind: "estimated", input: 1204, output: 312 }), price)).toBe(
      "About 1,204 tokens in, 312 out, about $0.0055",
    );
  });

  it("takes the price of the very model", () => {
    const provider = providerState({ prices: [price] });
    expect(priceOf(provider, "m")).toEqual(price);
    expect(priceOf(provider, "m-2")).toBeNull();
    expect(priceOf(null, "m")).toBeNull();
  });
});

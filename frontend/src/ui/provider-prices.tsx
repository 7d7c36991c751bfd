import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Price, Provider, ProviderState } from "../backend";
import { t } from "../i18n";
import { formatAmount, priceOf } from "./cost";
import { Disclosure } from "./fields";
import { Icon } from "./icon";

/** The highest that a million tokens can cost, and how long a currency may be; the host has the same. */
const limits = { amount: 1_000_000, currency: 8, prices: 100 } as const;

/** The amounts of a price, in the order of the form. */
const amounts = ["input", "output", "cached"] as const;

type Draft = Readonly<Record<"currency" | (typeof amounts)[number], string>>;

/** Props of Prices. */
export interface PricesProps {
  readonly id: string;
  readonly provider: ProviderState;
  readonly save: (change: Partial<Provider>) => void;
}

/**
 * What a million tokens of the model cost, as the person knows it. Without it
 * no cost is shown anywhere; no prices are built in.
 */
export function Prices({ id, provider, save }: PricesProps) {
  const { model, prices } = provider;
  const price = priceOf(provider, model);
  const others = prices.filter((p) => p.model !== model);
  return (
    <Disclosure label={t("provider.prices")} summary={summaryOf(price, others.length)}>
      {model === "" ? (
        <div class="hint full">{t("provider.prices.needsModel")}</div>
      ) : (
        <PriceRow
          key={model}
          id={id}
          model={model}
          price={price}
          full={prices.length >= limits.prices}
          onPrice={(next) => save({ prices: next === null ? others : [...others, next] })}
        />
      )}
      {others.length > 0 && (
        <>
          <span class="label">{t("provider.prices.others")}</span>
          <ul class="v plain">
            {others.map((other) => (
              <li key={other.model} class="row">
                <span class="clip">{other.model}</span>
                <span class="meta num grow">{amountsOf(other)}</span>
                <button
                  type="button"
                  class="ib sm"
                  aria-label={t("provider.prices.remove", { model: other.model })}
                  title={t("provider.prices.remove", { model: other.model })}
                  onClick={() => save({ prices: prices.filter((p) => p !== other) })}
                >
                  <Icon name="x" small />
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Disclosure>
  );
}

function PriceRow({
  id,
  model,
  price,
  full,
  onPrice,
}: {
  readonly id: string;
  readonly model: string;
  readonly price: Price | null;
  /** There is no room for one more. */
  readonly full: boolean;
  readonly onPrice: (price: Price | null) => void;
}) {
  const draft = useSignal<Draft>(draftOf(price));
  const wrong = useSignal(false);
  const kept = JSON.stringify(draftOf(price));
  useEffect(() => {
    draft.value = draftOf(price);
    wrong.value = false;
    // By what is kept: the host gives a new object each time.
  }, [kept]);

  const commit = (): void => {
    const read = priceFrom(model, draft.peek());
    wrong.value = read === undefined || (full && read !== null && price === null);
    if (read !== undefined && !wrong.value && JSON.stringify(draftOf(read)) !== kept) {
      onPrice(read);
    }
  };

  const field = (name: keyof Draft, mode: "decimal" | "text") => (
    <label class="amount" key={name}>
      <span class="meta">{t(`provider.prices.${name}`)}</span>
      <span class={`field${wrong.value ? " is-bad" : ""}`}>
        <input
          id={`${id}-price-${name}`}
          type="text"
          inputMode={mode}
          autocomplete="off"
          spellcheck={false}
          value={draft.value[name]}
          placeholder={name === "currency" ? "$" : undefined}
          aria-invalid={wrong.value ? "true" : undefined}
          aria-describedby={`${id}-price-hint`}
          onInput={(event) => {
            draft.value = { ...draft.peek(), [name]: event.currentTarget.value };
          }}
          onBlur={commit}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing) {
              commit();
            }
          }}
        />
      </span>
    </label>
  );

  return (
    <>
      <span class="label">{t("provider.prices.million")}</span>
      <div class="v">
        <div class="amounts">
          {field("currency", "text")}
          {amounts.map((name) => field(name, "decimal"))}
        </div>
        <div class={wrong.value ? "err" : "hint"} id={`${id}-price-hint`}>
          {wrong.value && <Icon name="circle-alert" />}
          {t(wrong.value ? "provider.prices.wrong" : "provider.prices.hint", { model })}
        </div>
      </div>
    </>
  );
}

function draftOf(price: Price | null): Draft {
  return price === null
    ? { currency: "", input: "", output: "", cached: "" }
    : {
        currency: price.currency,
        input: String(price.input),
        output: String(price.output),
        cached: String(price.cached),
      };
}

/**
 * The price that a form holds: null where nothing is filled in, undefined where
 * it is wrong. What was read before costs as much as other input unless it is said.
 */
export function priceFrom(model: string, draft: Draft): Price | null | undefined {
  const typed = amounts.map((name) => draft[name].trim().replace(",", "."));
  if (typed.every((text) => text === "")) {
    return null;
  }
  const [input = Number.NaN, output = Number.NaN, cached = Number.NaN] = typed.map((text, n) =>
    text === "" ? (n === 2 ? Number(typed[0]) : Number.NaN) : Number(text),
  );
  const currency = draft.currency.trim() || "$";
  const right =
    [input, output, cached].every((n) => n >= 0 && n <= limits.amount) &&
    [...currency].length <= limits.currency &&
    !/[\d\p{Cc}]/u.test(currency);
  return right ? { model, currency, input, output, cached } : undefined;
}

function amountsOf({ currency, input, output }: Price): string {
  return `${formatAmount(input, currency)} / ${formatAmount(output, currency)}`;
}

function summaryOf(price: Price | null, others: number): string {
  return price === null
    ? t("provider.prices.none", { n: others })
    : t("provider.prices.set", { amounts: amountsOf(price) });
}

import { noParameters, type Provider } from "../backend";
import type { MessageKey } from "../i18n";

/** A kind of provider as a person chooses it. */
export interface ProviderKind {
  readonly id: string;
  readonly label: MessageKey;
  /** What the host calls the dialect, and how it is tuned. */
  readonly kind: string;
  readonly profile: string;
  /** What a new one starts with. */
  readonly name: string;
  readonly baseUrl: string;
  readonly model: string;
}

/** The kinds that can be added, in the order they are offered; the mock provider is always there. */
export const providerKinds: readonly ProviderKind[] = [
  {
    id: "compatible",
    label: "provider.kind.compatible",
    kind: "openai_chat",
    profile: "compatible",
    name: "OpenAI-compatible",
    baseUrl: "",
    model: "",
  },
  {
    id: "openai",
    label: "provider.kind.openai",
    kind: "openai_chat",
    profile: "",
    name: "OpenAI",
    baseUrl: "https://api.openai.com/v1",
    model: "",
  },
  {
    id: "deepseek",
    label: "provider.kind.deepseek",
    kind: "openai_chat",
    profile: "deepseek",
    name: "DeepSeek",
    baseUrl: "https://api.deepseek.com",
    model: "deepseek-chat",
  },
  {
    id: "openrouter",
    label: "provider.kind.openrouter",
    kind: "openai_chat",
    profile: "openrouter",
    name: "OpenRouter",
    baseUrl: "https://openrouter.ai/api/v1",
    model: "",
  },
  {
    id: "ollama",
    label: "provider.kind.ollama",
    kind: "openai_chat",
    profile: "ollama",
    name: "Ollama",
    baseUrl: "http://localhost:11434/v1",
    model: "",
  },
];

/** The kind of a provider; a profile that is not offered here counts as compatible. */
export function kindOf(provider: Pick<Provider, "kind" | "profile">): ProviderKind {
  const [compatible] = providerKinds;
  const found = providerKinds.find((k) => k.kind === provider.kind && k.profile === provider.profile);
  return found ?? compatible ?? unreachable();
}

/** A new provider of a kind, with an id and a name that are not taken. */
export function newProvider(
  kind: ProviderKind,
  existing: readonly Pick<Provider, "id" | "name">[],
): Provider {
  const taken = (suffix: string): boolean =>
    existing.some(
      (p) =>
        p.id === `${kind.id}${suffix && `-${suffix}`}` || p.name === `${kind.name}${suffix && ` ${suffix}`}`,
    );
  let suffix = "";
  for (let n = 2; taken(suffix); n++) {
    suffix = String(n);
  }
  return {
    id: suffix === "" ? kind.id : `${kind.id}-${suffix}`,
    name: suffix === "" ? kind.name : `${kind.name} ${suffix}`,
    kind: kind.kind,
    profile: kind.profile,
    baseUrl: kind.baseUrl,
    model: kind.model,
    contextTokens: 0,
    ...noParameters,
  };
}

/**
 * A provider turned into another kind. Name, address and model follow where
 * they are still what the old kind started with; what was typed stays.
 */
export function withKind(provider: Provider, kind: ProviderKind): Provider {
  const old = kindOf(provider);
  const follow = (value: string, from: string, to: string): string => (value === from ? to : value);
  return {
    ...provider,
    kind: kind.kind,
    profile: kind.profile,
    name: follow(provider.name, old.name, kind.name),
    baseUrl: kind.kind === "mock" ? "" : follow(provider.baseUrl, old.baseUrl, kind.baseUrl),
    model: follow(provider.model, old.model, kind.model),
  };
}

/** What keeps an address from being used: it is none, or it is http to another computer (K7). */
export type AddressFault = "wrong" | "plain";

/** What is wrong with an address as far as the page can tell; null for nothing, or for none yet. */
export function addressFault(address: string): AddressFault | null {
  if (address === "") {
    return null;
  }
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return "wrong";
  }
  if (url.protocol === "https:" && /^https:\/\//i.test(address)) {
    return null;
  }
  if (url.protocol !== "http:" || !/^http:\/\//i.test(address)) {
    return "wrong";
  }
  return url.hostname === "localhost" || url.hostname === "[::1]" || /^127\./.test(url.hostname)
    ? null
    : "plain";
}

/** The host of an address; "" for none. */
export function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return "";
  }
}

function unreachable(): never {
  throw new Error("there is always a first kind");
}

import { noParameters, type Provider } from "../backend";
import type { MessageKey } from "../i18n";

/** Where a kind runs, which is how kinds are grouped when one is added. */
export type KindGroup = "service" | "local" | "other";

/** A kind of provider as a person chooses it. */
export interface ProviderKind {
  readonly id: string;
  readonly group: KindGroup;
  readonly label: MessageKey;
  /** What the host calls the dialect, and how it is tuned. */
  readonly kind: string;
  readonly profile: string;
  /** What a new one starts with. */
  readonly name: string;
  readonly baseUrl: string;
  readonly model: string;
  /** What an address looks like where a new one has none. */
  readonly example: string;
  /** Where an account is topped up; "" where that is not known. */
  readonly billing: string;
}

const chat = "openai_chat";

function service(id: string, name: string, change: Partial<ProviderKind>): ProviderKind {
  return {
    id,
    group: "service",
    label: "provider.kind.compatible",
    kind: chat,
    profile: id,
    name,
    baseUrl: "",
    model: "",
    example: "https://",
    billing: "",
    ...change,
  };
}

const compatible = service("compatible", "OpenAI-compatible", {
  group: "other",
  example: "https://ai.example.com/v1",
});

/** The kinds that can be added, in the order they are offered; the mock provider is always there. */
export const providerKinds: readonly ProviderKind[] = [
  service("openai", "OpenAI", {
    label: "provider.kind.openai",
    kind: "openai_responses",
    profile: "",
    baseUrl: "https://api.openai.com/v1",
    billing: "https://platform.openai.com/settings/organization/billing",
  }),
  service("openai-chat", "OpenAI", {
    label: "provider.kind.openaiChat",
    profile: "",
    baseUrl: "https://api.openai.com/v1",
    billing: "https://platform.openai.com/settings/organization/billing",
  }),
  service("anthropic", "Anthropic", {
    label: "provider.kind.anthropic",
    kind: "anthropic_messages",
    profile: "",
    baseUrl: "https://api.anthropic.com/v1",
    billing: "https://console.anthropic.com/settings/billing",
  }),
  service("gemini", "Gemini", {
    label: "provider.kind.gemini",
    kind: "gemini",
    profile: "",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    billing: "https://aistudio.google.com/billing",
  }),
  service("openrouter", "OpenRouter", {
    label: "provider.kind.openrouter",
    baseUrl: "https://openrouter.ai/api/v1",
    billing: "https://openrouter.ai/settings/credits",
  }),
  service("deepseek", "DeepSeek", {
    label: "provider.kind.deepseek",
    baseUrl: "https://api.deepseek.com",
    model: "deepseek-chat",
    billing: "https://platform.deepseek.com/top_up",
  }),
  service("mistral", "Mistral", {
    label: "provider.kind.mistral",
    baseUrl: "https://api.mistral.ai/v1",
    billing: "https://console.mistral.ai/billing",
  }),
  service("xai", "xAI", {
    label: "provider.kind.xai",
    baseUrl: "https://api.x.ai/v1",
    billing: "https://console.x.ai",
  }),
  service("azure", "Azure OpenAI", {
    label: "provider.kind.azure",
    example: "https://NAME.openai.azure.com/openai/v1",
  }),
  service("ollama", "Ollama", {
    group: "local",
    label: "provider.kind.ollama",
    baseUrl: "http://localhost:11434/v1",
  }),
  service("lmstudio", "LM Studio", {
    group: "local",
    label: "provider.kind.lmstudio",
    baseUrl: "http://localhost:1234/v1",
  }),
  service("llamacpp", "llama.cpp", {
    group: "local",
    label: "provider.kind.llamacpp",
    baseUrl: "http://localhost:8080/v1",
  }),
  compatible,
];

/** A dialect that a compatible address may speak, by the host's name of it. */
export interface Dialect {
  readonly id: string;
  readonly label: MessageKey;
}

/** The dialects that a compatible address can be set to. */
export const dialects: readonly Dialect[] = [
  { id: chat, label: "provider.dialect.chat" },
  { id: "openai_responses", label: "provider.dialect.responses" },
  { id: "anthropic_messages", label: "provider.dialect.messages" },
  { id: "gemini", label: "provider.dialect.gemini" },
];

/** The kind of a provider; what is not offered as such counts as compatible. */
export function kindOf(provider: Pick<Provider, "kind" | "profile">): ProviderKind {
  return providerKinds.find((k) => k.kind === provider.kind && k.profile === provider.profile) ?? compatible;
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

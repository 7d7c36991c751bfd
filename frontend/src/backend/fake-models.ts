import { BackendError } from "./fault";
import type { ModelDetail, ModelInfo, Provider, Send, SendGetResult, SendListResult } from "./gen";

/** What the fake knows of models: what is offered, and what was learned. */
export interface FakeModels {
  readonly offered: (provider: Provider) => readonly ModelInfo[];
  /** What is known of a model; what the provider would tell only once it was asked. */
  readonly detail: (provider: Provider, model: string, ask: boolean) => ModelDetail;
  readonly forget: (provider: Provider, model: string) => ModelDetail;
  /** Learns a fact of a model, as a refusal teaches it. */
  readonly learn: (providerId: string, model: string, name: string, value: string) => void;
}

/** A model as a list tells it, with what is not known left out. */
function modelInfo(id: string, change: Partial<ModelInfo> = {}): ModelInfo {
  return {
    id,
    name: "",
    contextTokens: 0,
    contextSource: "",
    maxOutputTokens: 0,
    tools: "",
    streamedArguments: "",
    reasoning: "",
    ...change,
  };
}

const asked = (id: string, name: string, contextTokens: number, change: Partial<ModelInfo> = {}) =>
  modelInfo(id, { name, contextTokens, contextSource: "asked", ...change });

/** Makes what the fake knows of models. */
export function createFakeModels(now: () => number): FakeModels {
  const facts = new Map<string, ModelDetail["facts"]>();
  const told = new Set<string>();
  const keyOf = (providerId: string, model: string): string => `${providerId}\n${model}`;

  function offered(provider: Provider): readonly ModelInfo[] {
    switch (provider.profile) {
      case "deepseek":
        return [
          asked("deepseek-chat", "", 64_000, { tools: "yes" }),
          asked("deepseek-reasoner", "", 64_000, { tools: "no", reasoning: "yes" }),
        ];
      case "ollama":
        return [
          asked("qwen3:8b", "", 32_768, { tools: "yes", reasoning: "yes" }),
          asked("gemma3:4b", "", 8192, { tools: "no" }),
        ];
      case "openrouter":
        return Array.from({ length: 400 }, (_, n) =>
          asked(`maker-${n % 20}/model-${n}`, `Model ${n}`, 8192 * (1 + (n % 16)), {
            tools: n % 3 === 0 ? "yes" : "",
            reasoning: n % 5 === 0 ? "yes" : "",
          }),
        );
    }
    return provider.kind === "mock"
      ? [modelInfo("mock-1", { contextTokens: 32_768, contextSource: "known", tools: "yes" })]
      : [modelInfo("model-a"), modelInfo("model-b")];
  }

  function detail(provider: Provider, model: string, ask: boolean): ModelDetail {
    if (ask || provider.kind === "mock") {
      told.add(keyOf(provider.id, model));
    }
    const tells = told.has(keyOf(provider.id, model)) ? offered(provider) : [];
    const known = tells.find((m) => m.id === model) ?? modelInfo(model);
    const own = facts.get(keyOf(provider.id, model)) ?? [];
    const learned = own.find((f) => f.name === "context_tokens");
    const tools = own.find((f) => f.name === "tools");
    const { id: _, name: __, ...capabilities } = known;
    return {
      capabilities: {
        ...capabilities,
        ...(learned && { contextTokens: Number(learned.value), contextSource: "learned" }),
        ...(tools && { tools: tools.value }),
        ...(provider.contextTokens > 0 && {
          contextTokens: provider.contextTokens,
          contextSource: "set",
        }),
      },
      facts: own,
    };
  }

  return {
    offered,
    detail,
    forget: (provider, model) => {
      facts.delete(keyOf(provider.id, model));
      told.delete(keyOf(provider.id, model));
      return detail(provider, model, false);
    },
    learn: (providerId, model, name, value) => {
      const key = keyOf(providerId, model);
      facts.set(key, [{ name, value, source: "learned", atMs: now() }, ...(facts.get(key) ?? [])]);
    },
  };
}

/** The fake's send log. */
export interface FakeSends {
  readonly list: (before: number, limit: number) => SendListResult;
  readonly get: (id: number, offset: number) => SendGetResult;
  readonly clear: (upTo: number) => SendListResult;
  /** Writes down a request that left. */
  readonly record: (send: Partial<Send>, body: string) => void;
}

/** How much of a body the host gives at once, in bytes. */
const piece = 64 * 1024;

/** Makes an empty send log. */
export function createFakeSends(now: () => number): FakeSends {
  let log: readonly { readonly send: Send; readonly body: string }[] = [];
  let last = 0;

  function list(before: number, limit: number): SendListResult {
    const older = log.filter(({ send }) => before === 0 || send.id < before);
    return {
      sends: older.slice(0, limit).map(({ send }) => send),
      count: log.length,
      bytes: log.reduce((sum, { body }) => sum + Math.ceil(body.length / 4), 0),
      keptDays: 30,
      keptBytes: 64 * 1024 * 1024,
    };
  }

  return {
    list,
    get: (id, offset) => {
      const found = log.find(({ send }) => send.id === id);
      if (!found) {
        throw new BackendError("not_found");
      }
      const bytes = new TextEncoder().encode(found.body);
      let end = Math.min(offset + piece, bytes.length);
      while (end < bytes.length && ((bytes[end] ?? 0) & 0xc0) === 0x80) {
        end -= 1;
      }
      return {
        send: found.send,
        body: new TextDecoder().decode(bytes.subarray(offset, end)),
        nextOffset: end < bytes.length ? end : 0,
      };
    },
    clear: (upTo) => {
      log = upTo === 0 ? [] : log.filter(({ send }) => send.id > upTo);
      return list(0, 100);
    },
    record: (send, body) => {
      last += 1;
      log = [
        {
          send: {
            id: last,
            atMs: now(),
            endedAtMs: now(),
            providerId: "",
            providerName: "",
            model: "",
            purpose: "conversation",
            sessionId: "",
            runId: "",
            method: "POST",
            url: "",
            proxy: "",
            sentBytes: new TextEncoder().encode(body).length,
            receivedBytes: 0,
            status: 200,
            code: "",
            hasBody: body !== "",
            ...send,
          },
          body,
        },
        ...log,
      ];
    },
  };
}

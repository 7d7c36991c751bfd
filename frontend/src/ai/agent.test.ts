import { signal } from "@preact/signals";
import { expect, test } from "vitest";
import type { Message, ProviderState, SettingsState } from "../backend";
import { BackendError } from "../backend";
import { createFakeBackend } from "../backend/fake";
import { providerState, settingsState } from "../backend/provider.testing";
import { createAgent, offReason } from "./agent";
import { createDecisions } from "./decisions";
import { noAgent } from "./state";

const provider = providerState;

const settingsWith = (chosen: string, ...providers: ProviderState[]): SettingsState =>
  settingsState(providers, { provider: chosen });

const ready = { runner: { ...noAgent.runner, status: "ready" } };

// covers: K8
test.each([
  ["nothing is chosen", settingsWith(""), ready, true, "no_provider"],
  ["the chosen one is gone", settingsWith("x", provider({})), ready, true, "no_provider"],
  [
    "there is no key",
    settingsWith("p", provider({ key: { place: "none", keyring: "", storedAtMs: 0, path: "" } })),
    ready,
    true,
    "no_key",
  ],
  [
    "the address is none",
    settingsWith("p", provider({ problem: "invalid_input" })),
    ready,
    true,
    "invalid_input",
  ],
  [
    "the Runner was given up",
    settingsWith("p", provider({})),
    { runner: { ...noAgent.runner, status: "failed", code: "store_failed" } },
    true,
    "store_failed",
  ],
  [
    "the Runner stopped",
    settingsWith("p", provider({})),
    { runner: { ...noAgent.runner, status: "stopped", code: "" } },
    true,
    "runner_gone",
  ],
  [
    "a command line has the agent",
    settingsWith("p", provider({})),
    { runner: { ...noAgent.runner, status: "elsewhere" } },
    true,
    "busy",
  ],
  ["there is no network", settingsWith("p", provider({})), ready, false, "offline"],
  [
    "a local server needs none",
    settingsWith("p", provider({ url: "http://127.0.0.1:1/v1" })),
    ready,
    false,
    null,
  ],
  ["the mock needs none", settingsWith("p", provider({ needsKey: false, url: "" })), ready, false, null],
  ["all is well", settingsWith("p", provider({})), ready, true, null],
])("AI is off or on when %s", (_name, settings, view, online, want) => {
  expect(offReason(settings, view, online)).toBe(want);
});

test("what the Runner knows is fetched when it becomes ready, before listeners hear of it", async () => {
  const backend = createFakeBackend({});
  backend.setRunner({ status: "starting" });
  const handlers = new Map<string, (message: never) => void>();
  const agent = createAgent({
    backend,
    events: {
      on: (type, handler) => {
        handlers.set(type, handler as (message: never) => void);
        return () => {};
      },
    },
    settings: signal(null),
    online: signal(true),
  });
  await agent.attach();
  const seen: string[] = [];
  agent.onMessage(() =>
    seen.push(
      `${agent.view.peek().runner.status} ${backend.calls.filter((c) => c === "Agent.Attach").length}`,
    ),
  );
  backend.setRunner({ status: "ready" });
  const message: Message<"runner.changed"> = {
    n: 1,
    seq: 0,
    runId: "",
    sessionId: "",
    atMs: 0,
    ref: false,
    type: "runner.changed",
    payload: { ...noAgent.runner, status: "ready" },
  };
  handlers.get("runner.changed")?.(message as never);
  await Promise.resolve();
  await Promise.resolve();
  await Promise.resolve();
  expect(seen).toEqual(["ready 2"]);
});

// covers: R4
test("decisions wait for the Runner, keep their order and their command ids", async () => {
  const told: string[] = [];
  let gone = true;
  let n = 0;
  const decisions = createDecisions(
    {
      agent: {
        ...createFakeBackend({}).agent,
        Decide: async (request) => {
          told.push(`${gone ? "refused" : "told"} ${request.commandId} ${request.hunks[0]?.outcome}`);
          if (gone) {
            throw new BackendError("runner_gone");
          }
          return { state: "applied" };
        },
      },
    },
    () => `c${++n}`,
  );
  decisions.add("p1", [{ id: "1", outcome: "accepted" }], 2);
  decisions.add("p1", [{ id: "1", outcome: "open" }], 3);
  await Promise.resolve();
  await Promise.resolve();
  expect(decisions.waiting()).toBe(2);
  gone = false;
  decisions.retry();
  for (let i = 0; i < 8; i++) {
    await Promise.resolve();
  }
  expect(decisions.waiting()).toBe(0);
  expect(told.filter((line) => line.startsWith("told"))).toEqual(["told c1 accepted", "told c2 open"]);
});

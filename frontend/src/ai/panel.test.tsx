// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { beforeEach, describe, expect, it } from "vitest";
import type { Approval, BackendError } from "../backend";
import { providerState } from "../backend/provider.testing";
import { setLanguage } from "../i18n";
import { button, click, one, press, settle, show, type } from "../ui/stage.testing";
import { Composer } from "./composer";
import type { Conversation, Conversations, Problem } from "./conversations";
import { AnswerText } from "./markdown-lite";
import { ConversationPanel } from "./panel";
import type { RowActions } from "./rows";
import { carry, emptyTimeline, type SessionMessage, type Stream, type Timeline } from "./timeline";
import { answer, call, committed, noUsage, run, said } from "./timeline.testing";

beforeEach(() => setLanguage("en"));

const asks: string[] = [];
beforeEach(() => asks.splice(0));

const actions: RowActions = {
  onLink: (target) => void asks.push(`link ${target}`),
  onCopy: (text) => void asks.push(`copy ${text}`),
  textOf: async (id) => ({ text: `The whole of ${id}`, thinking: "" }),
  modelName: ({ model }) => model.model,
  answerOf: () => undefined,
  onAnswer: (approval, decision) => void asks.push(`${decision} ${approval.inputDigest}`),
  onShow: (title, text) => void asks.push(`show ${title}: ${text}`),
  onShowArtifact: () => {},
  callOf: async (id) => ({
    ...call(id, "waiting_for_approval"),
    name: "createDocument",
    input: { text: "fetched" },
  }),
  proposalOf: () => Promise.reject(new Error("none")),
  onLook: ({ id }) => void asks.push(`look ${id}`),
  onReconcile: (id, verdict) => void asks.push(`${verdict} ${id}`),
  onReview: () => {},
  standing: () => null,
};

/** A panel of one conversation whose timeline the test moves on. */
async function panel(timeline: Timeline) {
  const shown = signal(timeline);
  const stream = signal<Stream | null>(null);
  const conversation: Conversation = {
    id: signal("s"),
    timeline: shown,
    stream,
    loading: signal<"" | "loading" | BackendError>(""),
    draft: signal(""),
    sending: signal(false),
    problem: signal<Problem | null>(null),
    stopping: signal(new Set<string>()),
    answers: signal(new Map<string, "sending" | BackendError>()),
  };
  const conversations: Conversations = {
    rows: signal([]),
    archived: signal([]),
    current: signal(conversation),
    waiting: signal(0),
    active: signal(null),
    open: () => {},
    startNew: () => void asks.push("new"),
    send: async () => void asks.push("send"),
    stop: async (id) => void asks.push(`stop ${id}`),
    continueRun: async (id) => void asks.push(`continue ${id}`),
    answer: async () => {},
    reconcile: async () => {},
    rename: async () => {},
    archive: async () => {},
    remove: async () => {},
    message: async () => [],
    call: (id) => actions.callOf(id),
    proposal: (id) => actions.proposalOf(id),
    attach: async () => {},
  };
  const root = await show(
    <ConversationPanel
      conversations={conversations}
      actions={actions}
      checking={signal(new Set<string>())}
      off={() => null}
      offText={() => ""}
      model={() => "Mock"}
      models={() => []}
      onModel={() => {}}
      provider={() => providerState({ name: "Mock" })}
      onBilling={() => {}}
      steps={{}}
      said={signal("")}
      onLeave={() => void asks.push("leave")}
    />,
  );
  return { root, shown, stream, conversation };
}

const started = { state: "running", reason: "", usage: noUsage, outcome: "" } as const;
const begun = [
  committed(1, "run.accepted", run("r1")),
  committed(2, "message.committed", said("m1", "user", "Why?")),
  committed(3, "run.started", started),
];
const approval: Approval = {
  id: "a1",
  toolCallId: "c1",
  runId: "r1",
  inputDigest: "d1",
  rule: "notes.write",
  summary: {
    path: "Drafts/New.md",
    newPath: "",
    text: "# New\u202e\n",
    bytes: 6,
    words: 1,
    links: 0,
    invisible: true,
  },
  state: "pending",
  createdAtMs: 1,
  expiresAtMs: 0,
  decidedAtMs: 0,
};
const creating = { ...call("c1", "waiting_for_approval"), name: "createDocument", kind: "write" } as const;

describe("the panel", () => {
  // covers: T5 X4
  it("asks about a new document with its text, what cannot be seen in it named, and takes no focus", async () => {
    const { root } = await panel(
      carry(emptyTimeline("s"), [
        ...begun,
        committed(4, "tool.changed", {
          ...creating,
          input: { dir: "Drafts", name: "New.md", text: "# New" },
        }),
        committed(5, "approval.asked", approval),
      ]),
    );
    const card = one(root, ".card.ask");
    expect(card.textContent).toContain("Create this document?");
    expect(card.textContent).toContain("Drafts/New.md");
    expect(one(card, ".g-unseen").textContent).toBe("RLO");
    expect(card.textContent).toContain("characters that cannot be seen");
    expect(document.activeElement).toBe(document.body);
    await click(button(card, "Create"));
    await click(button(card, "Deny"));
    expect(asks).toEqual(["allow_once d1", "deny d1"]);
    expect([...card.querySelectorAll("button")].map((b) => b.textContent)).not.toContain(
      "Allow for this session",
    );
  });

  it("fetches the text of a new document that was left out for its size", async () => {
    const { root } = await panel(
      carry(emptyTimeline("s"), [
        ...begun,
        committed(4, "tool.changed", creating),
        committed(5, "approval.asked", {
          ...approval,
          summary: { ...approval.summary, text: "", bytes: 90_000 },
        }),
      ]),
    );
    await settle();
    expect(one(root, ".card.ask .peek").textContent).toBe("fetched");
  });

  // covers: R6
  it("says what is not known, and takes what the person found", async () => {
    const { root } = await panel(
      carry(emptyTimeline("s"), [
        ...begun,
        committed(4, "tool.changed", { ...creating, state: "unknown", input: { dir: "", name: "Notes.md" } }),
        committed(5, "run.interrupted", { ...started, state: "interrupted", reason: "runner_lost" }),
      ]),
    );
    expect(one(root, ".card").textContent).toContain("It is not known whether Notes was created.");
    for (const words of ["Look", "It was created", "It was not"]) {
      await click(button(root, words));
    }
    expect(asks).toEqual(["look c1", "applied c1", "absent c1"]);
    await click(button(root, "Continue"));
    expect(asks.at(-1)).toBe("continue r1");
  });

  // covers: U2
  it("draws only the last of 5,000 entries, and earlier ones when asked for", async () => {
    const log: SessionMessage[] = [...begun];
    for (let i = 0; i < 5000; i += 1) {
      log.push(committed(10 + i, "message.committed", answer(`m${i}`, `Answer ${i}`)));
    }
    const { root } = await panel(carry(emptyTimeline("s"), log));
    expect(root.querySelectorAll(".said").length).toBeLessThan(200);
    expect(root.textContent).toContain("Answer 4999");
    expect(root.textContent).not.toContain("Answer 12.");
    const before = root.querySelectorAll(".said").length;
    await click(one(root, ".earlier"));
    expect(root.querySelectorAll(".said").length).toBe(before + 120);
  });

  // covers: U2
  it("leaves what was drawn as it is while words stream", async () => {
    const { root, shown, stream } = await panel(
      carry(emptyTimeline("s"), [...begun, committed(4, "message.committed", answer("m2", "Settled."))]),
    );
    const settled = one(root, ".said .ai p");
    const words: Stream = {
      attempt: 2,
      text: "First piece.\n\nSecond",
      missed: 0,
      thinking: false,
      thinkingSinceMs: 0,
      thoughtMs: 0,
      done: false,
    };
    await act(() => {
      stream.value = words;
    });
    const first = root.querySelector(".is-live p");
    expect(first?.textContent).toBe("First piece.");
    for (let i = 0; i < 50; i += 1) {
      await act(() => {
        stream.value = { ...words, text: `First piece.\n\nSecond${" more".repeat(i)}` };
      });
    }
    expect(root.querySelector(".is-live p")).toBe(first);
    expect(one(root, ".said:first-of-type .ai p, .said .ai:not(.is-live) p")).toBe(settled);
    expect(shown.value.items).toHaveLength(2);
  });
});

describe("the field", () => {
  const field = async (text: string) => {
    const draft = signal(text);
    const root = await show(
      <Composer
        draft={draft}
        off={null}
        sending={signal(false)}
        running=""
        first
        model="Mock"
        models={[]}
        onModel={() => {}}
        onSend={() => void asks.push(`send ${draft.peek()}`)}
        onStop={() => {}}
        onLeave={() => void asks.push("leave")}
      />,
    );
    return one<HTMLTextAreaElement>(root, "textarea");
  };

  it("sends by Enter, not by Shift+Enter, and never what an input method is composing", async () => {
    const area = await field("");
    await press("Enter");
    await type(area, "你好");
    await press("Enter", { shiftKey: true });
    await act(() => void area.dispatchEvent(new CompositionEvent("compositionstart")));
    await press("Enter", { isComposing: true, keyCode: 229 });
    await act(() => void area.dispatchEvent(new CompositionEvent("compositionend")));
    // WebKit's order: the Enter that ended it comes after.
    await press("Enter");
    expect(asks).toEqual([]);
    await act(() => void area.dispatchEvent(new KeyboardEvent("keyup", { key: "Enter" })));
    await press("Enter");
    expect(asks).toEqual(["send 你好"]);
    await press("Escape");
    expect(asks).toEqual(["send 你好", "leave"]);
  });
});

describe("an answer", () => {
  // covers: X2 X3
  it("is text and nothing else: no markup, no picture, no link that leads anywhere by itself", async () => {
    const root = await show(
      <AnswerText
        whole
        onLink={(target, words) => void asks.push(`${words} to ${target}`)}
        text={
          "<img src=x onerror=alert(1)> ![p](https://remote.example/p.png) [one](https://a.example/x) [two](javascript:alert(1)) <https://b.example>\n\n<script>alert(1)</script>"
        }
      />,
    );
    expect(root.querySelectorAll("img, a, script, iframe").length).toBe(0);
    expect(root.textContent).toContain("<img src=x onerror=alert(1)>");
    expect(root.textContent).toContain("Picture from remote.example, not loaded: p");
    expect(one(root, ".host").textContent).toBe(" (a.example)");
    expect([...root.querySelectorAll(".linked")].map((link) => link.textContent)).toEqual([
      "one",
      "https://b.example",
    ]);
    await click(button(root, "one"));
    expect(asks).toEqual(["one to https://a.example/x"]);
  });
});

describe("an end", () => {
  const of = async (type: "run.failed" | "run.succeeded", change: object) =>
    (await panel(carry(emptyTimeline("s"), [...begun, committed(4, type, { ...started, ...change })]))).root;

  // covers: R8
  it("says which limit was reached, and goes on from there", async () => {
    const root = await of("run.failed", {
      state: "failed",
      reason: "budget_steps",
      fault: { code: "cut_off", detail: "25 steps", retryAfterMs: 0 },
    });
    expect(root.textContent).toContain("The run used up its steps.");
    expect(root.textContent).not.toContain("The answer broke off.");
    await click(button(root, "Continue"));
    expect(asks).toEqual(["continue r1"]);
  });

  // covers: R9
  it("says that the server cut what it was sent", async () => {
    const root = await of("run.succeeded", { state: "succeeded", clipped: true });
    expect(root.textContent).toContain("The server cut the text it was sent.");
    expect(root.querySelectorAll(".note")).toHaveLength(1);
  });
});

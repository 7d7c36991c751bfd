// @vitest-environment jsdom
import { signal } from "@preact/signals";
import { act } from "preact/test-utils";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createBoard } from "./board";
import { createDialogs, DialogHost } from "./dialog";
import { FaultNotice } from "./fault-notice";
import { MenuButton } from "./menu";
import { isModalOpen } from "./modal";
import { Palette } from "./palette";
import { button, click, one, press, settle, show, type } from "./stage.testing";
import { createToasts, ToastHost } from "./toast";

// covers: E7 (by keyboard)
describe("MenuButton", () => {
  async function staged() {
    const chosen: string[] = [];
    const root = await show(
      <MenuButton
        class="btn"
        onChoose={(id) => chosen.push(id)}
        items={[
          { id: "light", label: "Light", checked: false },
          { id: "dark", label: "Dark", checked: true },
          { id: "off", label: "Sepia", off: true, key: "Off: no key" },
        ]}
      >
        Theme
      </MenuButton>,
    );
    const opener = button(root, "Theme");
    opener.focus();
    return { root, opener, chosen };
  }

  it("opens on the chosen row, moves round, chooses, and goes back to the button", async () => {
    const { root, opener, chosen } = await staged();
    await press("ArrowDown");
    expect(opener.getAttribute("aria-expanded")).toBe("true");
    expect(document.activeElement?.textContent).toBe("Dark");
    expect(one(root, "[aria-checked=true]").textContent).toBe("Dark");
    await press("ArrowDown");
    await press("ArrowDown");
    expect(document.activeElement?.textContent).toBe("Light");
    await press("s");
    expect(document.activeElement?.textContent).toBe("SepiaOff: no key");
    await press("Enter");
    expect(chosen).toEqual([]);
    await press("Home");
    await press("Enter");
    expect(chosen).toEqual(["light"]);
    expect(root.querySelector("[role=menu]")).toBeNull();
    expect(document.activeElement).toBe(opener);
  });

  it("shuts on Escape, on Tab and on a press outside", async () => {
    const { root, opener } = await staged();
    await press("ArrowDown");
    await press("Escape");
    expect(root.querySelector("[role=menu]")).toBeNull();
    expect(document.activeElement).toBe(opener);
    await click(opener);
    await press("Tab");
    expect(root.querySelector("[role=menu]")).toBeNull();
    await click(opener);
    await act(() => void document.body.dispatchEvent(new Event("pointerdown", { bubbles: true })));
    expect(root.querySelector("[role=menu]")).toBeNull();
  });
});

// covers: F6 E7 (nothing is thrown away unasked, and by keyboard)
describe("DialogHost", () => {
  async function staged(platform: "linux" | "win" = "linux") {
    const dialogs = createDialogs();
    const root = await show(
      <>
        <div class="win">
          <button type="button">Before</button>
        </div>
        <DialogHost dialogs={dialogs} platform={platform} />
      </>,
    );
    button(root, "Before").focus();
    return { dialogs, root };
  }

  const words = (root: HTMLElement): readonly (string | undefined)[] =>
    [...root.querySelectorAll(".dialog button")].map((b) => b.textContent?.trim());

  it("asks about unsaved text; Save is the default and Discard is in its own colour", async () => {
    const { dialogs, root } = await staged();
    const answer = dialogs.askUnsaved(["Ferry.md"]);
    await settle();
    expect(one(root, ".dialog h2").textContent).toBe("Save Ferry.md?");
    expect(words(root)).toEqual(["Cancel Esc", "Discard", "Save"]);
    expect(document.activeElement?.textContent).toBe("Save");
    expect(button(root, "Discard").className).toBe("btn bad");
    await click(button(root, "Discard"));
    await expect(answer).resolves.toBe("discard");
  });

  it("names several documents", async () => {
    const { dialogs, root } = await staged();
    void dialogs.askUnsaved(["a.md", "b.md"]);
    await settle();
    expect(one(root, ".dialog h2").textContent).toBe("Save 2 documents?");
    expect([...root.querySelectorAll(".names li")].map((li) => li.textContent)).toEqual(["a.md", "b.md"]);
    expect(words(root)).toContain("Save all");
  });

  it("puts Cancel last on Windows", async () => {
    const { dialogs, root } = await staged("win");
    void dialogs.askUnsaved(["a.md"]);
    await settle();
    expect(words(root)).toEqual(["Save", "Discard", "Cancel Esc"]);
  });

  it("keeps Tab inside, makes the window inert, cancels on Escape and gives the focus back", async () => {
    const { dialogs, root } = await staged();
    const answer = dialogs.askUnsaved(["a.md"]);
    await settle();
    expect(one(root, ".win").hasAttribute("inert")).toBe(true);
    expect(isModalOpen()).toBe(true);
    expect((await press("Tab")).defaultPrevented).toBe(true);
    expect(document.activeElement?.textContent?.trim()).toBe("Cancel Esc");
    await press("Tab", { shiftKey: true });
    expect(document.activeElement?.textContent).toBe("Save");
    await press("Escape", { isComposing: true });
    expect(root.querySelector(".dialog")).not.toBeNull();
    await press("Escape");
    await expect(answer).resolves.toBe("cancel");
    await settle();
    expect(root.querySelector(".dialog")).toBeNull();
    expect(one(root, ".win").hasAttribute("inert")).toBe(false);
    expect(document.activeElement?.textContent).toBe("Before");
  });

  it("asks one question after the other", async () => {
    const { dialogs, root } = await staged();
    const first = dialogs.askUnsaved(["a.md"]);
    const second = dialogs.askUnsaved(["b.md"]);
    await settle();
    expect(one(root, ".dialog h2").textContent).toBe("Save a.md?");
    await press("Escape");
    await first;
    await settle();
    expect(one(root, ".dialog h2").textContent).toBe("Save b.md?");
    await click(button(root, "Save"));
    await expect(second).resolves.toBe("save");
  });
});

// covers: E5 (palette with every command)
describe("Palette", () => {
  async function staged() {
    const board = createBoard(signal("linux"));
    const ran: string[] = [];
    board.bind({
      "file.new": { run: () => ran.push("new") },
      "ai.rewrite": { run: () => ran.push("rewrite") },
      "ai.review.accept": { run: () => ran.push("accept"), off: () => "off.noReview" },
      "view.theme.dark": { run: () => ran.push("dark"), checked: () => true },
      "view.palette": { run: () => {} },
    });
    let closed = 0;
    const root = await show(
      <Palette
        board={board}
        onClose={() => {
          closed += 1;
        }}
      />,
    );
    return { root, ran, closed: () => closed, field: one<HTMLInputElement>(root, "input") };
  }

  const rows = (root: HTMLElement): readonly (string | null)[] =>
    [...root.querySelectorAll("[role=option]")].map((row) => row.textContent);

  it("shows every command that is there, with its key or why it is off", async () => {
    const { root, field } = await staged();
    expect(document.activeElement).toBe(field);
    expect(rows(root)).toEqual([
      "New documentCtrl+N",
      "Theme: dark",
      "Rewrite selectionCtrl+J",
      "Review: accept this changeOff: no review is open",
    ]);
    expect(root.querySelectorAll("[aria-disabled=true]")).toHaveLength(1);
  });

  it("finds by letters, marks them, and runs with Enter", async () => {
    const { root, ran, closed, field } = await staged();
    await type(field, "re");
    expect(rows(root)[0]).toBe("Rewrite selectionCtrl+J");
    expect(root.querySelector("mark")?.textContent).toBe("Re");
    expect(field.getAttribute("aria-activedescendant")).toBe(one(root, "[aria-selected=true]").id);
    await press("Enter");
    await settle();
    expect(closed()).toBe(1);
    expect(ran).toEqual(["rewrite"]);
  });

  it("goes round by arrows, and does not run what is off", async () => {
    const { root, ran, closed } = await staged();
    await press("ArrowUp");
    expect(one(root, "[aria-selected=true]").textContent).toContain("Review: accept");
    await press("Enter");
    await settle();
    expect([ran, closed()]).toEqual([[], 0]);
    await press("ArrowDown");
    expect(one(root, "[aria-selected=true]").textContent).toContain("New document");
  });

  it("does nothing while composing, and shuts on Escape", async () => {
    const { ran, closed } = await staged();
    await press("Enter", { isComposing: true });
    await press("Enter", { keyCode: 229 });
    expect(ran).toEqual([]);
    await press("Escape");
    expect(closed()).toBe(1);
  });

  it("says when no command is of that name", async () => {
    const { root, field } = await staged();
    await type(field, "qqq");
    expect(rows(root)).toEqual([]);
    expect(one(root, ".none").textContent).toBe("No command of that name");
  });
});

describe("with a clock", () => {
  beforeEach(
    () =>
      void vi.useFakeTimers({
        toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date"],
      }),
  );
  afterEach(() => void vi.useRealTimers());

  const wait = (ms: number): Promise<void> => act(() => void vi.advanceTimersByTime(ms));

  // covers: K6 (quota or rate limit with countdown)
  it("FaultNotice counts a pause down and then lets the person try again", async () => {
    let tried = 0;
    const fault = { code: "rate_limited", detail: "429", retryAfterMs: 2000, provider: "Anthropic" } as const;
    const actions = {
      retry: () => {
        tried += 1;
      },
    };
    const root = await show(<FaultNotice fault={fault} actions={actions} />);
    expect(one(root, "h2").textContent).toBe("Anthropic asks for a pause of 2 s.");
    expect(root.querySelectorAll("button")).toHaveLength(1);
    expect(button(root, "Retry in 2 s").disabled).toBe(true);
    await wait(1000);
    expect(button(root, "Retry in 1 s").disabled).toBe(true);
    await wait(1000);
    expect(tried).toBe(0);
    await click(button(root, "Retry"));
    expect(tried).toBe(1);
  });

  it("a toast stays 6 s, longer while it is pointed at, and gives way to the next", async () => {
    const toasts = createToasts();
    const root = await show(<ToastHost toasts={toasts} />);
    await act(() => toasts.show({ text: "3 accepted" }));
    await act(() => toasts.show({ text: "4 accepted" }));
    expect(root.textContent).toContain("4 accepted");
    expect(root.textContent).not.toContain("3 accepted");
    await wait(5000);
    await act(() => toasts.hold(true));
    await wait(60_000);
    expect(root.textContent).toContain("4 accepted");
    await act(() => toasts.hold(false));
    await wait(5999);
    expect(root.textContent).toContain("4 accepted");
    await wait(1);
    expect(root.textContent).toBe("");
  });
});

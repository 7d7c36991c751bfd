// @vitest-environment jsdom
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Desk, desk } from "./view.testing";

let at: Desk;
let button: HTMLButtonElement;

beforeEach(() => {
  at = desk("one two\n");
  button = document.body.appendChild(document.createElement("button"));
  at.view.focus();
  at.view.dispatch({ selection: { anchor: 3 } });
});

afterEach(() => {
  at.view.destroy();
  button.remove();
});

/** Asks the text to take a letter, as a browser does before it types; false when it may not. */
const type = (): boolean =>
  at.view.contentDOM.dispatchEvent(
    new InputEvent("beforeinput", { inputType: "insertText", data: "x", bubbles: true, cancelable: true }),
  );

const inText = (): boolean => at.view.contentDOM.contains(document.getSelection()?.anchorNode ?? null);

// covers: E1
describe("keys while another part has the focus", () => {
  it("find no selection in the text, and get it back with the focus", () => {
    expect([type(), inText()]).toEqual([true, true]);
    button.focus();
    expect(inText()).toBe(false);
    at.view.focus();
    expect([type(), inText()]).toEqual([true, true]);
    expect(at.view.state.selection.main.head).toBe(3);
  });

  it("are not typed where the selection was left in the text", () => {
    button.focus();
    document.getSelection()?.setPosition(at.view.contentDOM.querySelector(".cm-line"), 0);
    expect(type()).toBe(false);
  });

  it("are not looked at once the view is gone", () => {
    at.view.destroy();
    button.focus();
    expect(document.activeElement).toBe(button);
  });
});

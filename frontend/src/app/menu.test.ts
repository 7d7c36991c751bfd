import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createFakeBackend } from "../backend/fake";
import { setLanguage } from "../i18n";
import { labelMenu, menuLabels } from "./menu";

/** The ids of Go's MenuBar: menus and commands, in their order. */
function hostIds(): readonly string[] {
  const source = readFileSync(new URL("../../../backend/api/menu.go", import.meta.url), "utf8");
  const body = source.slice(source.indexOf("func MenuBar()"));
  return [...body.matchAll(/\{"([\w.]+)", "[^"]+"/g)].map((found) => found[1] ?? "");
}

afterEach(() => setLanguage("en"));

// covers: E5 (the native menu runs the table's commands) E6 (in the page's language)
describe("the native menu", () => {
  it("has the commands of the table, and no others", () => {
    const ours = menuLabels("linux").map((label) => label.id);
    expect([...ours].sort()).toEqual([...hostIds()].sort());
    expect(new Set(ours).size).toBe(ours.length);
  });

  it("shows each in the language of the interface, with its key in GTK's form", () => {
    const find = (id: string) => menuLabels("linux").find((label) => label.id === id);
    expect(find("menu.file")).toEqual({ id: "menu.file", label: "File", key: "" });
    expect(find("ai.rewrite")).toEqual({ id: "ai.rewrite", label: "Rewrite selection", key: "<Control>j" });
    expect(find("ai.review.next")).toMatchObject({ key: "F8" });
    expect(find("ai.review.rejectAll")).toMatchObject({ key: "" });
    setLanguage("zh");
    expect(find("menu.file")).toEqual({ id: "menu.file", label: "文件", key: "" });
    expect(find("ai.review.acceptAll")).toMatchObject({ key: "<Control><Shift>Return" });
    for (const { label } of menuLabels("linux")) {
      expect(label).not.toBe("");
    }
  });

  it("is sent to the host, and stays English when the host refuses", async () => {
    const backend = createFakeBackend();
    setLanguage("zh");
    await labelMenu(backend, "linux");
    expect(backend.menu()).toEqual(menuLabels("linux"));

    const quiet = vi.spyOn(console, "error").mockImplementation(() => {});
    backend.refuse("Settings.SetMenu", "internal");
    await labelMenu(backend, "linux");
    expect(quiet).toHaveBeenCalledOnce();
    quiet.mockRestore();
  });
});

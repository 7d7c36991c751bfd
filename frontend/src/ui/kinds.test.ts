import { describe, expect, it } from "vitest";
import { hostOf, kindOf, newProvider, providerKinds, withKind } from "./kinds";

describe("kinds of providers", () => {
  const kind = (id: string) => providerKinds.find((k) => k.id === id) ?? expect.unreachable(id);

  it("knows each kind by what the host keeps of it", () => {
    for (const known of providerKinds) {
      expect(kindOf(newProvider(known, [])).id).toBe(known.id);
    }
    expect(kindOf({ kind: "openai_chat", profile: "lmstudio" }).id).toBe("compatible");
  });

  it("gives a second one an id and a name of its own", () => {
    const first = newProvider(kind("deepseek"), []);
    const second = newProvider(kind("deepseek"), [first]);
    expect([second.id, second.name]).toEqual(["deepseek-2", "DeepSeek 2"]);
  });

  it("lets name, address and model follow the kind unless they were typed", () => {
    const fresh = withKind(newProvider(kind("openai"), []), kind("deepseek"));
    expect(fresh).toMatchObject({
      name: "DeepSeek",
      baseUrl: "https://api.deepseek.com",
      model: "deepseek-chat",
    });
    const typed = withKind({ ...fresh, name: "Work", baseUrl: "https://ai.example/v1" }, kind("compatible"));
    expect(typed).toMatchObject({
      id: "openai",
      name: "Work",
      baseUrl: "https://ai.example/v1",
      profile: "compatible",
    });
  });

  it("shows the host of an address", () => {
    expect(hostOf("https://api.deepseek.com/v1")).toBe("api.deepseek.com");
    expect(hostOf("htp:/x")).toBe("");
    expect(hostOf("")).toBe("");
  });
});

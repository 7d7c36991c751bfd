import { describe, expect, it } from "vitest";
import { addressFault, hostOf, kindOf, newProvider, providerKinds, withKind } from "./kinds";

describe("kinds of providers", () => {
  const kind = (id: string) => providerKinds.find((k) => k.id === id) ?? expect.unreachable(id);

  it("knows each kind by what the host keeps of it", () => {
    for (const known of providerKinds) {
      expect(kindOf(newProvider(known, [])).id).toBe(known.id);
    }
    expect(kindOf({ kind: "openai_chat", profile: "" }).id).toBe("openai-chat");
    // A compatible address may speak any dialect.
    expect(kindOf({ kind: "anthropic_messages", profile: "compatible" }).id).toBe("compatible");
    expect(kindOf({ kind: "openai_chat", profile: "of-a-later-version" }).id).toBe("compatible");
  });

  // covers: K7 (the page's part: said before it is sent)
  it("tells what is no address from what is no safe one", () => {
    for (const good of [
      "",
      "https://h/v1",
      "HTTPS://h",
      "http://localhost:11434",
      "http://127.0.0.1:1/v1",
      "http://[::1]/v1",
    ]) {
      expect(addressFault(good), good).toBeNull();
    }
    for (const wrong of [
      "h/v1",
      "htp:/h",
      "ftp://h",
      "https:h",
      "not an address",
      "localhost:11434",
      "javascript:0",
    ]) {
      expect(addressFault(wrong), wrong).toBe("wrong");
    }
    for (const plain of [
      "http://h/v1",
      "http://localhost.example",
      "http://10.0.0.1/v1",
      "http://[::2]/v1",
    ]) {
      expect(addressFault(plain), plain).toBe("plain");
    }
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

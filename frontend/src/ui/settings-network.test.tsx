// @vitest-environment jsdom
import { act } from "preact/test-utils";
import { afterEach, describe, expect, it } from "vitest";
import type { Provider } from "../backend";
import { noParameters } from "../backend/blank";
import { setLanguage } from "../i18n";
import { stageSettings } from "./settings.testing";
import { isProxyAddress, networkWords, problemWords } from "./settings-network";
import { button, click, one, press, settle, type } from "./stage.testing";

afterEach(() => setLanguage("en"));

const far: Provider = {
  id: "far",
  name: "Far",
  kind: "openai_chat",
  profile: "compatible",
  baseUrl: "https://api.example/v1",
  model: "m",
  contextTokens: 0,
  ...noParameters,
};

async function choose(root: HTMLElement, way: string): Promise<void> {
  const proxy = one<HTMLSelectElement>(root, "select[id$=-proxy]");
  proxy.value = way;
  await act(() => void proxy.dispatchEvent(new Event("change", { bubbles: true })));
  await settle();
}

// covers: K7 (the page's part)
describe("the network", () => {
  it("takes a proxy with a name and a password that is never shown again", async () => {
    const { root, field, backend, settings } = await stageSettings("network", { providers: [far] });
    expect(root.textContent).toContain("Directly, without a proxy");
    await choose(root, "manual");
    await type(field("Address"), "proxy.example:3128");
    await press("Enter");
    expect(one(root, ".err").textContent).toContain("An address such as http://proxy.example.com:3128");
    await type(field("Address"), "http://proxy.example:3128");
    await press("Enter");
    await settle();
    expect(one(root, ".used").textContent).toBe("Through the proxy proxy.example:3128, set here");
    await type(field("User name"), "ada");
    await press("Enter");
    await settle();
    await type(field("Password"), "two words");
    await act(
      () =>
        void field("Password").form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })),
    );
    await settle();
    expect(one(root, ".err").textContent).toContain("This cannot be a password");
    await type(field("Password"), "pass-TEST-1");
    await act(
      () =>
        void field("Password").form?.dispatchEvent(new Event("submit", { bubbles: true, cancelable: true })),
    );
    await settle();
    expect(backend.keyOf("network-proxy")).toBe("pass-TEST-1");
    expect(document.documentElement.outerHTML).not.toContain("pass-TEST-1");
    expect(one(root, "[role=group]").textContent).toContain("In Secret Service, 12 Nov");
    expect(settings.state.value.settings.network).toMatchObject({
      proxy: "manual",
      proxyUrl: "http://proxy.example:3128",
      proxyUser: "ada",
    });
  });

  it("leaves hosts out, and says which is none", async () => {
    const { root, settings } = await stageSettings("network", {
      providers: [far],
      settings: {
        network: { proxy: "manual", proxyUrl: "http://p:1", proxyUser: "", bypass: [], caFile: "" },
      },
    });
    const list = one<HTMLTextAreaElement>(root, "textarea");
    await type(list, "https://api.example");
    expect(one(root, ".err").textContent).toBe("“https://api.example” is not a host, an address or a range.");
    await type(list, "api.example\n\n10.0.0.0/8 ");
    await act(() => void list.dispatchEvent(new Event("change", { bubbles: true })));
    await settle();
    expect(settings.state.value.settings.network.bypass).toEqual(["api.example", "10.0.0.0/8"]);
    expect(one(root, ".used").textContent).toBe("Directly, without a proxy");
  });

  it("takes a file of certificates, shows whose they are, and keeps the one before when it is none", async () => {
    const { root, settings, backend } = await stageSettings("network", {
      providers: [far],
      dialogs: { certificates: "/home/ada/office.pem" },
    });
    await click(button(root, "Choose a file"));
    await settle();
    expect(one(root, ".subjects").textContent).toBe("CN=Harbour Root CA, O=Harbour Office");
    expect(one(root, ".used").textContent).toContain("extra certificates");
    backend.answerDialogs({ certificates: "/home/ada/notes.md" });
    await click(button(root, "Choose another"));
    await settle();
    expect(one(root, ".note h2").textContent).toBe("No certificate was found in this file.");
    expect(settings.state.value.settings.network.caFile).toBe("/home/ada/office.pem");
    backend.answerDialogs({});
    await click(button(one(root, ".note"), "Choose another"));
    await settle();
    // Choosing none is no failure.
    expect(root.querySelector(".note")).toBeNull();
    await click(button(root, "Remove"));
    await settle();
    expect(root.querySelector(".subjects")).toBeNull();
  });

  it("is reached from the form of a provider, and says there what is used", async () => {
    const { root } = await stageSettings("providers", { providers: [far] });
    expect(root.textContent).toContain("Directly, without a proxy");
    await click(button(root, "Change"));
    expect(one(root, "h1").textContent).toBe("Network");
  });

  it("says what cannot be used and looks again when told to", async () => {
    const { root, backend } = await stageSettings("network", {
      providers: [far],
      settings: {
        network: { proxy: "system", proxyUrl: "", proxyUser: "", bypass: [], caFile: "/gone.pem" },
      },
    });
    expect(one(root, ".note h2").textContent).toBe("A part of this cannot be used.");
    expect(one(root, ".note").textContent).toContain("/gone.pem");
    const before = backend.calls.filter((c) => c === "Settings.Network").length;
    await click(button(one(root, ".note"), "Look again"));
    await settle();
    expect(backend.calls.filter((c) => c === "Settings.Network").length).toBe(before + 1);
  });

  it("says of each problem what it is of", () => {
    const say = (problem: string, problemDetail: string): string | null =>
      problemWords({ problem, problemDetail });
    const said = [
      say("proxy", ""),
      say("proxy", "pac"),
      say("proxy", "https_proxy"),
      say("timeout", ""),
      say("invalid_input", "private_key"),
      say("invalid_input", "bad_certificate"),
      say("invalid_input", "no_certificate"),
    ];
    expect(new Set(said).size).toBe(said.length);
    expect(said).not.toContain(null);
    expect(said[2]).toContain("https_proxy");
    // The failure's own words do for these.
    expect([say("proxy", "p:1"), say("not_found", "/a.pem"), say("timeout", "/a.pem")]).toEqual([
      null,
      null,
      null,
    ]);
  });

  it("knows an address of a proxy, and says everything in Chinese", () => {
    for (const right of ["", "http://p:3128", "https://p.example", "socks5://127.0.0.1:1080/"]) {
      expect(isProxyAddress(right), right).toBe(true);
    }
    for (const wrong of ["p:3128", "ftp://p", "http://a:b@p", "http://p/x", "http://p?x"]) {
      expect(isProxyAddress(wrong), wrong).toBe(false);
    }
    setLanguage("zh");
    const network = { proxy: "system", proxyUrl: "", proxyUser: "", bypass: [], caFile: "/a.pem" };
    expect(networkWords(network, null)).toBe("使用系统代理与证书，以及额外的证书");
  });
});

import "./style/index.css";
import { h, render } from "preact";
import { boot } from "./app/boot";
import { type Backend, connectBackend, hasHost } from "./backend";
import { pickLanguage, setLanguage, t } from "./i18n";
import { Plate } from "./ui";

const root = document.querySelector<HTMLElement>("#app") ?? document.body;

/** Without the program around it, a development build runs on a backend in memory. */
async function backendOf(): Promise<Backend | null> {
  if (hasHost()) {
    return connectBackend();
  }
  if (import.meta.env.DEV || import.meta.env.MODE === "demo") {
    const { createDemo } = await import("./app/demo");
    return createDemo(new URLSearchParams(location.search));
  }
  return null;
}

function sayNoHost(error: unknown): void {
  console.error(error);
  setLanguage(pickLanguage("system", navigator.languages));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  if (!document.documentElement.hasAttribute("data-theme")) {
    document.documentElement.setAttribute("data-theme", dark ? "dark" : "light");
  }
  render(h(Plate, { title: t("window.offline.title"), text: t("window.offline.text") }), root);
}

backendOf()
  .then((backend) => (backend === null ? sayNoHost("no host") : boot(backend, root)))
  .then(() => {
    document.documentElement.setAttribute("data-ready", "true");
    performance.mark("ready");
  })
  .catch(sayNoHost);

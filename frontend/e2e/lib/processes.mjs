// Children of the end-to-end tests: started with an environment of their own,
// ended by pid, and waited for by what they print, never by time.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A private folder tree with its own HOME and XDG folders; removed by close(). */
export function makeSandbox() {
  const root = mkdtempSync(join(tmpdir(), "galley-e2e-"));
  for (const name of ["home", "galley", "run", "work"]) mkdirSync(join(root, name), { mode: 0o700 });
  return {
    root,
    galleyHome: join(root, "galley"),
    work: join(root, "work"),
    /** The environment of every child: nothing of the person's is reached. */
    env(extra = {}) {
      return {
        PATH: process.env.PATH,
        HOME: join(root, "home"),
        XDG_RUNTIME_DIR: join(root, "run"),
        XDG_CONFIG_HOME: join(root, "home", ".config"),
        XDG_DATA_HOME: join(root, "home", ".local", "share"),
        XDG_CACHE_HOME: join(root, "home", ".cache"),
        GALLEY_HOME: join(root, "galley"),
        LANG: "C.UTF-8",
        TZ: "UTC",
        NO_AT_BRIDGE: "1",
        GTK_THEME: "Adwaita",
        WEBKIT_DISABLE_DMABUF_RENDERER: "1",
        LIBGL_ALWAYS_SOFTWARE: "1",
        ...extra,
      };
    },
    path: (name) => join(root, "work", name),
    write(name, data) {
      const path = join(root, "work", name);
      writeFileSync(path, data);
      return path;
    },
    close() {
      rmSync(root, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Starts a child and keeps what it prints. */
export function start(command, args, options = {}) {
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe", ...(options.extraPipes ?? [])],
    ...options,
  });
  const self = {
    child,
    pid: child.pid,
    output: "",
    exited: new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal }))),
    /** Ends the child and waits for it; KILL after five seconds. */
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
        await self.exited;
        clearTimeout(timer);
      }
      // Something the child left behind may hold its pipes, which would keep the test from ending.
      child.stdout?.destroy();
      child.stderr?.destroy();
    },
  };
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (d) => (self.output += d));
  child.on("error", (error) => (self.output += String(error)));
  return self;
}

/** Resolves as soon as probe() is truthy (or resolves so), else fails with what it last saw. */
export async function until(what, probe, { timeout = 20000, every = 40 } = {}) {
  const end = Date.now() + timeout;
  let last;
  for (;;) {
    try {
      last = await probe();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end)
      throw new Error(`${what}: not within ${timeout} ms; last: ${last?.message ?? JSON.stringify(last)}`);
    await new Promise((next) => setTimeout(next, every));
  }
}

/** A free loopback port. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** An X server of our own with a window manager; the display is in env.DISPLAY. */
export async function startDisplay(sandbox, { size = "1442x960", manager = true } = {}) {
  const x = start("Xvfb", ["-displayfd", "3", "-screen", "0", `${size}x24`, "-nolisten", "tcp"], {
    env: sandbox.env(),
    extraPipes: ["pipe"],
  });
  let number = "";
  x.child.stdio[3].on("data", (d) => (number += d));
  await until("Xvfb's display number", () => number.includes("\n"));
  const display = `:${number.trim()}`;
  const wm = manager ? start("openbox", [], { env: sandbox.env({ DISPLAY: display }) }) : null;
  if (wm) {
    await until("the window manager", async () => {
      const p = start("xprop", ["-root", "_NET_SUPPORTING_WM_CHECK"], {
        env: sandbox.env({ DISPLAY: display }),
      });
      await p.exited;
      if (wm.child.exitCode !== null) throw new Error(`openbox ended: ${wm.output}`);
      return p.output.includes("window id");
    });
  }
  return {
    display,
    async close() {
      await wm?.stop();
      await x.stop();
    },
  };
}

/** Runs a command to its end and returns its output; fails when it does. */
export async function run(command, args, options = {}) {
  const p = start(command, args, options);
  const { code, signal } = await p.exited;
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: ${signal ?? code}\n${p.output}`);
  return p.output;
}

// An OpenAI-compatible server on loopback: the one fake of the end-to-end
// tests, at the edge of the system.
import { createServer } from "node:http";

/**
 * Starts the server. script(body) is called for each chat request and returns
 * what to do: {text, pieces, calls, finish, usage, hold, cut, status, headers, body}. A
 * body that is a string goes out as it is; calls are those of tools, as {name,
 * input}. Requests are kept.
 */
export async function startProvider(script = echo) {
  const requests = [];
  const held = new Map();
  const server = createServer(async (req, res) => {
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = raw ? JSON.parse(raw) : null;
    requests.push({ method: req.method, url: req.url, headers: req.headers, body });
    const act = req.url.endsWith("/models")
      ? { status: 200, body: { object: "list", data: provider.models } }
      : provider.script(body, requests.length);
    if (act.status) {
      res.writeHead(act.status, { "content-type": "application/json", ...act.headers });
      const answer = act.body ?? { error: { message: "refused by the test" } };
      res.end(typeof answer === "string" ? answer : JSON.stringify(answer));
      return;
    }
    res.writeHead(200, { "content-type": "text/event-stream" });
    const send = (delta, finish = null) =>
      res.write(
        `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
      );
    const speak = (pieces) => {
      for (const piece of pieces) send({ content: piece });
    };
    const finish = (calls = act.calls ?? []) => {
      for (const [index, { name, input }] of calls.entries()) {
        const id = `call-${requests.length}-${index}`;
        send({
          tool_calls: [{ index, id, type: "function", function: { name, arguments: JSON.stringify(input) } }],
        });
      }
      send({}, act.finish ?? (calls.length > 0 ? "tool_calls" : "stop"));
      if (act.usage) {
        res.write(
          `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", choices: [], usage: act.usage })}\n\n`,
        );
      }
      res.end("data: [DONE]\n\n");
    };
    speak(act.pieces ?? cut(act.text ?? ""));
    if (act.cut) {
      // Once what was said is on its way, the connection goes.
      res.write(": over\n\n", () => res.destroy());
    } else if (act.hold) {
      // The answer stays open until the test or the client ends it.
      held.set(res, (rest, calls) => {
        speak(cut(rest));
        finish(calls);
      });
      res.on("close", () => held.delete(res));
    } else {
      finish();
    }
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  const provider = {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    port: server.address().port,
    /** What is offered. */
    models: [{ id: "fern-2", object: "model" }],
    /** What is done with the next chat request. */
    script,
    requests,
    held,
    /** Says the rest of what is held, calls tools, and ends it. */
    resume(rest, calls) {
      for (const end of held.values()) end(rest, calls);
    },
    close: () =>
      new Promise((ok) => {
        server.close(ok);
        server.closeAllConnections();
      }),
  };
  return provider;
}

/** The entry of settings.json for a server of this kind. */
export function providerEntry(url, more = {}) {
  return {
    id: "local",
    name: "Local",
    kind: "openai_chat",
    profile: "compatible",
    baseUrl: url,
    model: "fern-2",
    ...more,
  };
}

/** The selection of a rewrite request. */
export function selectionOf(body) {
  const last = body.messages.at(-1).content;
  const text = typeof last === "string" ? last : last.map((part) => part.text ?? "").join("");
  return text.match(/<selection>\n([\s\S]*?)\n<\/selection>/)?.[1] ?? "";
}

function echo(body) {
  return {
    text: selectionOf(body)
      .replace(/\bvery \b/g, "")
      .replace(/quick/g, "fast"),
  };
}

/** Pieces of three UTF-16 units, but never half of a pair. */
function cut(text) {
  return text.match(/[\s\S]{1,3}/gu) ?? [];
}

/** A server that only counts who comes. */
export async function startCounter() {
  const hits = [];
  const server = createServer((req, res) => {
    hits.push(`${req.method} ${req.url}`);
    res.end("x");
  });
  server.on("upgrade", (req, socket) => {
    hits.push(`UPGRADE ${req.url}`);
    socket.destroy();
  });
  await new Promise((ok) => server.listen(0, "127.0.0.1", ok));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    hits,
    close: () =>
      new Promise((ok) => {
        server.close(ok);
        server.closeAllConnections();
      }),
  };
}

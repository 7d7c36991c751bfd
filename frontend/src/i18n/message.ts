/** What a message's placeholders are filled with. Numbers are written as the language does. */
export type Params = Readonly<Record<string, string | number>>;

/** A part of a parsed message. */
type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "value"; readonly name: string }
  | { readonly type: "count" }
  | {
      readonly type: "choice";
      readonly name: string;
      readonly plural: boolean;
      readonly branches: ReadonlyMap<string, readonly Part[]>;
    };

/**
 * Makes the formatter of one language. The form of a message is a small part
 * of ICU's: `{name}`; `{n, plural, =0 {…} one {# word} other {# words}}`, with
 * `#` for the number; `{name, select, none {…} other {…}}`, where an empty
 * string takes `none`. A placeholder without a value is shown as it is written.
 */
export function createFormatter(locale: string): (message: string, params?: Params) => string {
  const rules = new Intl.PluralRules(locale);
  const numbers = new Intl.NumberFormat(locale);
  const parsed = new Map<string, readonly Part[]>();

  function show(value: string | number): string {
    return typeof value === "number" ? numbers.format(value) : value;
  }

  function choose(part: Part & { type: "choice" }, value: string | number): readonly Part[] {
    const exact = part.plural ? `=${value}` : value === "" ? "none" : String(value);
    const kind = part.plural ? rules.select(Number(value)) : "other";
    return part.branches.get(exact) ?? part.branches.get(kind) ?? part.branches.get("other") ?? [];
  }

  function write(parts: readonly Part[], params: Params, count: string): string {
    return parts.map((part) => writePart(part, params, count)).join("");
  }

  function writePart(part: Part, params: Params, count: string): string {
    switch (part.type) {
      case "text":
        return part.text;
      case "count":
        return count;
      case "value": {
        const value = params[part.name];
        return value === undefined ? `{${part.name}}` : show(value);
      }
      case "choice": {
        const value = params[part.name] ?? "";
        return write(choose(part, value), params, part.plural ? show(value) : count);
      }
    }
  }

  return (message, params = {}) => {
    let parts = parsed.get(message);
    if (parts === undefined) {
      parts = parse(message);
      parsed.set(message, parts);
    }
    return write(parts, params, "#");
  };
}

/** Names the placeholders of a message, sorted: both languages must have the same. */
export function placeholders(message: string): readonly string[] {
  const names = new Set<string>();
  const visit = (parts: readonly Part[]): void => {
    for (const part of parts) {
      if (part.type === "value" || part.type === "choice") {
        names.add(part.name);
      }
      if (part.type === "choice") {
        for (const branch of part.branches.values()) {
          visit(branch);
        }
      }
    }
  };
  visit(parse(message));
  return [...names].sort();
}

/** Rebuilds a message with `change` applied to its words, not to its placeholders. */
export function mapWords(message: string, change: (words: string) => string): string {
  return rebuild(parse(message), change);
}

function rebuild(parts: readonly Part[], change: (words: string) => string): string {
  return parts.map((part) => rebuildPart(part, change)).join("");
}

function rebuildPart(part: Part, change: (words: string) => string): string {
  switch (part.type) {
    case "text":
      return change(part.text);
    case "count":
      return "#";
    case "value":
      return `{${part.name}}`;
    case "choice": {
      const branches = [...part.branches].map(([key, branch]) => `${key} {${rebuild(branch, change)}}`);
      return `{${part.name}, ${part.plural ? "plural" : "select"}, ${branches.join(" ")}}`;
    }
  }
}

/** Parses a message. Throws a SyntaxError when it is malformed, which a test finds. */
function parse(message: string): readonly Part[] {
  let at = 0;

  function fail(what: string): never {
    throw new SyntaxError(`${what} at ${at} in message: ${message}`);
  }

  function match(pattern: RegExp): string | undefined {
    pattern.lastIndex = at;
    const found = pattern.exec(message);
    if (found === null) {
      return undefined;
    }
    at += found[0].length;
    return found[1] ?? found[0];
  }

  function parts(inPlural: boolean): Part[] {
    const out: Part[] = [];
    while (at < message.length && message[at] !== "}") {
      if (message[at] === "{") {
        out.push(placeholder(inPlural));
      } else if (inPlural && message[at] === "#") {
        at += 1;
        out.push({ type: "count" });
      } else {
        const text = match(inPlural ? /[^{}#]+/y : /[^{}]+/y);
        out.push({ type: "text", text: text ?? fail("unexpected text") });
      }
    }
    return out;
  }

  function placeholder(inPlural: boolean): Part {
    const name = match(/\{\s*([A-Za-z]+)\s*/y) ?? fail("placeholder without a name");
    if (match(/\}/y) !== undefined) {
      return { type: "value", name };
    }
    const kind = match(/,\s*(plural|select)\s*,\s*/y) ?? fail("unknown placeholder");
    const plural = kind === "plural";
    const branches = new Map<string, readonly Part[]>();
    for (;;) {
      const key = match(/\s*(=?\w+)\s*\{/y);
      if (key === undefined) {
        break;
      }
      branches.set(key, parts(plural || inPlural));
      match(/\}/y) ?? fail("branch without an end");
    }
    match(/\s*\}/y) ?? fail("choice without an end");
    return branches.has("other") ? { type: "choice", name, plural, branches } : fail("choice without other");
  }

  const result = parts(false);
  return at === message.length ? result : fail("unexpected }");
}

import type { Command, CommandKeys } from "./commands";

/** The systems whose keys and buttons differ; Linux and the rest are `linux`. */
export type Platform = "mac" | "win" | "linux";

/** The platform behind Go's GOOS. */
export function platformOf(os: string): Platform {
  return os === "darwin" ? "mac" : os === "windows" ? "win" : "linux";
}

/** The part of a keyboard event that decides which command is meant. */
export type KeyPress = Pick<
  KeyboardEvent,
  "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "isComposing" | "keyCode"
>;

/** The keys of a command on a platform. */
export function keysOn(keys: CommandKeys, platform: Platform): readonly string[] {
  return platform === "mac" ? keys.mac : keys.other;
}

/** The first key of a command as the platform writes it ("⇧⌘O", "Ctrl+Shift+O"); "" for none. */
export function keyLabel(command: Command, platform: Platform): string {
  const [first] = keysOn(command.keys, platform);
  return first === undefined ? "" : writeKey(first, platform);
}

/** Writes a binding in GTK's form ("<Control><Shift>Return"), for the native menu. */
export function gtkKey(binding: string, platform: Platform): string {
  const { key, ctrl, meta, alt, shift } = parseKey(binding, platform);
  const marks = `${ctrl ? "<Control>" : ""}${meta ? "<Super>" : ""}${alt ? "<Alt>" : ""}${shift ? "<Shift>" : ""}`;
  return marks + (gtkNames[key] ?? (/^f\d+$/.test(key) ? key.toUpperCase() : key));
}

const gtkNames: Readonly<Record<string, string>> = {
  enter: "Return",
  backspace: "BackSpace",
  delete: "Delete",
  tab: "Tab",
  arrowup: "Up",
  arrowdown: "Down",
  arrowleft: "Left",
  arrowright: "Right",
  ",": "comma",
  "\\": "backslash",
};

interface Binding {
  readonly key: string;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly alt: boolean;
  readonly shift: boolean;
}

/**
 * Reports whether a key press is a binding. While text is being composed with
 * an input method nothing is.
 */
export function matchesKey(press: KeyPress, binding: string, platform: Platform): boolean {
  if (press.isComposing || press.keyCode === 229) {
    return false;
  }
  const want = parseKey(binding, platform);
  return (
    press.ctrlKey === want.ctrl &&
    press.metaKey === want.meta &&
    press.altKey === want.alt &&
    press.shiftKey === want.shift &&
    pressedKey(press) === want.key
  );
}

/** Writes a binding as the platform does. */
export function writeKey(binding: string, platform: Platform): string {
  const { key, ctrl, meta, alt, shift } = parseKey(binding, platform);
  if (platform === "mac") {
    const marks = `${ctrl ? "⌃" : ""}${alt ? "⌥" : ""}${shift ? "⇧" : ""}${meta ? "⌘" : ""}`;
    return `${marks}${macNames[key] ?? upper(key)}`;
  }
  const parts = [ctrl ? "Ctrl" : "", meta ? "Super" : "", alt ? "Alt" : "", shift ? "Shift" : ""];
  return [...parts.filter((part) => part !== ""), otherNames[key] ?? upper(key)].join("+");
}

const macNames: Readonly<Record<string, string>> = {
  enter: "⏎",
  backspace: "⌫",
  delete: "⌦",
  tab: "⇥",
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
};

const otherNames: Readonly<Record<string, string>> = {
  enter: "Enter",
  backspace: "Backspace",
  delete: "Delete",
  tab: "Tab",
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
};

function parseKey(binding: string, platform: Platform): Binding {
  const parts = binding.split("-");
  // A binding of the hyphen itself ends in an empty part.
  const key = parts.pop() || "-";
  const has = (name: string): boolean => parts.includes(name);
  const mac = platform === "mac";
  return {
    key: key.toLowerCase(),
    ctrl: has("Ctrl") || (has("Mod") && !mac),
    meta: has("Cmd") || (has("Mod") && mac),
    alt: has("Alt"),
    shift: has("Shift"),
  };
}

/**
 * The key of a press as a Latin layout has it: a Cyrillic or Greek layout
 * gives other letters, so there the place on the keyboard counts.
 */
function pressedKey(press: KeyPress): string {
  const key = press.key.toLowerCase();
  if (key === "unidentified") {
    // WebKitGTK has no name for Tab with Shift.
    return press.code.toLowerCase();
  }
  if (key.length === 1 && key > "\u007f") {
    const letter = /^Key([A-Z])$/.exec(press.code)?.[1] ?? /^Digit(\d)$/.exec(press.code)?.[1];
    return letter?.toLowerCase() ?? key;
  }
  return key;
}

function upper(key: string): string {
  return key.length === 1 || /^f\d+$/.test(key) ? key.toUpperCase() : key;
}

import { type ReadonlySignal, signal } from "@preact/signals";
import type { MessageKey } from "../i18n";
import { type Command, type CommandId, commands, isCommandId } from "./commands";
import { type KeyPress, keysOn, matchesKey, type Platform } from "./keys";

/** What a command does, and whether it can be done now. */
export interface CommandAction {
  readonly run: () => void;
  /** Why it cannot be done now; "" when it can. May read signals. Absent: it always can. */
  readonly off?: () => MessageKey | "";
  /** Whether it is chosen, for the commands that choose one of several. */
  readonly checked?: () => boolean;
}

/**
 * What the commands of the table do. Every part of the page binds its own;
 * palette, menu and keymap run them from here. A command that nobody has bound
 * does not exist as far as a person can see.
 */
export interface CommandBoard {
  /** Binds actions; the result takes them off again. A later binding of an id stands over an earlier one. */
  readonly bind: (actions: Readonly<Partial<Record<CommandId, CommandAction>>>) => () => void;
  /** Runs a command. Reports false when it is not bound or is off. */
  readonly run: (id: string) => boolean;
  /** Why a command is off now; "" when it can be run, null when nobody has bound it. */
  readonly offReason: (id: CommandId) => MessageKey | "" | null;
  readonly isChecked: (id: CommandId) => boolean;
  /** The commands that are bound, in the order of the table. */
  readonly bound: () => readonly Command[];
  /**
   * Runs the command of a key press, if the page's keymap has one that can be
   * run. Reports whether it did: the press is then used up.
   */
  readonly press: (press: KeyPress) => boolean;
  readonly platform: ReadonlySignal<Platform>;
}

/** Makes an empty board. */
export function createBoard(platform: ReadonlySignal<Platform>): CommandBoard {
  const stacks = signal<ReadonlyMap<CommandId, readonly CommandAction[]>>(new Map());

  function actionOf(id: CommandId): CommandAction | undefined {
    return stacks.value.get(id)?.at(-1);
  }

  function change(
    id: CommandId,
    update: (stack: readonly CommandAction[]) => readonly CommandAction[],
  ): void {
    const next = new Map(stacks.peek());
    const stack = update(next.get(id) ?? []);
    if (stack.length > 0) {
      next.set(id, stack);
    } else {
      next.delete(id);
    }
    stacks.value = next;
  }

  const board: CommandBoard = {
    platform,
    bind: (actions) => {
      const added: [CommandId, CommandAction][] = [];
      for (const [id, action] of Object.entries(actions)) {
        if (isCommandId(id) && action !== undefined) {
          added.push([id, action]);
          change(id, (stack) => [...stack, action]);
        }
      }
      return () => {
        for (const [id, action] of added) {
          change(id, (stack) => stack.filter((other) => other !== action));
        }
      };
    },
    run: (id) => {
      const action = isCommandId(id) ? actionOf(id) : undefined;
      if (action === undefined || (action.off?.() ?? "") !== "") {
        return false;
      }
      action.run();
      return true;
    },
    offReason: (id) => {
      const action = actionOf(id);
      return action === undefined ? null : (action.off?.() ?? "");
    },
    isChecked: (id) => actionOf(id)?.checked?.() ?? false,
    bound: () => commands.filter((command) => stacks.value.has(command.id)),
    press: (press) => {
      const system = platform.value;
      const command = commands.find(
        (row) =>
          row.keymap === "page" && keysOn(row.keys, system).some((key) => matchesKey(press, key, system)),
      );
      return command !== undefined && board.run(command.id);
    },
  };
  return board;
}

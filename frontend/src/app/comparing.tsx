/** The comparison in the window: drawn in place of the text, with commands of its own while it is in front. */

import { effect } from "@preact/signals";
import type { Backend } from "../backend";
import type { Documents, Tab } from "../document";
import { type CommandAction, type CommandBoard, type CommandId, type CompareActions, Comparing } from "../ui";
import { type Compare, createCompare } from "./compare";
import type { Files } from "./files";

/** What it needs of the window. */
export interface ComparingConfig {
  readonly backend: Backend;
  readonly documents: Documents;
  readonly files: Files;
  readonly board: CommandBoard;
  /** Told that a merge was saved. */
  readonly onSaved: () => void;
}

/** The comparison as the window uses it. */
export interface ComparingPart {
  readonly compare: Compare;
  readonly actions: Readonly<Partial<Record<CommandId, CommandAction>>>;
  /** Whether a comparison stands in place of the text in front. */
  readonly isInFront: () => boolean;
  /** What stands in place of the text; null for nothing. */
  readonly draw: () => preact.JSX.Element | null;
}

/** Makes it. */
export function createComparing(config: ComparingConfig): ComparingPart {
  const { backend, documents, files, board } = config;
  const compare = createCompare({ backend, documents, onSaved: config.onSaved });

  function withTab(run: (tab: Tab) => void): () => void {
    return () => {
      const tab = documents.current.peek();
      if (tab !== null) {
        run(tab);
      }
    };
  }

  /** Leaves the comparison by one of the ways that end it. */
  function by(run: (tab: Tab) => void): () => void {
    return withTab((tab) => {
      compare.leave(tab);
      run(tab);
    });
  }

  const actions: CompareActions = {
    choose: compare.choose,
    go: compare.go,
    step: compare.step,
    save: () => void compare.save(),
    keepMine: by((tab) => void files.save(tab, true)),
    takeTheirs: by((tab) => files.attempt(() => documents.reload(tab.id))),
    saveCopy: by((tab) => void files.saveAs(tab)),
    leave: by(() => documents.view.focus()),
    retry: withTab((tab) => void compare.open(tab)),
  };

  const isInFront = (): boolean => compare.front.value !== null;
  let unbind: (() => void) | null = null;
  effect(() => {
    if (isInFront() === (unbind !== null)) {
      return;
    }
    unbind?.();
    unbind = isInFront()
      ? board.bind({
          "file.save": { run: actions.save },
          "ai.review.next": { run: () => compare.step(1) },
          "ai.review.previous": { run: () => compare.step(-1) },
          "view.history": { off: () => "off.comparing", run: () => {} },
          "view.panel": { off: () => "off.comparing", run: () => {} },
          "view.sidebar": { off: () => "off.comparing", run: () => {} },
        })
      : null;
  });

  return {
    compare,
    isInFront,
    actions: {
      "file.compare": {
        off: () => {
          const tab = documents.current.value;
          return tab === null ? "off.noDocument" : tab.info.value.path === "" ? "off.notSaved" : "";
        },
        run: withTab((tab) => void compare.open(tab)),
      },
    },
    draw: () => {
      const view = compare.front.value;
      return view && <Comparing view={view} actions={actions} platform={board.platform.value} />;
    },
  };
}

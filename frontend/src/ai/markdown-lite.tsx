import type { ComponentChildren, VNode } from "preact";
import { useMemo } from "preact/hooks";
import { t } from "../i18n";
import { type AnswerBlock, type AnswerInline, type AnswerPiece, createAnswerReader } from "../markdown";
import { Icon } from "../ui/icon";

/** Opens a link of an answer, after its checks; `words` is what stands for it. */
export type OpenLink = (target: string, words: string) => void;

/** Props of AnswerText. */
export interface AnswerTextProps {
  readonly text: string;
  /** Nothing follows. */
  readonly whole: boolean;
  /** More comes: a caret stands behind the last word. */
  readonly live?: boolean;
  readonly onLink: OpenLink;
}

/**
 * What a model said, drawn from a small part of Markdown. Words become text of
 * the page and nothing else: HTML is shown as it was written, a picture is
 * named and not loaded (X3), a link does nothing but ask to be opened (X2).
 * Pieces that are settled are drawn once, however much follows them.
 */
export function AnswerText({ text, whole, live = false, onLink }: AnswerTextProps) {
  const reader = useMemo(createAnswerReader, []);
  const drawn = useMemo(() => new WeakMap<AnswerPiece, VNode>(), [onLink]);
  const pieces = reader.read(text, whole);
  return (
    <div class={`ai${live ? " is-live" : ""}`}>
      {pieces.map((piece) => {
        // The same element again: its content is not even compared.
        const known = drawn.get(piece) ?? <Piece key={piece.from} piece={piece} onLink={onLink} />;
        drawn.set(piece, known);
        return known;
      })}
    </div>
  );
}

function Piece({ piece, onLink }: { readonly piece: AnswerPiece; readonly onLink: OpenLink }) {
  return <>{blocks(piece.blocks, onLink)}</>;
}

function blocks(all: readonly AnswerBlock[], onLink: OpenLink): ComponentChildren {
  return all.map((one) => block(one, onLink));
}

function block(one: AnswerBlock, onLink: OpenLink): VNode {
  switch (one.type) {
    case "paragraph":
      return <p>{inlines(one.inlines, onLink)}</p>;
    case "heading":
      // The panel's own heading stands above; those of an answer leave no level out.
      return one.level <= 2 ? (
        <h3>{inlines(one.inlines, onLink)}</h3>
      ) : (
        <h3 class="minor">{inlines(one.inlines, onLink)}</h3>
      );
    case "list": {
      const items = one.items.map((item) => (
        <li class={item.done === null ? undefined : "task"}>
          {item.done !== null && (
            <span
              class={`check${item.done ? " on" : ""}`}
              role="img"
              aria-label={t(item.done ? "panel.task.done" : "panel.task.open")}
            >
              {item.done && <Icon name="check" />}
            </span>
          )}
          {item.blocks.length === 1 && item.blocks[0]?.type === "paragraph"
            ? inlines(item.blocks[0].inlines, onLink)
            : blocks(item.blocks, onLink)}
        </li>
      ));
      return one.start === null ? <ul>{items}</ul> : <ol start={one.start}>{items}</ol>;
    }
    case "quote":
      return <blockquote>{blocks(one.blocks, onLink)}</blockquote>;
    case "code":
    case "source":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too
        <pre class="scrolls" tabIndex={0}>
          {one.text}
        </pre>
      );
    case "rule":
      return <hr />;
    case "table":
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too
        <div class="scrolls" tabIndex={0}>
          <table>
            <thead>
              <tr>
                {one.head.map((cell) => (
                  <th>{inlines(cell, onLink)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {one.rows.map((row) => (
                <tr>
                  {row.map((cell) => (
                    <td>{inlines(cell, onLink)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
  }
}

function inlines(all: readonly AnswerInline[], onLink: OpenLink): ComponentChildren {
  return all.map((one) => inline(one, onLink));
}

function inline(one: AnswerInline, onLink: OpenLink): ComponentChildren {
  switch (one.type) {
    case "text":
      return one.text;
    case "code":
      return <code>{one.text}</code>;
    case "break":
      return <br />;
    case "strong":
      return <strong>{inlines(one.inlines, onLink)}</strong>;
    case "emphasis":
      return <em>{inlines(one.inlines, onLink)}</em>;
    case "strike":
      return <s>{inlines(one.inlines, onLink)}</s>;
    case "image": {
      const host = hostOf(one.target);
      return (
        <span class="gone">
          <Icon name="image-off" small />
          {host === "" ? t("panel.image.local") : t("panel.image", { host })}
          {one.alt !== "" && ` ${one.alt}`}
        </span>
      );
    }
    case "link": {
      const host = hostOf(one.target);
      const words = one.inlines;
      if (host === "" && !/^mailto:/i.test(one.target)) {
        // A scheme that is never opened, or a place in the folder.
        return inlines(words, onLink);
      }
      const said = plain(words);
      const shown = host === "" || said.includes(host);
      return (
        <>
          <button type="button" class="linked" title={one.target} onClick={() => onLink(one.target, said)}>
            {inlines(words, onLink)}
          </button>
          {!shown && <span class="host"> ({host})</span>}
        </>
      );
    }
  }
}

function plain(all: readonly AnswerInline[]): string {
  return all.map((one) => ("text" in one ? one.text : "inlines" in one ? plain(one.inlines) : "")).join("");
}

/** The host of an address of the web; "" for anything else. */
export function hostOf(target: string): string {
  try {
    const url = new URL(target);
    return url.protocol === "https:" || url.protocol === "http:" ? url.host : "";
  } catch {
    return "";
  }
}

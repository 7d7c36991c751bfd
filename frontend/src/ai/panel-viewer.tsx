import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../i18n";
import { Icon } from "../ui/icon";
import { useModal } from "../ui/modal";
import { Skeleton, Visible } from "./panel-parts";

/** A text that is shown whole, and cannot be changed. */
export interface Viewed {
  readonly title: string;
  /** The next piece of it, from an offset in bytes; `next` is 0 at its end. */
  readonly read: (offset: number) => Promise<{ readonly text: string; readonly next: number }>;
}

/** Shows a text over the window. Escape shuts it. */
export function Viewer({ viewed, onClose }: { readonly viewed: Viewed; readonly onClose: () => void }) {
  const id = useId();
  const box = useRef<HTMLElement>(null);
  const pieces = useSignal<readonly string[]>([]);
  const next = useSignal(0);
  const failed = useSignal(false);
  useModal(box, onClose);

  const readOn = (): void => {
    failed.value = false;
    viewed.read(next.peek()).then(
      (piece) => {
        pieces.value = [...pieces.peek(), piece.text];
        next.value = piece.next;
      },
      () => {
        failed.value = true;
      },
    );
  };
  // Once for each text: what follows is asked for.
  useEffect(readOn, [viewed]);

  return (
    <>
      <div class="scrim" onPointerDown={onClose} />
      <section class="pop viewer" role="dialog" aria-modal="true" aria-labelledby={id} ref={box}>
        <div class="line">
          <h2 class="grow clip" id={id}>
            {viewed.title}
          </h2>
          <button type="button" class="ib" aria-label={t("panel.close")} title="Esc" onClick={onClose}>
            <Icon name="x" />
          </button>
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard too */}
        <div class="body scrolls" tabIndex={0} data-first>
          {pieces.value.length === 0 && !failed.value ? <Skeleton /> : null}
          {pieces.value.map((piece, i) => (
            <Visible key={i} text={piece} />
          ))}
        </div>
        {(next.value > 0 || failed.value) && (
          <div class="end">
            {failed.value && <span class="meta">{t("panel.notFetched")} </span>}
            <button type="button" class="btn sm" onClick={readOn}>
              {t(failed.value ? "action.retry" : "panel.showMore")}
            </button>
          </div>
        )}
      </section>
    </>
  );
}

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { t } from "../i18n";
import { describeFault, type FaultAction, type FaultFacts, faultActionLabel } from "./fault";
import { Notice } from "./notice";

/** Props of FaultNotice. */
export interface FaultNoticeProps {
  readonly fault: FaultFacts;
  /** What can be done here; the failure's other next steps are left out. */
  readonly actions: Readonly<Partial<Record<FaultAction, () => void>>>;
}

/**
 * A failure with its next steps. When the other side asked for a pause, the
 * button to try again counts it down and works when it is over; nothing is
 * tried by itself.
 */
export function FaultNotice({ fault, actions }: FaultNoticeProps) {
  const seconds = useCountdown(fault);
  const { title, text, kind, actions: steps } = describeFault(fault);
  const possible = steps.filter((step) => actions[step] !== undefined);
  return (
    <Notice
      kind={kind}
      title={title}
      text={text}
      actions={
        possible.length > 0 &&
        possible.map((step) => {
          const waits = step === "retry" && seconds > 0;
          return (
            <button
              type="button"
              key={step}
              class={`btn sm${step === possible[0] ? "" : " quiet"}`}
              disabled={waits}
              onClick={actions[step]}
            >
              {waits ? t("action.retryIn", { seconds }) : faultActionLabel(step)}
            </button>
          );
        })
      }
    />
  );
}

/** Whole seconds until the pause is over, from when the failure was first shown. */
function useCountdown({ code, detail, retryAfterMs }: FaultFacts): number {
  const seconds = useSignal(Math.ceil(retryAfterMs / 1000));
  useEffect(() => {
    const end = Date.now() + retryAfterMs;
    const tick = (): void => {
      seconds.value = Math.max(0, Math.ceil((end - Date.now()) / 1000));
      if (seconds.value === 0) {
        clearInterval(timer);
      }
    };
    const timer = setInterval(tick, 1000);
    tick();
    return () => clearInterval(timer);
    // By what it says: whoever shows it may make a new object of the same failure each time.
  }, [code, detail, retryAfterMs, seconds]);
  return seconds.value;
}

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Icon } from "./icon";

/** Props of NumberField. */
export interface NumberFieldProps {
  readonly id: string;
  /** The number that is kept; 0 where none is and empty is allowed. */
  readonly value: number;
  /** The least and the greatest whole number that can be kept. */
  readonly min: number;
  readonly max: number;
  /** Whether the field may be empty, which stands for 0. */
  readonly empty?: boolean;
  /** What the number means. */
  readonly hint: string;
  /** What would be right, shown in the hint's place. */
  readonly wrong: string;
  /** Called when the field is left, or Enter is pressed, with another number that can be kept. */
  readonly onNumber: (value: number) => void;
}

/** A field for a whole number within bounds. What is out of them is not sent and says why. */
export function NumberField({ id, value, min, max, empty, hint, wrong, onNumber }: NumberFieldProps) {
  const kept = empty && value === 0 ? "" : String(value);
  const draft = useSignal(kept);
  /** A browser gives an empty text for what is no number. */
  const strange = useSignal(false);
  useEffect(() => {
    draft.value = kept;
    strange.value = false;
  }, [kept, draft, strange]);
  const typed = draft.value.trim();
  const number = Number(typed);
  const none = typed === "" && !strange.value;
  const right = none ? empty === true : Number.isInteger(number) && number >= min && number <= max;
  return (
    <>
      <div class={`field short${right ? "" : " is-bad"}`}>
        <input
          id={id}
          type="number"
          min={min}
          max={max}
          step={1}
          value={draft.value}
          aria-invalid={right ? undefined : "true"}
          aria-describedby={`${id}-hint`}
          onInput={(event) => {
            draft.value = event.currentTarget.value;
            strange.value = event.currentTarget.validity?.badInput ?? false;
          }}
          onChange={() => {
            if (right && number !== value) {
              onNumber(number);
            }
          }}
        />
      </div>
      <div class={right ? "hint" : "err"} id={`${id}-hint`}>
        {!right && <Icon name="circle-alert" />}
        {right ? hint : wrong}
      </div>
    </>
  );
}

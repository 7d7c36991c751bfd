import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icon";
import { rovingIndex, typedIndex } from "./roving";

/** A row of a menu. */
export interface MenuItem {
  readonly id: string;
  readonly label: string;
  readonly icon?: IconName;
  /** Shown at the end: a key, or why it is off. */
  readonly key?: string;
  /** Set for rows of which one is chosen. */
  readonly checked?: boolean;
  readonly off?: boolean;
  /** A line above it. */
  readonly apart?: boolean;
}

/** Props of MenuButton. */
export interface MenuButtonProps {
  /** The button's class. */
  readonly class: string;
  /** Said of the button when its content is not enough. */
  readonly label?: string;
  readonly children: ComponentChildren;
  readonly items: readonly MenuItem[];
  readonly onChoose: (id: string) => void;
  /** Opens upward, for the status bar. */
  readonly up?: boolean;
  /** Lines up with the button's end. */
  readonly end?: boolean;
}

/** A button that opens a menu. Arrows, Home, End and letters move in it; Escape goes back to the button. */
export function MenuButton(props: MenuButtonProps) {
  const open = useSignal(false);
  const id = useId();
  const at = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  const close = (focusBack: boolean): void => {
    open.value = false;
    if (focusBack) {
      button.current?.focus();
    }
  };

  useEffect(() => {
    const outside = (event: Event): void => {
      if (open.value && event.target instanceof Node && !at.current?.contains(event.target)) {
        open.value = false;
      }
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, [open]);

  return (
    <div class="menu-at" ref={at}>
      <button
        type="button"
        class={props.class}
        ref={button}
        aria-label={props.label}
        aria-haspopup="menu"
        aria-expanded={open.value}
        aria-controls={open.value ? id : undefined}
        onClick={() => {
          open.value = !open.value;
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            open.value = true;
          }
        }}
      >
        {props.children}
      </button>
      {open.value && <MenuList {...props} id={id} close={close} />}
    </div>
  );
}

/** Props of PopupMenu. */
export interface PopupMenuProps {
  readonly label: string;
  /** Where it begins, in CSS pixels of the window; it is moved so that it fits. */
  readonly at: { readonly x: number; readonly y: number };
  readonly items: readonly MenuItem[];
  readonly onChoose: (id: string) => void;
  /** It is shut; called before `onChoose`. */
  readonly onClose: () => void;
}

/** A menu that opens where the pointer or the focus is. Whoever shows it gives the focus back. */
export function PopupMenu({ label, at, items, onChoose, onClose }: PopupMenuProps) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    const element = box.current;
    const list = element?.firstElementChild;
    if (element && list instanceof HTMLElement) {
      const fit = (start: number, size: number, room: number): number =>
        Math.max(4, Math.min(start, room - size - 4));
      element.style.setProperty("--x", `${fit(at.x, list.offsetWidth, window.innerWidth)}px`);
      element.style.setProperty("--y", `${fit(at.y, list.offsetHeight, window.innerHeight)}px`);
    }
  }, [at]);

  useEffect(() => {
    const outside = (event: Event): void => {
      if (!(event.target instanceof Node) || !box.current?.contains(event.target)) {
        onClose();
      }
    };
    document.addEventListener("pointerdown", outside, true);
    window.addEventListener("blur", outside);
    return () => {
      document.removeEventListener("pointerdown", outside, true);
      window.removeEventListener("blur", outside);
    };
  }, [onClose]);

  return (
    <div class="menu-over" ref={box} style={{ "--x": `${at.x}px`, "--y": `${at.y}px` }}>
      <MenuList class="" id={id} label={label} items={items} onChoose={onChoose} close={() => onClose()}>
        {null}
      </MenuList>
    </div>
  );
}

function MenuList({
  id,
  items,
  label,
  onChoose,
  up = false,
  end = false,
  close,
}: MenuButtonProps & { readonly id: string; readonly close: (focusBack: boolean) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const rows = (): readonly HTMLElement[] => [
    ...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? []),
  ];

  useEffect(() => {
    const chosen = items.findIndex((item) => item.checked);
    rows()[Math.max(0, chosen)]?.focus();
    // Only when it opens: what is chosen may change while it is open.
  }, []);

  const choose = (item: MenuItem): void => {
    if (!item.off) {
      close(true);
      onChoose(item.id);
    }
  };

  const onKeyDown = (event: KeyboardEvent, item: MenuItem, index: number): void => {
    const to = rovingIndex(event.key, index, items.length, "vertical", true);
    const typed = typedIndex(
      event.key,
      index,
      items.map((i) => i.label),
    );
    if (event.key === "Escape" || event.key === "Tab") {
      // Tab goes on from the button.
      close(true);
      if (event.key === "Tab") {
        return;
      }
    } else if (event.key === "Enter" || event.key === " ") {
      choose(item);
    } else if (to >= 0) {
      rows()[to]?.focus();
    } else if (typed >= 0 && !event.ctrlKey && !event.metaKey && !event.altKey) {
      rows()[typed]?.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div
      class={`pop menu${up ? " up" : ""}${end ? " end" : ""}`}
      role="menu"
      id={id}
      aria-label={label}
      ref={list}
    >
      {items.map((item, index) => {
        const common = {
          type: "button",
          tabIndex: -1,
          "aria-disabled": item.off || undefined,
          onClick: () => choose(item),
          onKeyDown: (event: KeyboardEvent) => onKeyDown(event, item, index),
        } as const;
        return [
          item.apart && <hr class="sepr" key={`${item.id} above`} />,
          item.checked === undefined ? (
            <button key={item.id} role="menuitem" {...common}>
              <MenuRow item={item} />
            </button>
          ) : (
            <button key={item.id} role="menuitemradio" aria-checked={item.checked} {...common}>
              <MenuRow item={item} />
            </button>
          ),
        ];
      })}
    </div>
  );
}

function MenuRow({ item }: { readonly item: MenuItem }) {
  return (
    <>
      {item.checked ? <Icon name="check" /> : item.icon ? <Icon name={item.icon} /> : <span class="gap" />}
      <span class="grow clip">{item.label}</span>
      {item.key && <span class="key">{item.key}</span>}
    </>
  );
}

/** The icons there are: those of Lucide that the interface uses, and no others. */
export const iconNames = [
  "panel-left",
  "settings",
  "plus",
  "x",
  "search",
  "file-text",
  "file-plus",
  "folder",
  "folder-open",
  "folder-search",
  "list-tree",
  "history",
  "message-square-text",
  "pencil-line",
  "square-pen",
  "square-arrow-up",
  "square",
  "at-sign",
  "check",
  "lock",
  "corner-down-right",
  "triangle-alert",
  "circle-alert",
  "circle-question-mark",
  "info",
  "scissors",
  "unlink",
  "chevron-up",
  "chevron-down",
  "chevron-left",
  "chevron-right",
  "chevrons-up-down",
  "refresh-cw",
  "replace",
  "case-sensitive",
  "whole-word",
  "regex",
  "key-round",
  "wifi-off",
  "loader-circle",
  "clock",
  "copy",
  "undo-2",
  "trash-2",
  "ellipsis",
  "external-link",
  "image-off",
  "list-ordered",
  "sliders-horizontal",
  "type",
  "palette",
  "server",
  "shield-check",
  "keyboard",
  "globe",
  "star",
] as const;

/** The name of an icon. */
export type IconName = (typeof iconNames)[number];

/** The sources are read when the program is built; nothing is fetched. */
const sources: Readonly<Record<string, string>> = import.meta.glob(
  "/node_modules/lucide-static/icons/{panel-left,settings,plus,x,search,file-text,file-plus,folder,folder-open,folder-search,list-tree,history,message-square-text,pencil-line,square-pen,square-arrow-up,square,at-sign,check,lock,corner-down-right,triangle-alert,circle-alert,circle-question-mark,info,scissors,unlink,chevron-up,chevron-down,chevron-left,chevron-right,chevrons-up-down,refresh-cw,replace,case-sensitive,whole-word,regex,key-round,wifi-off,loader-circle,clock,copy,undo-2,trash-2,ellipsis,external-link,image-off,list-ordered,sliders-horizontal,type,palette,server,shield-check,keyboard,globe,star}.svg",
  { eager: true, query: "?raw", import: "default" },
);

const svg = "http://www.w3.org/2000/svg";

/**
 * Puts the sprite of all icons at the start of the page, once. Icons refer to
 * it, so that each drawing is in the page a single time.
 */
export function mountSprite(document: Document): void {
  if (document.querySelector("svg.sprite") !== null) {
    return;
  }
  const sprite = document.createElementNS(svg, "svg");
  sprite.setAttribute("class", "sprite");
  sprite.setAttribute("aria-hidden", "true");
  const parser = new DOMParser();
  for (const [path, source] of Object.entries(sources)) {
    const drawing = parser.parseFromString(source, "image/svg+xml").documentElement;
    const symbol = document.createElementNS(svg, "symbol");
    symbol.setAttribute("id", `i-${nameOf(path)}`);
    symbol.setAttribute("viewBox", "0 0 24 24");
    symbol.append(...[...drawing.children].map((child) => document.importNode(child, true)));
    sprite.append(symbol);
  }
  document.body.prepend(sprite);
}

/** Names the icons that have a source. */
export function iconsWithSource(): readonly string[] {
  return Object.keys(sources).map(nameOf);
}

/** Props of Icon. */
export interface IconProps {
  readonly name: IconName;
  /** 14 px instead of 16. */
  readonly small?: boolean;
  /** Turns: something is being waited for. */
  readonly spin?: boolean;
}

/** A drawing in the colour of its text. It says nothing to a screen reader: what it stands beside does. */
export function Icon({ name, small = false, spin = false }: IconProps) {
  return (
    <svg class={`i${small ? " i-s" : ""}${spin ? " spin" : ""}`} viewBox="0 0 24 24" aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  );
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1, -".svg".length);
}

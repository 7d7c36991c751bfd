/** Icons by reference to the page's one sprite, whose symbols are named `i-` and the icon's name. */

const svg = "http://www.w3.org/2000/svg";

/** An icon of the sprite, hidden from screen readers. */
export function icon(name: string): SVGElement {
  const node = document.createElementNS(svg, "svg");
  node.setAttribute("class", "i i-s");
  node.setAttribute("viewBox", "0 0 24 24");
  node.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(svg, "use");
  use.setAttribute("href", `#i-${name}`);
  node.appendChild(use);
  return node;
}

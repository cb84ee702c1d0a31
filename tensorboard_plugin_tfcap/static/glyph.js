/** The symbol of a method as in the figure: color, dash and marker. */

import { el } from "./dom.js";

const NAME = "http://www.w3.org/2000/svg";
/** Markers in a square of 10, by Plotly's names. */
const SHAPES = {
  circle: "M5 1a4 4 0 1 0 .01 0Z",
  square: "M1.5 1.5h7v7h-7Z",
  "triangle-up": "M5 .8 9.4 8.6H.6Z",
  "triangle-down": "M5 9.2.6 1.4h8.8Z",
  diamond: "M5 .2 9.8 5 5 9.8.2 5Z",
  cross: "M3.5 1h3v2.5H9v3H6.5V9h-3V6.5H1v-3h2.5Z",
  x: "M2.6.8 5 3.2 7.4.8l1.8 1.8L6.8 5l2.4 2.4-1.8 1.8L5 6.8 2.6 9.2.8 7.4 " +
    "3.2 5 .8 2.6Z",
};
const DASHES = { dash: "4 2", dot: "1.5 1.5", dashdot: "4 1.5 1.5 1.5" };

/** The symbol of a method; a square of its color if it has no marker. */
export function glyph({ color, symbol, dash } = {}) {
  if (!symbol) {
    const swatch = el("i", { class: "swatch", "aria-hidden": "true" });
    if (color) swatch.style.background = color;
    else swatch.style.visibility = "hidden";
    return swatch;
  }
  const svg = part("svg", { viewBox: "0 0 24 10", class: "glyph",
    "aria-hidden": "true" });
  const shape = SHAPES[symbol.replace("-open", "")] ?? SHAPES.circle;
  svg.append(part("path", { d: "M0 5h24", stroke: color, "stroke-width": 2,
    "stroke-dasharray": DASHES[dash] ?? "none" }),
  part("path", { d: shape, fill: color, transform: "translate(7)" }));
  return svg;
}

function part(tag, attributes) {
  const node = document.createElementNS(NAME, tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, value);
  }
  return node;
}

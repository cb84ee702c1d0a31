/** The card beside a mark: what it is, and the first words it says. */

import { getSamples } from "./api.js";
import { words } from "./claims.js";
import { el, fill, number } from "./dom.js";
import { glyph } from "./glyph.js";
import { signsOf } from "./tables.js";

export class Tip {
  constructor(overlay) {
    this.node = el("div", { class: "tip", hidden: true });
    this.ring = el("div", { class: "ring", hidden: true });
    overlay.append(this.node, this.ring);
  }

  hide() {
    clearTimeout(this.timer);
    this.row = null;
    this.node.hidden = this.ring.hidden = true;
  }

  show(row, answer, place, room) {
    if (!place) return this.hide();
    clearTimeout(this.timer);
    this.row = row;
    const said = el("div");
    fill(this.node, heading(row, answer), facts(row, answer), said);
    this.node.hidden = this.ring.hidden = false;
    this.ring.style.left = `${place.x}px`;
    this.ring.style.top = `${place.y}px`;
    this.put(place, room);
    const run = row.runs.find((one) => one.samples);
    if (!run) return;
    this.timer = setTimeout(async () => {
      const found = await getSamples(run.run, run.step, 0, answer.rev)
        .catch(() => null);
      if (this.row !== row || !found?.items.length) return;
      fill(said, found.items.slice(0, 2).map(small));
      this.put(place, room);
    }, 120);
  }

  /** Beside the mark, and within the stage. */
  put(place, room) {
    const { offsetWidth: width, offsetHeight: height } = this.node;
    const right = place.x + 18 + width <= room.width;
    const left = right ? place.x + 18 : place.x - 18 - width;
    const top = Math.min(Math.max(place.y - height / 2, 4),
      Math.max(room.height - height - 4, 4));
    this.node.style.left = `${Math.max(left, 4)}px`;
    this.node.style.top = `${top}px`;
  }
}

function heading(row, answer) {
  return el("h3", {}, glyph(signsOf(answer).get(row.method) ?? row), row.method);
}

function facts(row, answer) {
  const panel = answer.panels[row.panel] ?? answer.panels[0];
  const lines = [
    [panel.x_title, withInterval(row.x, row.x_interval)],
    [panel.y_title, withInterval(row.y, row.y_interval)],
  ];
  if (row.of) lines.push(["seeds", `${row.seeds} of ${row.of}`]);
  if (row.step) lines.push([row.step.includes(" ") ? "steps" : "step", row.step]);
  const marks = [row.label, row.reference && "published",
    row.pareto && "on the Pareto front"].filter(Boolean);
  return [
    marks.length ? el("p", { class: "hint" }, marks.join(" · ")) : null,
    el("dl", {}, lines.flatMap(([name, value]) =>
      [el("dt", {}, name), el("dd", {}, value)])),
  ].filter(Boolean);
}

export function withInterval(value, interval) {
  if (!interval || interval.some((x) => x === null)) return number(value);
  return `${number(value)} [${interval.map((x) => number(x)).join(", ")}]`;
}

function small(item) {
  return el("div", { class: "sample" }, thumbnail(item),
    el("div", {}, el("p", {}, words(item)),
      item.rank === null || item.rank === undefined ? null
        : el("p", { class: "hint" }, `rank ${number(item.rank)}`)));
}

/** A sample's image, or a quiet square where there is none. */
export function thumbnail(item, alt = "") {
  if (!item.image) return el("div", { class: "blank" });
  const image = el("img", { src: `./${item.image}`, alt, loading: "lazy" });
  image.addEventListener("load", () =>
    image.classList.toggle("small", image.naturalWidth < 48));
  image.addEventListener("error", () =>
    image.replaceWith(el("div", { class: "blank" })));
  return image;
}

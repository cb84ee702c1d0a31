/**
 * Names of methods at their curves, as the window's own pixels leave room:
 * none on another, nor on a mark. Greedily, in the order of the legend.
 */

import { el, fill } from "./dom.js";
import { place, rowsOf } from "./marks.js";

const WAYS = [[1, -1], [-1, -1], [1, 1], [-1, 1], [1, 0], [-1, 0], [0, -1],
  [0, 1]];
const FAR = [7, 22, 40, 62, 90, 120];
const [MOST, LONGEST, HEIGHT] = [40, 34, 15];
const NAME = "http://www.w3.org/2000/svg";

export class Names {
  /** @param {object} on `point(method or null)` and `choose(method)`. */
  constructor(overlay, on) {
    this.on = on;
    this.node = el("div", { class: "names", "aria-hidden": "true" });
    overlay.append(this.node);
    this.pen = document.createElement("canvas").getContext("2d");
  }

  /** Names the curves of an answer; returns the boxes that are taken. */
  layout(plot, answer, on) {
    fill(this.node);
    const [across, up] = [plot._fullLayout?.xaxis, plot._fullLayout?.yaxis];
    if (!on || answer.panels.length !== 1 || !across?._length) return [];
    const inside = { left: across._offset - 4, top: up._offset - 4,
      right: across._offset + across._length + 4,
      bottom: up._offset + up._length + 4 };
    const shown = (row) => !row.hidden && place(plot, answer, row);
    const curves = rowsOf(answer.rows, shown).map((rows) => ({
      method: rows[0].method, reference: rows[0].reference,
      marks: rows.map((row) => place(plot, answer, row)) }));
    if (curves.length > MOST) return [];
    const looks = new Map(answer.methods.map((one) => [one.method, one]));
    const boxes = curves.flatMap(({ marks }) => marks.map(({ x, y }) =>
      ({ left: x - 5, right: x + 5, top: y - 5, bottom: y + 5 })));
    const paths = curves.map(({ marks, reference }) =>
      reference ? [] : along(marks));
    const { font } = getComputedStyle(this.node);
    this.pen.font = font;
    const names = [];
    curves.forEach((curve, i) => {
      const about = looks.get(curve.method);
      if (!about || about.faint || curve.reference || names.length >= MOST) {
        return;
      }
      const others = paths.flatMap((path, j) => (i === j ? [] : path));
      const text = cut(curve.method);
      const size = [this.pen.measureText(text).width + 2, HEIGHT];
      const found = best(curve.marks, size, inside, boxes, others);
      if (!found) return;
      boxes.push(found.box);
      names.push({ ...found, text, about });
    });
    this.draw(names);
    return names.map(({ box }) => box);
  }

  draw(names) {
    const svg = document.createElementNS(NAME, "svg");
    for (const { box, mark, about, far } of names) {
      if (far < 15) continue;
      const line = document.createElementNS(NAME, "line");
      const ends = { x1: mark.x, y1: mark.y,
        x2: Math.min(Math.max(mark.x, box.left), box.right),
        y2: Math.min(Math.max(mark.y, box.top), box.bottom) };
      for (const [key, value] of Object.entries(ends)) {
        line.setAttribute(key, value);
      }
      line.setAttribute("stroke", about.text);
      svg.append(line);
    }
    fill(this.node, svg, names.map(({ box, text, about }) => {
      const { method } = about;
      const span = el("span", { title: method, "data-method": method,
        onpointerenter: () => this.on.point(method),
        onpointerleave: () => this.on.point(null),
        onclick: () => this.on.choose(method) }, text);
      span.style.left = `${box.left}px`;
      span.style.top = `${box.top}px`;
      span.style.color = about.text;
      return span;
    }));
  }

  /** Dims all names but one. */
  dim(method) {
    for (const span of this.node.querySelectorAll("span")) {
      span.classList.toggle("dim", Boolean(method) &&
        span.dataset.method !== method);
    }
  }
}

/** The free place that costs least: far off, and on lines of others. */
function best(marks, [width, height], inside, boxes, lines) {
  const order = [...new Set([marks.length - 1, 0, ...marks.keys()])].slice(0, 8);
  const tries = order.flatMap((number, rank) => FAR.flatMap((far) =>
    WAYS.map(([right, down]) => ({ mark: marks[number], far, right, down,
      cost: far + 4 * rank }))));
  tries.sort((a, b) => a.cost - b.cost);
  let found = null;
  for (const { mark, far, right, down, cost } of tries) {
    if (found && cost >= found.cost) break;
    const x = mark.x + right * (width / 2 + far);
    const y = mark.y + down * (height / 2 + far);
    const box = { left: x - width / 2, right: x + width / 2,
      top: y - height / 2, bottom: y + height / 2 };
    const out = box.left < inside.left || box.right > inside.right ||
      box.top < inside.top || box.bottom > inside.bottom;
    if (out || boxes.some((other) => meet(box, other))) continue;
    const crossed = lines.filter((point) => point.x > box.left &&
      point.x < box.right && point.y > box.top && point.y < box.bottom).length;
    const whole = cost + 9 * crossed;
    if (!found || whole < found.cost) found = { box, mark, far, cost: whole };
  }
  return found;
}

function meet(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom &&
    b.top < a.bottom;
}

/** Points along a curve, so close that no letter fits between them. */
function along(marks) {
  return marks.slice(1).flatMap((end, i) => {
    const start = marks[i];
    const way = Math.hypot(end.x - start.x, end.y - start.y);
    const count = Math.max(Math.min(Math.floor(way / 12), 200), 1);
    return Array.from({ length: count }, (_, k) => ({
      x: start.x + (end.x - start.x) * k / count,
      y: start.y + (end.y - start.y) * k / count }));
  });
}

function cut(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}

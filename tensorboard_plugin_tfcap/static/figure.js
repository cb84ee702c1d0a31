/**
 * The figure that the server has computed, and interactions with it.
 *
 * Each mark carries the index of its row in the table, so that hovering,
 * pinning and moving by keyboard all act on rows.
 */

import { announce, el, number } from "./dom.js";
import { axisOf, dim, place, rowsOf, thinOut } from "./marks.js";

const CONFIG = {
  // The page sets the width: a resize by Plotly never ends if another one
  // overtakes it.
  responsive: false,
  displaylogo: false,
  displayModeBar: false,
  scrollZoom: false,
  // The line is an element of its own, which a keyboard reaches, too.
  edits: {},
};

/** At the bottom at any height, never over an axis' title. */
const LEGEND = { yref: "container", y: 0, yanchor: "bottom", x: 0 };

export class Figure {
  /**
   * @param {HTMLElement} stage where it is drawn; takes the focus.
   * @param {object} on what to call: `hover(row or null)`, `pin(row)`,
   *   `legend(method, alone)`, `layout()`, `choose(method)`.
   */
  constructor(stage, on) {
    this.stage = stage;
    this.on = on;
    this.rows = [];
    this.current = null;
    this.plot = el("div", { class: "plot" });
    // Screen readers get the table instead of the marks.
    this.plot.setAttribute("aria-hidden", "true");
    this.overlay = el("div", { class: "overlay" });
    stage.append(this.plot, this.overlay);
    stage.addEventListener("keydown", (event) => this.key(event));
    stage.addEventListener("blur", () => this.leave());
  }

  async draw(answer) {
    const { data } = answer.figure;
    // A copy, since Plotly changes it.
    const layout = structuredClone(answer.figure.layout);
    this.answer = answer;
    this.rows = answer.rows;
    const height = layout.meta?.height ?? this.height(answer.methods.length);
    this.stage.style.minHeight = `${height}px`;
    this.stage.setAttribute("aria-label",
      `${layout.meta?.label ?? "Figure"}. Arrow keys move from point to point.`);
    const color = getComputedStyle(document.body).getPropertyValue("--card");
    await window.Plotly.react(this.plot, data, {
      ...layout,
      margin: { ...layout.margin, t: answer.panels.length > 1 ? 36 : 20 },
      legend: { ...layout.legend, ...LEGEND, title: { ...layout.legend?.title,
        text: wrapped(layout.legend?.title?.text ?? "", this.width() / 6.4) } },
      autosize: false,
      width: this.width(),
      height,
      paper_bgcolor: color,
      plot_bgcolor: color,
      // In a narrow window, names at curves would overlap.
      annotations: (layout.annotations ?? []).filter(({ name }) =>
        !named(name) || this.width() >= 640)
        .map((note) => ({ ...note, captureevents: named(note.name) !== "" })),
      shapes: (layout.shapes ?? []).filter((shape) => shape.name !== "line"),
    }, CONFIG);
    if (!this.listening) this.listen();
    this.laidOut();
  }

  width() {
    return Math.max(this.stage.clientWidth, 320);
  }

  /** Follows the width of the page. */
  async resize() {
    const width = this.width();
    if (!this.listening || this.plot.layout.width === width) return;
    await window.Plotly.relayout(this.plot, { width });
  }

  /** The height that the window leaves and the legend needs. */
  height(methods) {
    const free = Math.min(Math.max(window.innerHeight - 340, 380), 540);
    // In a narrow window, the legend has one entry in a line.
    const narrow = this.width() < 480;
    const lines = narrow ? methods : Math.ceil((methods * 200) / this.width());
    return Math.round(free + 26 * Math.min(Math.max(lines - 1, 0),
      narrow ? 24 : 8));
  }

  listen() {
    this.listening = true;
    const { plot, on } = this;
    const row = (event) => {
      const point = event.points.find((p) => typeof p.customdata === "number");
      return point ? this.rows[point.customdata] : null;
    };
    plot.on("plotly_hover", (event) => on.hover(row(event)));
    plot.on("plotly_unhover", () => on.hover(null));
    plot.on("plotly_clickannotation", ({ annotation }) =>
      on.choose(named(annotation.name)));
    plot.on("plotly_click", (event) => {
      const found = row(event);
      if (found) on.pin(found);
    });
    const legend = (alone) => (event) => {
      on.legend(event.data[event.curveNumber].legendgroup, alone);
      return false;
    };
    plot.on("plotly_legendclick", legend(false));
    plot.on("plotly_legenddoubleclick", legend(true));
    plot.on("plotly_relayout", () => this.laidOut());
    plot.on("plotly_afterplot", () => this.laidOut());
  }

  laidOut() {
    thinOut(this.plot);
    // A new drawing has all its colors.
    if (this.pointed) this.point(this.pointed);
    this.on.layout();
  }

  /** Fades all methods but one; `null` restores them. */
  point(method) {
    if (!method && !this.pointed) return;
    this.pointed = method;
    dim(this.plot, method);
  }

  /** The row whose mark is nearest to a pointer, within 14 pixels. */
  near({ clientX, clientY }) {
    const box = this.plot.getBoundingClientRect();
    const gap = (row) => {
      const at = this.place(row);
      return at ? Math.hypot(at.x - clientX + box.left, at.y - clientY + box.top)
        : Infinity;
    };
    const gaps = this.rows.map(gap);
    const least = Math.min(...gaps);
    return least < 14 ? this.rows[gaps.indexOf(least)] : null;
  }

  /** Where a row's mark is, in pixels of the stage; `null` if out of view. */
  place(row) {
    return row.hidden ? null : place(this.plot, this.answer, row);
  }

  axis(panel, along) {
    return axisOf(this.plot, panel, along);
  }

  /** Whether the user has zoomed. */
  zoomed() {
    return Object.keys(this.ranges()).length > 0;
  }

  /** The ranges that the user has zoomed to, by axis. */
  ranges() {
    const found = {};
    for (const { xaxis, yaxis } of this.answer?.panels ?? []) {
      for (const name of [xaxis, yaxis]) {
        const drawn = this.answer.figure.layout[name]?.range;
        const { range, autorange } = this.plot.layout?.[name] ?? {};
        const moved = drawn ? String(range) !== String(drawn)
          : range && autorange === false;
        if (moved && range) found[name] = range;
      }
    }
    return found;
  }

  resetZoom() {
    const changes = {};
    for (const name of Object.keys(this.ranges())) {
      const drawn = this.answer.figure.layout[name]?.range;
      if (drawn) changes[`${name}.range`] = [...drawn];
      else changes[`${name}.autorange`] = true;
    }
    window.Plotly.relayout(this.plot, changes);
  }

  key(event) {
    if (event.target !== this.stage) return;
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1],
      ArrowDown: [0, 1], Home: [-Infinity, 0], End: [Infinity, 0] };
    if (event.key in steps) this.walk(...steps[event.key]);
    else if (event.key === "Escape") this.leave();
    else if ((event.key === "Enter" || event.key === " ") && this.current) {
      this.on.pin(this.current);
    } else return;
    event.preventDefault();
  }

  /** Moves to a neighbor on the curve, or to the nearest point of another. */
  walk(along, across) {
    const curves = rowsOf(this.rows, (row) => this.place(row) !== null);
    if (!curves.length) return;
    const found = curves.findIndex((rows) => rows.includes(this.current));
    if (found < 0) return this.go(curves[0][0]);
    const rows = curves[found];
    if (along) {
      const next = rows.indexOf(this.current) + along;
      return this.go(rows[Math.min(Math.max(next, 0), rows.length - 1)]);
    }
    const other = curves[(found + across + curves.length) % curves.length];
    const here = this.place(this.current);
    const gap = (row) => Math.abs(this.place(row).x - here.x);
    this.go(other.reduce((a, b) => (gap(b) < gap(a) ? b : a)));
  }

  go(row) {
    this.current = row;
    this.hover(row);
    announce(describe(row, this.answer));
  }

  leave() {
    this.current = null;
    this.hover(null);
  }

  /** Shows the hover label of a row. */
  hover(row) {
    if (!this.listening) return;
    const at = this.rows.indexOf(row);
    const curveNumber = this.plot.data.findIndex(({ customdata }) =>
      Array.isArray(customdata) && customdata.includes(at));
    if (curveNumber < 0) {
      window.Plotly.Fx.unhover(this.plot);
      return;
    }
    const { customdata, xaxis = "x", yaxis = "y" } = this.plot.data[curveNumber];
    window.Plotly.Fx.hover(this.plot,
      [{ curveNumber, pointNumber: customdata.indexOf(at) }], xaxis + yaxis);
  }
}

/** A text in lines of at most so many characters. */
function wrapped(text, most) {
  const lines = [""];
  for (const word of text.split(/ |<br>/)) {
    if (lines.at(-1).length + word.length > most) lines.push("");
    lines.push(`${lines.pop()} ${word}`.trimStart());
  }
  return lines.join("<br>");
}

/** The method that an annotation names, or `""`. */
function named(name) {
  return name?.startsWith("method ") ? name.slice(7) : "";
}

/** A row in words. */
export function describe(row, answer) {
  const panel = answer.panels[row.panel] ?? answer.panels[0];
  const parts = [row.method, row.label,
    `${panel.x_title} ${number(row.x)}`, `${panel.y_title} ${number(row.y)}`];
  if (row.of) parts.push(`${row.seeds} of ${row.of} seeds`);
  if (row.pareto) parts.push("on the Pareto front");
  if (row.reference) parts.push("published");
  return parts.filter(Boolean).join(", ");
}

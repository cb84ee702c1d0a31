/**
 * Scales and ranges of axes: zoomed to in the figure, or typed.
 *
 * Ranges are kept by metric, so that they stay with it on another axis.
 */

import { el } from "./dom.js";

/** Digits of a range: finer than a pointer. */
const DIGITS = 6;

export class Scales {
  constructor(figure, state) {
    this.figure = figure;
    this.state = state;
    this.held = true;
    this.axes = Object.fromEntries(["y", "x"].map((name) =>
      [name, this.axis(name)]));
    this.reset = el("button", { type: "button", class: "plain",
      onclick: () => this.write(this.without()) }, "Full range");
    this.root = el("fieldset", {}, el("details", {},
      el("summary", {}, "Scales and ranges"),
      Object.values(this.axes).map(({ node }) => node),
      el("div", { class: "swap" }, this.reset)));
  }

  axis(name) {
    const log = el("input", { type: "checkbox", onchange: () =>
      this.state.set({ [`${name}scale`]: log.checked ? "log" : "" }) });
    const [low, high] = ["from", "to"].map((end) => el("input",
      { type: "number", step: "any", "aria-label": `${name} ${end}`,
        onchange: () => this.type(name) }));
    const node = el("div", {}, el("label", { class: "check" }, log,
      el("span", {}, `Logarithmic ${name}`)),
    el("div", { class: "range" }, low, el("span", {}, "to"), high));
    return { node, log, low, high };
  }

  /** Ranges by metric, in its values. */
  read() {
    return new Map([...this.state.names("zoom")].map((line) => {
      const at = line.lastIndexOf(":");
      return [line.slice(0, at), line.slice(at + 1).split(",").map(Number)];
    }).filter(([, range]) => range.length === 2 && range.every(isFinite)));
  }

  write(ranges) {
    this.state.set({ zoom: [...ranges].map(([metric, [low, high]]) =>
      `${metric}:${rounded(low)},${rounded(high)}`).join("\n") });
  }

  /** The ranges without those of the shown metrics. */
  without() {
    const ranges = this.read();
    for (const { metric } of this.shown()) ranges.delete(metric);
    return ranges;
  }

  /** Axes of metrics, of all panels. */
  shown() {
    return (this.figure.answer?.panels ?? []).flatMap((panel) =>
      [[panel.xaxis, panel.x], [panel.yaxis, panel.y]])
      .filter(([, metric]) => metric)
      .map(([name, metric]) => ({ name, metric }));
  }

  /** Takes over typed ranges; an invalid one changes nothing. */
  type(name) {
    const { answer } = this.figure;
    const { low, high } = this.axes[name];
    const axis = this.figure.axis(answer.panels[0], name);
    const now = axis.range.map((end) => axis.l2d(axis.r2l(end)));
    const range = [low, high].map((box, end) =>
      box.value === "" ? now[end] : Number(box.value));
    const bad = !(range[0] < range[1]) || (axis.type === "log" && range[0] <= 0);
    low.setCustomValidity(bad ? "The range must increase, and be above 0 on " +
      "a logarithmic axis." : "");
    low.setAttribute("aria-invalid", String(bad));
    if (low.reportValidity()) this.write(this.read().set(answer[name], range));
  }

  /** Before the figure is drawn anew: its ranges are not the user's. */
  hold() {
    this.held = true;
  }

  /** Applies the chosen ranges to a drawn figure. */
  async apply() {
    this.held = true;
    const wanted = this.read();
    const moved = this.figure.ranges();
    const changes = {};
    for (const { name, metric } of this.shown()) {
      const { range, type } = this.figure.plot.layout[name] ?? {};
      const target = wanted.get(metric)?.map((end) =>
        type === "log" ? Math.log10(end) : end);
      if (target?.every(isFinite)) {
        if (!near(range, target)) changes[`${name}.range`] = target;
      } else if (moved[name]) {
        const drawn = this.figure.answer.figure.layout[name]?.range;
        if (drawn) changes[`${name}.range`] = [...drawn];
        else changes[`${name}.autorange`] = true;
      }
    }
    if (Object.keys(changes).length) {
      await window.Plotly.relayout(this.figure.plot, changes);
    }
    this.held = false;
    this.syncBoxes();
  }

  /** Takes over the ranges that the user has zoomed to. */
  note() {
    if (this.held) return;
    const ranges = this.without();
    const moved = this.figure.ranges();
    for (const { name, metric } of this.shown()) {
      const log = this.figure.plot.layout[name]?.type === "log";
      const range = moved[name]?.map((end) => (log ? 10 ** end : Number(end)));
      if (range) ranges.set(metric, range);
    }
    const before = this.read();
    const same = before.size === ranges.size && [...ranges].every(([metric,
      range]) => near(before.get(metric), range));
    if (!same) this.write(ranges);
  }

  sync(answer) {
    this.root.hidden = !answer || answer.panels.length > 1 ||
      !answer.rows.length;
    for (const [name, { log }] of Object.entries(this.axes)) {
      log.checked = this.state.get(`${name}scale`) === "log";
    }
  }

  syncBoxes() {
    const { answer } = this.figure;
    if (!answer || answer.panels.length > 1) return;
    this.reset.disabled = !this.figure.zoomed();
    for (const [name, { low, high }] of Object.entries(this.axes)) {
      const axis = this.figure.axis(answer.panels[0], name);
      if (!axis?.range) continue;
      const now = axis.range.map((end) => axis.l2d(axis.r2l(end)));
      [low, high].forEach((box, end) => {
        if (document.activeElement !== box) box.value = rounded(now[end], 4);
      });
    }
  }
}

function rounded(value, digits = DIGITS) {
  return Number(Number(value).toPrecision(digits));
}

function near(a, b) {
  if (!a || !b) return false;
  const span = Math.abs(b[1] - b[0]) || 1;
  return a.every((end, place) => Math.abs(end - b[place]) < 1e-4 * span);
}

/** Statistics over seeds: a center and its bounds. */

import { el, fill } from "./dom.js";

const CENTERS = [["mean", "Mean"], ["median", "Median"],
  ["iqm", "Interquartile mean"]];
const BOUNDS = [["student", "Student’s interval"],
  ["bootstrap", "Bootstrap interval"], ["range", "Minimum and maximum"]];

export class Aggregates {
  constructor(state) {
    this.state = state;
    const field = (label, control) => el("div", { class: "field" },
      el("label", { for: control.id }, label), control);
    const options = (all) => all.map(([value, title]) =>
      el("option", { value }, title));
    // Student's interval applies to means.
    this.center = el("select", { id: "center", onchange: () => state.set({
      center: this.center.value === "mean" ? "" : this.center.value,
      bounds: this.bounds.value === "range" ? "range" : "" }) },
    options(CENTERS));
    this.bounds = el("select", { id: "bounds",
      onchange: () => state.set({ bounds: this.bounds.value }) });
    this.node = el("div", { class: "aggregates" }, field("Center", this.center),
      field("Bounds", this.bounds));
    this.options = options;
  }

  sync() {
    const { state } = this;
    const center = state.get("center") || "mean";
    this.center.value = center;
    const all = center === "mean" ? BOUNDS : BOUNDS.slice(1);
    fill(this.bounds, this.options(all));
    this.bounds.value = state.get("bounds") || all[0][0];
  }
}

/** The training of one run: where it was at each step. */

import { getJson } from "./api.js";
import { debounce, el, fill, number } from "./dom.js";

export class Trajectory {
  constructor(root, state) {
    this.root = root;
    this.state = state;
    this.settle = debounce((step) => state.set({ step }), 150);
    this.box = el("select", { "aria-label": "Run", onchange: () =>
      state.set({ trajectory: this.box.value, step: "" }) });
    this.slider = el("input", { type: "range", min: "0", step: "1",
      "aria-label": "Step", oninput: () => this.move() });
    this.output = el("output");
    this.facts = el("p", { class: "hint" });
    this.clear = el("button", { type: "button", class: "plain",
      onclick: () => state.set({ trajectory: "", step: "" }) }, "Hide");
    this.row = el("div", { class: "slider" }, this.slider, this.output);
    fill(root, el("header", {}, el("h2", {}, "Training of one run"), this.box,
      this.row, this.clear), this.facts);
    this.points = [];
  }

  async sync(info, answer) {
    const run = this.state.get("trajectory");
    this.options(info);
    this.box.value = run;
    this.row.hidden = this.clear.hidden = !run;
    if (!run) {
      this.key = "";
      this.facts.textContent =
        "Choose a run to see the way it came in the figure, step by step.";
      return;
    }
    const query = this.state.query({ run, x: answer.x, y: answer.y });
    const key = `${query.get("x")} ${query.get("y")} ${run} ${info.rev}`;
    if (key !== this.key) {
      this.key = key;
      try {
        const found = await getJson("trajectory", query);
        if (key !== this.key) return;
        this.points = found.points;
      } catch (error) {
        if (key !== this.key) return;
        this.key = "";
        this.points = [];
        this.facts.textContent = error.message;
        return;
      }
    }
    this.show(answer);
  }

  options(info) {
    const runs = info.runs.map((one) => one.run);
    const wanted = runs.join("\n");
    if (wanted === this.runs) return;
    this.runs = wanted;
    fill(this.box, el("option", { value: "" }, "No run"),
      runs.map((run) => el("option", { value: run }, run)));
  }

  show(answer) {
    const { points, slider, state } = this;
    slider.max = String(Math.max(points.length - 1, 0));
    slider.disabled = points.length < 2;
    const step = state.get("step");
    const at = points.findIndex((point) => String(point.step) === step);
    if (document.activeElement !== slider || at >= 0) {
      slider.value = String(at < 0 ? points.length - 1 : at);
    }
    this.titles = [answer.panels[0]?.x_title, answer.panels[0]?.y_title];
    this.tell();
  }

  move() {
    this.tell();
    const point = this.points[Number(this.slider.value)];
    if (point) this.settle(String(point.step));
  }

  tell() {
    const { points, slider, output, facts } = this;
    const point = points[Number(slider.value)];
    output.textContent = point ? `step ${point.step}` : "";
    slider.setAttribute("aria-valuetext", output.textContent);
    facts.textContent = point
      ? `${this.titles[0]} ${number(point.x)}, ${this.titles[1]} ` +
        `${number(point.y)}; ${points.length} ` +
        `${points.length === 1 ? "step" : "steps"} logged`
      : "No step of this run has both of these metrics.";
  }
}

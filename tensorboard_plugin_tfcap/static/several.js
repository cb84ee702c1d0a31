/** More than two metrics at once: parallel coordinates, and hypervolumes. */

import { Latest } from "./api.js";
import { el, fill, refill } from "./dom.js";
import { copyButtons, signsOf, table } from "./tables.js";

export class Several {
  /** @param {Page} page whose state and answer it follows. */
  constructor(page) {
    this.page = page;
    this.latest = new Latest();
    this.boxes = el("div", { class: "boxes", role: "group",
      "aria-label": "Metrics" });
    this.plot = el("div", { class: "plot" });
    this.plot.setAttribute("aria-hidden", "true");
    this.note = el("p", { class: "notes" });
    this.worst = el("div", { class: "boxes", role: "group",
      "aria-label": "Reference point" });
    this.title = el("h3");
    this.tools = el("span");
    this.table = el("div");
    this.choice = el("summary", {}, "Metrics");
    this.body = el("div", {}, el("details", { class: "choice" }, this.choice,
      this.boxes), this.plot, this.note,
      el("header", { class: "table-head" }, this.title, this.tools),
      this.worst, this.table);
    this.node = el("details", { ontoggle: () => this.toggle() },
      el("summary", {}, "Several metrics at once"), this.body);
  }

  toggle() {
    this.page.state.set({ several: this.node.open ? "1" : "" });
    if (this.node.open) this.load();
  }

  /** Follows another answer of the page. */
  sync() {
    const { answer, state } = this.page;
    const open = state.get("several") === "1";
    if (this.node.open !== open) {
      this.node.open = open;
      return;
    }
    // Pins and the like change nothing here.
    if (open && answer !== this.answer) this.load();
  }

  async load() {
    const { page } = this;
    const { state } = page;
    if (!page.answer) return;
    this.answer = page.answer;
    try {
      const dark = document.documentElement.dataset.theme === "dark";
      const found = await this.latest.getJson("several",
        state.query({ dark: Number(dark) }));
      this.show(found);
      await this.draw(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      fill(this.table, el("p", { class: "notes" }, error.message));
    }
  }

  show({ metrics, table: found, note }) {
    const { page } = this;
    const { state } = page;
    const chosen = metrics.map(({ id }) => id);
    refill(this.boxes, page.info.metrics.map(({ id, title }) => {
      const box = el("input", { type: "checkbox", "data-key": id,
        onchange: () => {
          const wanted = box.checked ? [...chosen, id]
            : chosen.filter((one) => one !== id);
          state.set({ metrics: wanted.join("\n") });
        } });
      box.checked = chosen.includes(id);
      box.disabled = box.checked ? chosen.length < 3 : chosen.length > 7;
      return el("label", { class: "check" }, box, el("span", {}, title));
    }));
    this.choice.textContent = `Metrics: ${chosen.length} of ` +
      `${page.info.metrics.length}`;
    this.note.textContent = note;
    this.title.textContent = found.title[0].toUpperCase() + found.title.slice(1);
    fill(this.tools, found.rows.length
      ? copyButtons("hypervolume", (more) => state.query(more)) : null);
    refill(this.worst, found.rows.length ? [el("span", { class: "hint" },
      "Reference point:"), ...metrics.map((one) => this.input(one))] : null);
    fill(this.table, ...table(found, signsOf(page.answer)));
  }

  input({ id, title, worst }) {
    const box = el("input", { type: "number", step: "any", "data-key": id,
      value: String(worst), onchange: () => this.setWorst(id, box.value) });
    return el("label", {}, el("span", {}, title), box);
  }

  /** An empty one is chosen by the server again. */
  setWorst(metric, value) {
    const { state } = this.page;
    const lines = [...state.names("worst")].filter((line) =>
      line.slice(0, line.lastIndexOf("=")) !== metric);
    if (value) lines.push(`${metric}=${value}`);
    state.set({ worst: lines.join("\n") });
  }

  async draw({ figure: { data, layout } }) {
    if (!window.Plotly) return;
    const color = getComputedStyle(document.body).getPropertyValue("--card");
    const width = Math.max(this.body.clientWidth, 300);
    await window.Plotly.react(this.plot, data, { ...layout, width,
      height: 380 + 26 * Math.min(Math.ceil(data.length * 200 / width), 8),
      autosize: false, paper_bgcolor: color, plot_bgcolor: color },
    { responsive: false, displayModeBar: false });
  }

  /** Follows the width of the page. */
  resize() {
    const width = Math.max(this.body.clientWidth, 300);
    if (!this.node.open || !this.plot.layout) return;
    if (this.plot.layout.width !== width) {
      window.Plotly.relayout(this.plot, { width });
    }
  }
}

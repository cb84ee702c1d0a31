/** The settings that tell curves apart, and the level of intervals. */

import { el, fill, refill } from "./dom.js";

const LEVELS = ["0.5", "0.8", "0.9", "0.95", "0.99"];

/** Which settings tell curves apart: all that vary, or the checked ones. */
export class CurveNames {
  constructor(state) {
    this.state = state;
    this.list = el("ul");
    this.summary = el("summary");
    this.root = el("details", { class: "curve-names" }, this.summary,
      this.list, el("p", { class: "hint" },
        "Runs that differ only in other settings count as repetitions."));
  }

  chosen() {
    return this.state.get("curve").split(/[,\n]/).filter(Boolean);
  }

  sync(info) {
    const names = [["method", "method"],
      ...info.parameters.filter((one) => one.values > 1)
        .map(({ id, title }) => [id, title])];
    const chosen = this.chosen();
    this.root.hidden = names.length < 2;
    this.summary.textContent = `A curve for each: ${chosen.length
      ? chosen.join(", ") : "setting that varies"}`;
    const shown = JSON.stringify([names, chosen]);
    if (shown === this.shown) return;
    this.shown = shown;
    refill(this.list, names.map(([id, title]) => this.item(id, title, chosen)));
  }

  item(id, title, chosen) {
    const box = el("input", { type: "checkbox", checked: chosen.includes(id),
      "data-key": id, onchange: () => {
        const left = this.chosen().filter((name) => name !== id);
        this.state.set({ hide: "", baseline: "",
          curve: [...left, ...box.checked ? [id] : []].join("\n") });
      } });
    return el("li", {}, el("label", { class: "check" }, box,
      el("span", {}, title)));
  }
}

/** The level of intervals, as a select box. */
export function levelBox(state) {
  const box = el("select", { onchange: () => state.set({ level: box.value === "0.95" ? ""
      : box.value }) });
  box.sync = () => {
    const value = state.get("level") || "0.95";
    if (value === box.value) return;
    const all = LEVELS.includes(value) ? LEVELS : [...LEVELS, value].sort();
    fill(box, all.map((level) => el("option", { value: level },
      `${Number((100 * level).toPrecision(4))} %`)));
    box.value = value;
  };
  return box;
}

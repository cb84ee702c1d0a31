/** Optional columns of the table of points. */

import { el, refill } from "./dom.js";

export class Columns {
  constructor(state) {
    this.state = state;
    this.list = el("ul", { class: "columns" });
    this.root = el("details", {}, el("summary", {}, "Columns"), this.list);
  }

  /** Offers metrics and parameters that are not columns already. */
  sync(info, answer) {
    const axes = answer.panels.length > 1 ? [] : [answer.x, answer.y];
    const all = [...info.parameters.map(({ id, title }) => [id, title]),
      ...info.metrics.filter(({ id }) => !axes.includes(id))
        .map(({ id, title }) => [id, title])];
    const chosen = this.state.names("columns");
    const shown = JSON.stringify([all, [...chosen]]);
    this.root.hidden = !all.length;
    if (shown === this.shown) return;
    this.shown = shown;
    refill(this.list, all.map(([id, title]) => this.item(id, title, chosen)));
  }

  item(id, title, chosen) {
    const box = el("input", { type: "checkbox", checked: chosen.has(id),
      "data-key": id, onchange: () => {
        const names = this.state.names("columns");
        if (!names.delete(id)) names.add(id);
        this.state.set({ columns: [...names].join("\n") });
      } });
    return el("li", {}, el("label", { class: "check" }, box,
      el("span", {}, title)));
  }
}

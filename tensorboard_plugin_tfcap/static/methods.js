/** The list of methods: shown or hidden, in focus or gray. */

import { el, icon, refill } from "./dom.js";
import { glyph } from "./glyph.js";

const MOST = 80;
/** Most characters of a list of names in an address. */
const LONGEST_LIST = 20000;
const TARGET = "M8 2.5a5.5 5.5 0 1 0 .01 0ZM8 6.2a1.8 1.8 0 1 0 .01 0Z";

export class Methods {
  /**
   * @param {State} state
   * @param {object} on `point(method or null)`, while one is pointed at.
   */
  constructor(state, on) {
    this.state = state;
    this.on = on;
    this.list = el("ul", { class: "methods" });
    this.clear = el("button", { type: "button", class: "plain",
      onclick: () => state.set({ focus: "" }) }, "All in color");
    this.node = el("div", {}, this.list, this.clear);
  }

  sync(methods) {
    const { state } = this;
    this.clear.hidden = !state.get("focus");
    const wanted = JSON.stringify([methods, state.get("hide"),
      state.get("focus")]);
    if (wanted === this.shown) return;
    this.shown = wanted;
    const more = methods.length - MOST;
    refill(this.list, methods.slice(0, MOST).map((about) => this.row(about)),
      more > 0 ? el("li", { class: "hint" }, `and ${more} more`) : null);
  }

  row(about) {
    const { state } = this;
    const { method } = about;
    const data = (part) => ({ "data-key": `${part} ${method}` });
    const box = el("input", { type: "checkbox", ...data("show"),
      onchange: () => this.toggle(method) });
    box.checked = !state.hidden().has(method);
    const focused = state.names("focus").has(method);
    return el("li", { onpointerenter: () => this.on.point(method),
      onpointerleave: () => this.on.point(null) },
    el("label", { class: "check" }, box, glyph(about), el("span", {}, method)),
    el("button", { type: "button", class: "plain", ...data("focus"),
      "aria-pressed": String(focused), "aria-label": `Focus on ${method}`,
      title: "Focus: gray the others", onclick: () => this.focus(method) },
    icon(TARGET)));
  }

  focus(method) {
    const names = this.state.names("focus");
    if (!names.delete(method)) names.add(method);
    this.state.set({ focus: [...names].join("\n") });
  }

  /** Shows one method alone, or all again; of very many, focuses on it. */
  alone(method, methods) {
    const others = methods.map((one) => one.method)
      .filter((name) => name !== method);
    const hide = others.join("\n");
    if (encodeURIComponent(hide).length > LONGEST_LIST) {
      return this.state.set({ focus: this.state.get("focus") === method ? ""
        : method });
    }
    const isAlone = others.every((name) => this.state.hidden().has(name));
    return this.state.set({ hide: isAlone ? "" : hide });
  }

  toggle(method) {
    const hidden = this.state.hidden();
    if (!hidden.delete(method)) hidden.add(method);
    this.state.set({ hide: [...hidden].join("\n") });
  }
}

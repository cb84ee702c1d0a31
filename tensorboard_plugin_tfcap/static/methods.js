/**
 * Methods: shown or not, in focus or gray, and the look of each.
 *
 * A look that is chosen stands in the address, as `title, color, marker`
 * between tabs, so that links and exports have it, too.
 */

import { el, icon, refill } from "./dom.js";
import { glyph, MARKERS } from "./glyph.js";

const MOST = 80;
/** Letters of a list of names that servers take in an address. */
const LONGEST_LIST = 20000;
const TARGET = "M8 2.5a5.5 5.5 0 1 0 .01 0ZM8 6.2a1.8 1.8 0 1 0 .01 0Z";
const BRUSH = "m3 13 1.4-3.6L11 2.8l2.2 2.2-6.6 6.6ZM9.6 4.2l2.2 2.2";

export class Methods {
  /**
   * @param {State} state
   * @param {object} on `point(method or null)`, while one is pointed at.
   */
  constructor(state, on) {
    this.state = state;
    this.on = on;
    this.open = null;
    this.list = el("ul", { class: "methods" });
    this.clear = el("button", { type: "button", class: "plain",
      onclick: () => state.set({ focus: "" }) }, "All in color");
    this.node = el("div", {}, this.list, this.clear);
  }

  sync(methods) {
    const { state } = this;
    this.clear.hidden = !state.get("focus");
    const wanted = JSON.stringify([methods, state.get("hide"),
      state.get("focus"), state.get("looks"), this.open]);
    if (wanted === this.shown) return;
    this.shown = wanted;
    this.last = methods;
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
    const open = this.open === method;
    return el("li", { onpointerenter: () => this.on.point(method),
      onpointerleave: () => this.on.point(null) },
    el("label", { class: "check" }, box, glyph(about), el("span", {}, method)),
    el("button", { type: "button", class: "plain", ...data("focus"),
      "aria-pressed": String(focused), "aria-label": `Focus on ${method}`,
      title: "Focus: gray the others", onclick: () => this.focus(method) },
    icon(TARGET)),
    el("button", { type: "button", class: "plain", ...data("look"),
      "aria-expanded": String(open), "aria-label": `Look of ${method}`,
      title: "Color and marker", onclick: () => this.edit(method) },
    icon(BRUSH)), open ? this.editor(about, data) : null);
  }

  editor({ method, assigned, symbol }, data) {
    const { state } = this;
    const color = el("input", { type: "color", value: assigned.toLowerCase(),
      "aria-label": `Color of ${method}`, ...data("color"),
      onchange: () => this.look(method, { color: color.value }) });
    const marker = el("select", { "aria-label": `Marker of ${method}`,
      ...data("marker"),
      onchange: () => this.look(method, { marker: marker.value }) },
    MARKERS.map((name) => el("option", { value: name },
      name.replace("-", " "))));
    marker.value = symbol;
    return el("div", { class: "look" }, color, marker, el("button",
      { type: "button", class: "plain", ...data("reset"),
        disabled: !looksOf(state).has(method),
        onclick: () => this.look(method, null) }, "Reset"));
  }

  edit(method) {
    this.open = this.open === method ? null : method;
    this.sync(this.last);
  }

  /** Takes over a part of a look; `null` gives the assigned one back. */
  look(method, change) {
    const looks = looksOf(this.state);
    if (change) looks.set(method, { ...looks.get(method), ...change });
    else looks.delete(method);
    this.state.set({ looks: [...looks].map(([title, { color, marker }]) =>
      [title, color ?? "", marker ?? ""].join("\t")).join("\n") });
  }

  focus(method) {
    const names = this.state.names("focus");
    if (!names.delete(method)) names.add(method);
    this.state.set({ focus: [...names].join("\n") });
  }

  /** One method and no other, then all again; of very many, it is in color. */
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

function looksOf(state) {
  const lines = [...state.names("looks")].map((line) => line.split("\t"));
  return new Map(lines.map((line) => {
    const [color, marker] = line.slice(-2);
    return [line.slice(0, -2).join("\t"), { color, marker }];
  }));
}

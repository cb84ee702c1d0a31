/**
 * The line at a fixed value: a slider for pointer and keyboard.
 *
 * Each panel with the metric of the line has a handle; the keyboard reaches the
 * first, and the others follow.
 */

import { el, number } from "./dom.js";

export class Guide {
  /**
   * @param {Figure} figure whose overlay holds the handles.
   * @param {object} on `input(value)` while it moves, `change(value)` after,
   *   `tap(event)` and `over(event)` for marks under a handle.
   */
  constructor(figure, on) {
    this.figure = figure;
    this.on = on;
    this.handles = [];
    this.value = null;
  }

  /** Shows the line of an answer, or none. */
  sync(answer) {
    this.line = answer.line;
    if (this.dragging) return;
    this.value = answer.line?.value ?? null;
    const panels = this.line ? this.panels(answer) : [];
    const key = JSON.stringify([panels, this.line?.along]);
    if (key !== this.key) {
      const held = this.handles.includes(document.activeElement);
      this.key = key;
      for (const handle of this.handles) handle.remove();
      this.handles = panels.map((panel, i) => this.handle(panel, i === 0));
      this.figure.overlay.append(...this.handles);
      if (held) this.handles[0]?.focus();
    }
    this.layout();
  }

  panels(answer) {
    const { along } = this.line;
    return answer.panels.filter((panel) => panel[along] === answer[along]);
  }

  handle(panel, first) {
    const { along } = this.line;
    const grip = el("span", { class: "grip" });
    const title = panel[`${along}_title`].replace(/ [↑↓]$/, "");
    const handle = el("div", { class: `guide along-${along}` }, grip);
    if (first) {
      Object.entries({ role: "slider", tabindex: "0",
        "aria-label": `Line at a fixed ${title}`,
        "aria-orientation": along === "x" ? "horizontal" : "vertical" })
        .forEach(([name, value]) => handle.setAttribute(name, value));
      handle.addEventListener("keydown", (event) => this.key_(event));
    } else handle.setAttribute("aria-hidden", "true");
    handle.panel = panel;
    handle.grip = grip;
    handle.addEventListener("pointerdown", (event) => this.start(event, handle));
    // A mark below the handle stays reachable.
    handle.addEventListener("pointermove", (event) => {
      if (!this.dragging) this.on.over(event);
    });
    handle.addEventListener("pointerleave", () => this.on.over(null));
    return handle;
  }

  /** Positions the handles at their value. */
  layout() {
    for (const handle of this.handles) {
      const axes = ["x", "y"].map((a) => this.figure.axis(handle.panel, a));
      if (this.value === null || !axes[0]?.l2p) {
        handle.hidden = true;
        continue;
      }
      const isX = this.line.along === "x";
      const [own, other] = isX ? axes : axes.reverse();
      const pixel = own.d2p(this.value);
      handle.hidden = pixel < -1 || pixel > own._length + 1;
      const style = isX
        ? { left: own._offset + pixel, top: other._offset, height: other._length }
        : { top: own._offset + pixel, left: other._offset, width: other._length };
      for (const [name, value] of Object.entries(style)) {
        handle.style[name] = `${value}px`;
      }
      handle.grip.textContent = number(this.value, 4);
      if (handle.getAttribute("role")) this.tell(handle);
    }
  }

  tell(handle) {
    const { low, high } = this.line;
    handle.setAttribute("aria-valuemin", Math.min(low ?? this.value, this.value));
    handle.setAttribute("aria-valuemax", Math.max(high ?? this.value, this.value));
    handle.setAttribute("aria-valuenow", this.value);
    handle.setAttribute("aria-valuetext", number(this.value, 4));
  }

  start(event, handle) {
    if (event.button) return;
    event.preventDefault();
    event.stopPropagation();
    handle.setPointerCapture(event.pointerId);
    handle.focus?.({ preventScroll: true });
    handle.classList.add("dragging");
    this.dragging = true;
    const { clientX, clientY } = event;
    let moved = false;
    const move = (next) => {
      const way = Math.hypot(next.clientX - clientX, next.clientY - clientY);
      moved ||= way > 2;
      if (moved) this.drag(next, handle);
    };
    const stop = () => {
      handle.removeEventListener("pointermove", move);
      handle.classList.remove("dragging");
      this.dragging = false;
      if (moved) this.on.change(this.value);
      else this.on.tap(event);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", stop, { once: true });
  }

  drag(event, handle) {
    const axis = this.figure.axis(handle.panel, this.line.along);
    const box = this.figure.plot.getBoundingClientRect();
    const isX = this.line.along === "x";
    const pixel = isX ? event.clientX - box.left : event.clientY - box.top;
    const inside = Math.min(Math.max(pixel - axis._offset, 0), axis._length);
    this.move(rounded(axis.p2d(inside)));
  }

  move(value) {
    this.value = value;
    this.layout();
    this.on.input(this.value);
  }

  key_(event) {
    const { low, high } = this.line;
    const step = (high - low) / 100 || 0.01;
    const steps = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step,
      ArrowUp: step, PageDown: -10 * step, PageUp: 10 * step };
    let value;
    if (event.key in steps) value = this.value + steps[event.key];
    else if (event.key === "Home") value = low;
    else if (event.key === "End") value = high;
    else return;
    event.preventDefault();
    event.stopPropagation();
    // Not rounded at the ends, which no curve might then reach.
    this.move(Math.min(Math.max(rounded(value), low), high));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.on.change(this.value), 300);
  }
}

/** As fine as a pointer. */
function rounded(value) {
  return Number(value.toPrecision(4));
}

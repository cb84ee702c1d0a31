/** Rings around pinned marks, with the letters of their columns. */

import { el, fill } from "./dom.js";

export class Pins {
  constructor(figure) {
    this.figure = figure;
    this.node = el("div");
    figure.overlay.append(this.node);
    this.rings = [];
  }

  sync(pins) {
    this.rings = pins.flatMap(({ slot, row }) => {
      // The same point, in every panel that has it.
      const rows = this.figure.rows.filter((one) => one.id === row.id);
      return rows.map((one) => ({ row: one, ring: el("div",
        { class: "ring pinned" }, el("b", {}, slot.toUpperCase())) }));
    });
    fill(this.node, this.rings.map(({ ring }) => ring));
    this.layout();
  }

  layout() {
    for (const { row, ring } of this.rings) {
      const place = this.figure.answer && this.figure.place(row);
      ring.hidden = !place;
      if (!place) continue;
      ring.style.left = `${place.x}px`;
      ring.style.top = `${place.y}px`;
    }
  }
}

/** The card of the line at a fixed value, with its tables. */

import { getJson, Steady } from "./api.js";
import { segments } from "./controls.js";
import { bare, el, fill, number } from "./dom.js";
import { fillTables } from "./tables.js";

export class Level {
  /** @param {Page} page whose state and answer it shows. */
  constructor(root, page) {
    const { state } = page;
    this.root = root;
    this.page = page;
    this.asked = new Steady((value) => this.ask(value));
    this.input = el("input", { type: "number", step: "any",
      "aria-label": "The fixed value", onchange: () =>
        state.set({ value: this.input.value }) });
    this.auto = el("button", { type: "button", class: "plain",
      onclick: () => state.set({ value: "" }) }, "Automatic");
    this.along = segments("Line", [["x", ""], ["y", ""], ["off", "Off"]],
      (along) => state.set(along === "off" ? { value: "off" }
        : { along, value: "" }));
    this.offer = el("div", { class: "notice", hidden: true });
    this.tables = el("div", { class: "pair" });
    fill(root, el("header", {}, el("h2", {}, "At a fixed"), this.along,
      this.input, this.auto), this.offer, this.tables);
  }

  sync(answer) {
    const { state } = this.page;
    const { line } = answer;
    ["x", "y"].forEach((along, i) => {
      this.along.querySelectorAll("span")[i].textContent =
        title(answer, along);
    });
    // Several panels have no line, nor have points without curves.
    this.root.hidden = !line && (answer.panels.length > 1 ||
      state.get("value") !== "off");
    this.along.sync(line ? line.along : "off");
    this.input.hidden = this.auto.hidden = !line;
    this.auto.disabled = !state.get("value");
    if (line && document.activeElement !== this.input) {
      this.input.value = Number(line.value.toPrecision(4));
    }
    this.syncOffer(line);
    fillTables(this.tables, answer, (more) => state.query(more));
  }

  /** Offers another level where no curve reaches this one. */
  syncOffer(line) {
    this.offer.hidden = !line?.note;
    if (!line?.note) return;
    const { offer, along, note } = line;
    fill(this.offer, el("p", {}, note), el("button", { type: "button",
      class: "plain", onclick: () => this.page.state.set({ along,
        // Not rounded, which might be beyond the end of the curve.
        value: offer }) }, `Use ${number(offer)}`));
  }

  /** While the line is dragged. */
  async ask(value) {
    const { page } = this;
    const query = page.state.query({ value, along: page.answer.line.along });
    try {
      const { tables, line } = await getJson("tables", query);
      this.input.value = Number(value.toPrecision(4));
      this.syncOffer(line);
      fillTables(this.tables, { ...page.answer, tables },
        (more) => page.state.query({ ...more, value }));
    } catch (error) {
      page.fail(error);
    }
  }
}

function title(answer, along) {
  const panel = answer.panels.find((one) => one[along] === answer[along]);
  return bare((panel ?? answer.panels[0])[`${along}_title`]);
}

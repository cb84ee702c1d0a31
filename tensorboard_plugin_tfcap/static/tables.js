/** Tables of an answer, and the buttons that copy them. */

import { getText } from "./api.js";
import { announce, copy, el, fill, number, refill } from "./dom.js";
import { glyph } from "./glyph.js";

const FORMATS = [
  ["markdown", "Markdown"],
  ["latex", "LaTeX"],
  ["csv", "CSV"],
];

/** Buttons that copy a table as the server formats it. */
export function copyButtons(id, query) {
  return el("span", { class: "tools", role: "group", "aria-label": "Copy as" },
    FORMATS.map(([format, title]) => {
      const button = el("button", { type: "button", class: "plain",
        "aria-label": `Copy as ${title}`, onclick: async () => {
          try {
            const more = { table: id, format };
            copy(await getText("table", query(more)), button);
          } catch (error) {
            announce(error.message);
            button.textContent = "Failed";
            setTimeout(() => (button.textContent = title), 1500);
          }
        } }, title);
      return button;
    }));
}

/** A table, its bold cells, and its notes. */
export function table({ title, head, rows, best = [], notes = [] }, signs) {
  const bold = new Set(best.map(([row, column]) => `${row},${column}`));
  const body = rows.map((cells, row) => el("tr", {}, cells.map((cell, column) =>
    column === 0 ? rowHead(cell, signs)
      : el("td", { class: kind(cell, bold.has(`${row},${column}`)) },
        parts(cell, bold.has(`${row},${column}`))))));
  return [
    el("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-label": title },
    el("table", { class: head.length > 6 ? "dense" : null },
      el("caption", { class: "offstage" }, title),
      el("thead", {}, el("tr", {}, head.map((name, place) =>
        name || place ? el("th", { scope: "col" }, name)
          : el("th", { scope: "col" }, el("span", { class: "offstage" },
            "method"))))),
      el("tbody", {}, body))),
    notes.length ? el("ul", { class: "notes" },
      notes.map((note) => el("li", {}, note))) : null,
  ];
}

/** `"38.1 [37, 39]"`: a number, and its interval in small print. */
function parts(cell, best) {
  const [, value, rest] = /^(\S+)(\s.*)?$/.exec(cell) ?? [null, cell];
  return [best ? el("b", {}, value) : value,
    rest ? el("small", {}, rest) : null];
}

function kind(cell, best) {
  if (best) return "best";
  return ["—", "-", "–"].includes(cell) ? "absent" : null;
}

function rowHead(text, signs) {
  return el("th", { scope: "row" }, glyph(signs.get(text)), text);
}

/** The style of each method, by its name. */
export function signsOf(answer) {
  return new Map((answer.methods ?? []).map((about) => [about.method, about]));
}

/** The figure as a table: its rows, each with a button that pins it. */
export class PointTable {
  constructor(onpin) {
    this.onpin = onpin;
    this.head = el("tr");
    this.body = el("tbody");
    this.rest = el("p", { class: "notes" });
    // Kept, with its scroll position; only its content is replaced.
    this.root = el("div", { class: "scroll tall", tabindex: "0",
      role: "region", "aria-label": "The figure as a table" },
    el("table", {}, el("caption", { class: "offstage" }, "Points of the figure"),
      el("thead", {}, this.head), this.body), this.rest);
  }

  sync(answer, pins) {
    const many = answer.panels.length > 1;
    const all = answer.rows.filter((row) => !row.hidden);
    const shown = all.slice(0, 500);
    fill(this.head, answer.head.map(({ title }) =>
      el("th", { scope: "col" }, title)),
    many ? el("th", { scope: "col" }, "panel") : null,
    el("th", { scope: "col" }, el("span", { class: "offstage" }, "pin")));
    refill(this.body, shown.map((row) => this.row(row, answer, pins, many)));
    this.rest.hidden = all.length === shown.length;
    this.rest.textContent = `The first ${shown.length} of ${all.length} ` +
      "points; Export writes all as CSV.";
  }

  row(row, answer, pins, many) {
    return el("tr", { class: pins.includes(row.id) ? "current" : null },
      answer.head.map((head, place) => place ? el("td", {}, cell(row, head))
        : el("th", { scope: "row" }, cell(row, head))),
      many ? el("td", {}, answer.panels[row.panel]?.title ?? "") : null,
      el("td", {}, row.runs.length ? pinButton(row, pins, this.onpin) : null));
  }
}

function cell(row, { id, extra }) {
  const value = extra ? row.columns?.[id] : row[id] ?? row.params?.[id];
  if (id === "seeds" && row.of) return `${row.seeds} of ${row.of}`;
  // An integer may be a name, such as the id of a job.
  return Number.isInteger(value) ? String(value) : number(value);
}

function pinButton(row, pins, onpin) {
  const pinned = pins.includes(row.id);
  return el("button", { type: "button", class: "plain",
    "data-key": `${row.panel} ${row.id}`,
    "aria-pressed": String(pinned), "aria-label":
      `${pinned ? "Unpin" : "Pin"} ${row.method} ${row.label ?? ""}`,
    onclick: () => onpin(row) }, pinned ? "Unpin" : "Pin");
}

/** Shows tables side by side. */
export function fillTables(node, answer, query) {
  const signs = signsOf(answer);
  const [first, ...others] = answer.tables ?? [];
  // Notes of both tables appear once.
  const rest = others.map((one) => ({ ...one, notes: one.notes.filter((note) =>
    !first.notes.includes(note)) }));
  fill(node, [first, ...rest].filter(Boolean).map((one) => el("section", {},
    el("header", { class: "table-head" }, el("h3", {}, one.title),
      copyButtons(one.id, query)),
    ...table(one, signs))));
}

/** Filters by parameter: one of its values, or a range. */

import { el, fill } from "./dom.js";

const CONDITION = /^(.+?)(>=|<=|=)(.*)$/s;
/** Most rows that are shown at first, and most values of a list. */
const MOST = 6;
const MOST_VALUES = 60;

export class Filters {
  constructor(state) {
    this.state = state;
    this.open = new Set();
    this.rows = [];
    this.list = el("div");
    this.clear = el("button", { type: "button", class: "plain",
      onclick: () => {
        this.open.clear();
        state.set({ where: "" });
      } }, "Clear");
    this.root = el("fieldset", { class: "filters" },
      el("legend", {}, "Filter by parameter"), this.list,
      el("div", { class: "swap" }, this.clear));
  }

  /** Conditions by parameter: `{value, low, high}`, values by line. */
  read() {
    const found = new Map();
    for (const line of this.state.names("where")) {
      const [, name, sign, text] = CONDITION.exec(line) ?? [];
      if (!name) continue;
      const key = { "=": "value", ">=": "low", "<=": "high" }[sign];
      const had = found.get(name) ?? {};
      // A link may have several values of a parameter.
      found.set(name, { ...had, [key]: sign === "=" && had.value !== undefined
        ? `${had.value}\n${text}` : text });
    }
    return found;
  }

  /** An empty string is a value; without a value, there is no condition. */
  write(name, { value, low = "", high = "" }) {
    const all = this.read().set(name, { value, low, high });
    const signs = [["value", "="], ["low", ">="], ["high", "<="]];
    this.state.set({ where: [...all].flatMap(([one, is]) =>
      signs.filter(([key]) => key === "value" ? is.value !== undefined
        : is[key]).flatMap(([key, sign]) =>
        is[key].split("\n").map((text) => `${one}${sign}${text}`)))
      .join("\n") });
  }

  sync(info) {
    const all = varying(info);
    const shown = JSON.stringify(all);
    if (shown !== this.shown) {
      this.shown = shown;
      this.rows = all.map((about) => this.row(about));
      const more = this.rows.slice(MOST);
      fill(this.list, this.rows.slice(0, MOST).map(({ node }) => node),
        more.length ? el("details", {},
          el("summary", {}, `${more.length} more parameters`),
          more.map(({ node }) => node)) : null);
    }
    const wanted = this.read();
    this.root.hidden = !all.length;
    this.clear.hidden = !wanted.size;
    for (const row of this.rows) this.syncRow(row, wanted.get(row.id) ?? {});
  }

  row({ id, title, values, numeric }) {
    const offered = values.slice(0, MOST_VALUES);
    const box = el("select", { "aria-label": `Filter by ${title}`,
      onchange: () => {
        this.open.delete(id);
        if (box.value === "range") this.open.add(id);
        this.write(id, box.value.startsWith("=")
          ? { value: box.value.slice(1) } : {});
        this.syncRow(this.rows.find((row) => row.id === id),
          this.read().get(id) ?? {});
      } },
    el("option", { value: "" }, "All"),
    numeric && values.length > 2 ? el("option", { value: "range" },
      "Range") : null,
    offered.map((value) => el("option", { value: `=${value}` },
      value || "(empty)")));
    const bound = (name, place) => el("input", { type: "number", step: "any",
      "aria-label": `${name} ${title}`, placeholder: values[place],
      onchange: () => this.write(id, { low: low.value, high: high.value }) });
    const low = bound("Minimum", 0);
    const high = bound("Maximum", values.length - 1);
    const range = el("div", { class: "range" }, low, el("span", {}, "to"), high);
    const node = el("div", {}, el("div", { class: "field" },
      el("span", { class: "label" }, title), box), range);
    return { id, node, box, low, high, range, offered };
  }

  syncRow({ id, box, low, high, range, offered }, { value, low: from = "",
    high: to = "" }) {
    if (from || to) this.open.add(id);
    const isRange = this.open.has(id);
    const one = value !== undefined;
    if (one && !offered.includes(value)) {
      offered.push(value);
      box.append(el("option", { value: `=${value}` },
        value.split("\n").join(" or ")));
    }
    box.value = one ? `=${value}` : isRange ? "range" : "";
    range.hidden = !isRange || one;
    if (document.activeElement !== low) low.value = from;
    if (document.activeElement !== high) high.value = to;
  }
}

/** Parameters with several values, and the seed, with sorted values. */
export function varying(info) {
  const titles = new Map(info.parameters.map(({ id, title }) => [id, title]));
  const found = [...titles].map(([id, title]) => ({ id, title,
    all: info.runs.map((run) => run.params?.[id]) }));
  if (!titles.has("seed")) {
    found.push({ id: "seed", title: "seed",
      all: info.runs.map((run) => number(run.seed)) });
  }
  return found.map(({ id, title, all }) => {
    const values = [...new Set(all.filter((one) => one !== undefined &&
      one !== null))];
    const numeric = values.every((one) => typeof one === "number");
    values.sort(numeric ? (a, b) => a - b : undefined);
    return { id, title, numeric, values: values.map(String) };
  }).filter(({ values, numeric }) => values.length > 1 &&
    (numeric || values.length <= MOST_VALUES));
}

/** A seed as a number, if that is written like the seed. */
function number(seed) {
  return String(Number(seed)) === seed ? Number(seed) : seed;
}

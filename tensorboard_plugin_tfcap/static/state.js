/**
 * All choices of the user, as strings by key.
 *
 * An empty value is the default, which the server knows; other values are in
 * the address, so that a link shows what its sender saw.
 */

import * as host from "./host.js";

/** Choices that are sent to the server. */
const ASKED = [
  "source", "x", "y", "order", "runs", "at", "by", "seeds", "level", "preset",
  "usual", "refs", "pareto", "along", "value", "baseline", "labels", "group",
  "curve", "higher", "lower", "hide", "where", "columns",
  "xscale", "yscale", "focus", "names", "center", "bounds",
];
/** Choices of the page: pins, their runs and page; live; ranges. */
const OWN = ["a", "arun", "b", "brun", "page", "live", "table",
  "zoom"];

/** Defaults of the page. */
const USUAL = { along: "x", seeds: "points" };

/** Choices of methods and parameters, which depend on the grouping. */
export const OF_RUNS = ["order", "where", "columns", "curve", "hide",
  "baseline", "focus"];

/** Choices that determine what a log contains. */
export const OF_LOG = ["source", "group", "curve", "higher", "lower"];

const KEYS = [...ASKED, ...OWN];

export class State extends EventTarget {
  constructor() {
    super();
    this.values = {};
    this.read();
  }

  get(key) {
    return this.values[key] ?? "";
  }

  /** The choice, or the default of the page. */
  usual(key) {
    return this.get(key) || USUAL[key];
  }

  /** Changes choices, writes the address, and dispatches a change event. */
  set(changes) {
    const changed = {};
    for (const [key, wanted] of Object.entries(changes)) {
      const value = String(wanted ?? "");
      if (value !== this.get(key)) changed[key] = value;
    }
    const keys = Object.keys(changed);
    if (!keys.length) return;
    Object.assign(this.values, changed);
    host.writeAddress(changed);
    this.tell(keys);
  }

  /** Reads the address, which may change while the page is open. */
  read() {
    const found = host.readAddress();
    const filter = host.hostRunFilter();
    const keys = KEYS.filter((key) => this.get(key) !== (found[key] ?? ""));
    if (filter !== this.hostFilter && !found.runs) keys.push("runs");
    this.hostFilter = filter;
    for (const key of KEYS) this.values[key] = found[key] ?? "";
    if (keys.length) this.tell(keys);
  }

  tell(keys) {
    const ours = keys.every((key) => OWN.includes(key));
    this.dispatchEvent(new CustomEvent("change", { detail: { keys, ours } }));
  }

  /** The run filter, and whether it is TensorBoard's own. */
  filter() {
    const own = this.get("runs");
    return { text: own || this.hostFilter, borrowed: !own && !!this.hostFilter };
  }

  /** Sets the filter; an empty one overrides TensorBoard's. */
  setFilter(text) {
    this.set({ runs: text || (this.hostFilter ? ".*" : "") });
  }

  /** Shows all runs. */
  clearFilters() {
    this.set({ runs: this.hostFilter ? ".*" : "", where: "" });
  }

  /** The methods that are not shown. */
  hidden() {
    return this.names("hide");
  }

  /** The names of a list. */
  names(key) {
    return new Set(this.get(key).split("\n").filter(Boolean));
  }

  /** The query of the state. */
  logQuery(more = {}) {
    const query = new URLSearchParams(more);
    for (const key of OF_LOG) {
      if (this.get(key)) query.set(key, this.get(key));
    }
    return query;
  }

  /** The query of the figure and its tables. */
  query(more = {}) {
    const query = new URLSearchParams();
    for (const key of ASKED) {
      if (this.get(key)) query.set(key, this.get(key));
    }
    if (this.filter().text) query.set("runs", this.filter().text);
    // There is a line unless it was switched off.
    if (this.get("value") === "off") query.delete("value");
    else if (!this.get("value")) query.set("value", "auto");
    for (const [key, value] of Object.entries(USUAL)) {
      // A preset has a line of its own.
      const own = key === "along" && this.get("preset");
      if (!query.has(key) && !own) query.set(key, value);
    }
    for (const [key, value] of Object.entries(more)) query.set(key, value);
    return query;
  }
}

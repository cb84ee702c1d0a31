/** What was found in a log, for those who see it the first time. */

import { el, fill } from "./dom.js";

const KEY = "tfcap_tradeoff.found";
/** Parameters that are named. */
const MOST = 6;

export class Found {
  constructor(root) {
    this.root = root;
    root.setAttribute("aria-label", "What was found");
    this.closed = read();
  }

  sync(info, answer) {
    this.root.hidden = this.closed || !info.runs.length || !answer.rows.length;
    const shown = JSON.stringify([this.root.hidden, facts(info), info.told_by,
      answer.x, answer.y, answer.order]);
    if (shown === this.shown) return;
    this.shown = shown;
    if (this.root.hidden) return;
    fill(this.root, el("header", {}, el("strong", {}, facts(info)),
      el("span", { class: "tools" }, el("button", { type: "button",
        class: "plain", onclick: () => this.close() }, "Got it"))),
    el("p", {}, settings(info)), el("p", { class: "hint" }, advice(info)));
  }

  close() {
    this.closed = this.root.hidden = true;
    try {
      localStorage.setItem(KEY, "1");
    } catch {
      // Where nothing may be stored, it is shown again.
    }
  }
}

function read() {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
}

function count(number, word) {
  return `${number} ${word}${number === 1 ? "" : "s"}`;
}

function facts(info) {
  const seeds = new Set(info.runs.map((run) => run.seed)
    .filter((seed) => seed !== null && seed !== undefined));
  return [count(info.runs.length, "run"), count(info.methods.length, "curve"),
    count(info.metrics.length, "metric"),
    count(info.parameters.length, "parameter"),
    seeds.size ? count(seeds.size, "seed") : "no seeds"].join(", ");
}

function settings({ parameters, told_by: sources, source }) {
  if (!parameters.length) {
    return "No settings of runs were found: name them like " +
      "psst/k=0.1,seed=2, log HParams, or choose a pattern under “Group by”.";
  }
  const named = parameters.slice(0, MOST).map(({ title, values }) =>
    values === 1 ? `${title} (the same in all)` : `${title} (${values} values)`);
  if (parameters.length > MOST) named.push(`${parameters.length - MOST} more`);
  const from = source === "scalars" && sources?.length
    ? ` They are read from ${sources.join(" and ")}.` : "";
  return `Parameters: ${named.join(", ")}.${from}`;
}

function advice(info) {
  return "Choose on the left two metrics as axes, the parameter by which " +
    "points are joined, and what tells curves apart" +
    (info.source === "scalars" ? ", or another way to group runs" : "") +
    "; the address keeps every choice.";
}

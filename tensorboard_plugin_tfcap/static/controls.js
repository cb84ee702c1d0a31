/** The column of controls. */

import { Aggregates } from "./aggregates.js";
import { CurveNames, levelBox } from "./curves.js";
import { debounce, el, fill, icon, refill } from "./dom.js";
import { Filters } from "./filters.js";
import { Methods } from "./methods.js";
import { OF_RUNS } from "./state.js";

const CHECKPOINTS = [
  ["last", "Last"],
  ["best", "Best"],
  ["common", "Common"],
  ["finished", "Finished"],
];
const SEEDS = [
  ["interval", "Interval"],
  ["band", "Band"],
  ["points", "Seeds"],
  ["none", "None"],
];

let serial = 0;

/** A control with its label. */
function field(label, control) {
  control.id ||= `control-${++serial}`;
  return el("div", { class: "field" },
    el("label", { for: control.id }, label), control);
}

/** A select box whose options may change. */
function select(onchange) {
  const box = el("select", { onchange: () => onchange(box.value) });
  let shown = "";
  box.sync = (options, value) => {
    const wanted = JSON.stringify(options);
    if (wanted !== shown) {
      shown = wanted;
      fill(box, options.map(([id, title]) => el("option", { value: id }, title)));
    }
    if (document.activeElement !== box || box.value !== value) {
      box.value = value;
    }
  };
  return box;
}

/** Choices side by side: radio buttons. */
export function segments(label, choices, onchange) {
  const name = `segments-${++serial}`;
  const inputs = choices.map(([value]) =>
    el("input", { type: "radio", name, value, onchange: () => onchange(value) }));
  const group = el("div", { class: "segments", role: "radiogroup",
    "aria-label": label },
  choices.map(([, title], place) =>
    el("label", {}, inputs[place], el("span", {}, title))));
  group.sync = (value) => {
    for (const input of inputs) input.checked = input.value === value;
  };
  return group;
}

/** The end of a long name, where names in one folder differ. */
function shortened(title) {
  return title.length > 34 ? `…${title.slice(-33)}` : title;
}

function check(label, onchange) {
  const box = el("input", { type: "checkbox",
    onchange: () => onchange(box.checked) });
  const row = el("label", { class: "check" }, box, el("span", {}, label));
  row.sync = (value) => (box.checked = value);
  return row;
}

function group(title, ...children) {
  return el("fieldset", {}, el("legend", {}, title), ...children);
}

export class Controls {
  constructor(root, state, on) {
    this.state = state;
    const set = (key) => (value) => state.set({ [key]: value });
    this.y = select((value) => state.set({ y: value }));
    this.x = select((value) => state.set({ x: value, ...this.single() }));
    for (const box of [this.x, this.y]) box.classList.add("long");
    this.order = select(set("order"));
    this.presets = el("div", { class: "presets" });
    this.at = segments("Checkpoint", CHECKPOINTS, set("at"));
    this.by = select(set("by"));
    [this.xBetter, this.yBetter, this.byBetter] = ["x", "y", "by"].map((key) =>
      select((better) => this.direct(this.shown[key], better)));
    this.byField = el("div", {}, field("Best by", this.by),
      field("Best is", this.byBetter));
    this.seeds = segments("Seeds", SEEDS, set("seeds"));
    this.labels = check("Labels at points", this.flag("labels", true));
    this.pareto = check("Pareto front", this.flag("pareto", false));
    this.refs = check("Published points", this.flag("refs", false));
    this.baseline = select(set("baseline"));
    this.names = check("Names at curves", this.flag("names", true));
    this.methods = new Methods(state, on);
    this.aggregates = new Aggregates(state);
    this.filters = new Filters(state);
    this.curves = new CurveNames(state);
    this.level = levelBox(state);
    this.levelField = field("Level", this.level);
    this.scales = el("div");
    fill(root, ...this.axisControls(), this.scales, ...this.runControls(),
      this.filters.root, group("Methods", this.methods.node, this.curves.root),
      group("Seeds", this.seeds, this.aggregates.node, this.levelField),
      group("Checkpoint", this.at, this.byField),
      group("Show", this.names, this.labels, this.pareto, this.refs,
        field("Differences", this.baseline)));
  }

  single() {
    // A choice of an axis leaves the preset, and keeps the other axis.
    return this.state.get("preset") ? { preset: "",
      y: this.state.get("y") || this.shown.y } : {};
  }

  /** Sets the better direction of a metric. */
  direct(metric, better) {
    this.state.set(Object.fromEntries(["higher", "lower"].map((key) => {
      const names = this.state.names(key);
      names.delete(metric);
      if (key === better) names.add(metric);
      return [key, [...names].join("\n")];
    })));
  }

  flag(key, usual) {
    return (on) =>
      this.state.set({ [key]: on === usual ? "" : String(Number(on)) });
  }

  axisControls() {
    const swap = el("button", { class: "plain", type: "button",
      // The line keeps its metric, so that no value changes.
      onclick: () => this.state.set({ ...this.single(), x: this.shown.y,
        y: this.shown.x,
        along: this.state.usual("along") === "x" ? "y" : "x" }) },
    icon("M5 13V3M5 3 2.5 5.5M5 3l2.5 2.5M11 3v10m0 0 2.5-2.5M11 13l-2.5-2.5"),
    "Swap axes");
    this.swap = swap;
    return [
      group("Axes", field("Vertical", this.y),
        field("y is better", this.yBetter), field("Horizontal", this.x),
        field("x is better", this.xBetter),
        el("div", { class: "swap" }, swap), field("Joined by", this.order),
        this.usualField = field("Value", this.usual = select((value) =>
          this.state.set({ usual: value })))),
      this.presetGroup = group("Presets", this.presets),
    ];
  }

  runControls() {
    const { state } = this;
    const later = debounce(() => state.setFilter(this.filter.value.trim()), 300);
    this.filter = el("input", { type: "search", spellcheck: "false",
      autocomplete: "off", placeholder: "Regular expression", id: "run-filter",
      "aria-label": "Filter runs by a regular expression",
      "aria-describedby": "run-filter-hint", oninput: later });
    this.filterHint = el("span", { class: "hint", id: "run-filter-hint" });
    // Another grouping has other parameters.
    const regroup = (group) => state.set({ ...Object.fromEntries(
      OF_RUNS.map((key) => [key, ""])), group });
    this.grouping = select((value) =>
      regroup(value === "regex" ? "(?P<method>[^/]+)" : value));
    this.regex = el("input", { type: "text", spellcheck: "false",
      onchange: () => regroup(this.regex.value.trim() || "run") });
    this.groupField = field("Group by", this.grouping);
    this.regexField = field("Pattern", this.regex);
    this.groupHint = el("span", { class: "hint" },
      "Named groups: (?P<method>…), (?P<seed>…); any other is a parameter.");
    return [
      group("Runs", this.filter, this.filterHint, this.groupField,
        this.regexField, this.groupHint),
    ];
  }

  /** Shows the choices and their options. */
  sync(info, answer, failure) {
    const { state } = this;
    const value = (key) => state.get(key) || info.defaults?.[key] || "";
    const metrics = info.metrics.map((m) => [m.id, shortened(m.title) +
      ({ lower: " ↓", higher: " ↑" }[m.better] ?? "")]);
    const invalid = state.filter().text && /`runs`/.test(failure?.message ?? "");
    this.filter.setAttribute("aria-invalid", String(Boolean(invalid)));
    const preset = info.presets?.find((one) => one.panels &&
      one.id === state.get("preset"));
    this.shown = { x: answer?.x ?? value("x"), y: answer?.y ?? value("y"),
      by: value("by") };
    for (const key of ["x", "y", "by"]) {
      this.syncBetter(this[`${key}Better`],
        info.metrics.find((m) => m.id === this.shown[key]));
    }
    for (const [key, box] of Object.entries({ x: this.x, y: this.y })) {
      box.title = info.metrics.find((m) => m.id === this.shown[key])?.title ?? "";
    }
    this.x.sync(preset ? [["", "Each in its panel"], ...metrics] : metrics,
      preset ? "" : state.get("x") || this.shown.x);
    this.y.sync(metrics, state.get("y") || this.shown.y);
    this.swap.disabled = Boolean(preset);
    this.xBetter.disabled ||= Boolean(preset);
    this.order.sync([...info.defaults?.order ? [] : [["", "Nothing"]],
      ...info.parameters.map((p) => [p.id, p.title])],
      state.get("order") || answer?.order || value("order"));
    this.syncUsual(info, preset);
    this.at.sync(value("at") || "last");
    this.by.sync(metrics, value("by"));
    this.byField.hidden = value("at") !== "best";
    this.seeds.sync(state.usual("seeds"));
    this.level.sync();
    this.levelField.hidden = state.get("bounds") === "range";
    this.filters.sync(info);
    this.curves.sync(info);
    this.names.sync(state.get("names") !== "0");
    this.aggregates.sync();
    this.labels.sync(state.get("labels") !== "0");
    this.pareto.sync(state.get("pareto") === "1");
    this.refs.sync(state.get("refs") === "1");
    this.syncPublished(answer?.published);
    // The methods that are drawn, and the chosen one, which may be filtered.
    const baseline = state.get("baseline");
    const drawn = answer?.methods.map((one) => one.method) ?? info.methods;
    const titles = new Set([...drawn ?? [], baseline].filter(Boolean));
    this.baseline.sync([["", "None"], ...[...titles].map((m) =>
      [m, `to ${m}`])], baseline);
    this.syncPresets(info);
    this.syncRuns(info, answer);
    this.methods.sync(answer?.methods ?? []);
  }

  /** Shown only if there are published points of these metrics and data. */
  syncPublished(published) {
    this.refs.hidden = !published?.count;
    if (this.refs.hidden) return;
    const { data, here } = published;
    const of = data.length ? ` (on ${data.join(", ")})` : "";
    this.refs.lastChild.textContent = `Published points${of}`;
    this.refs.title = here ? `This log is of ${here}.`
      : "The data set of this log is unknown.";
  }

  syncBetter(box, metric) {
    const known = metric && metric.better !== "unknown";
    box.disabled = !metric;
    box.sync([...known ? [] : [["unknown", "Unknown"]],
      ["higher", "Higher"], ["lower", "Lower"]], metric?.better ?? "unknown");
  }

  syncUsual(info, preset) {
    const [name] = Object.keys(preset?.usual ?? {});
    const values = new Set(info.runs.map((run) => run.params?.[name])
      .filter((value) => value !== undefined && value !== null));
    this.usualField.hidden = values.size < 2;
    const title = info.parameters.find((one) => one.id === name)?.title;
    const all = [...values].sort((a, b) => a - b).map(String);
    this.usual.sync([["", `Default ${title ?? ""}`],
      ...all.map((x) => [x, `${title} = ${x}`])], this.state.get("usual"));
  }

  syncPresets(info) {
    const presets = info.presets ?? [];
    this.presetGroup.hidden = !presets.length;
    const on = presets.filter((one) => this.isOn(one)).map(({ id }) => id);
    const shown = JSON.stringify([presets, on]);
    if (shown === this.presetsShown) return;
    this.presetsShown = shown;
    refill(this.presets, presets.map((preset) =>
      el("button", { type: "button", class: "preset", "data-key": preset.id,
        "aria-pressed": String(on.includes(preset.id)),
        onclick: () => this.usePreset(preset) }, preset.title)));
  }

  /** Whether a preset is drawn: its panels, or its axes and line. */
  isOn({ id, panels, x, y, value }) {
    if (panels || this.state.get("preset")) {
      return this.state.get("preset") === id;
    }
    return x === this.shown.x && y === this.shown.y &&
      (value === undefined || String(value) === this.state.get("value"));
  }

  usePreset(preset) {
    const { id, x, y, along, value, panels } = preset;
    const isOn = this.state.get("preset") === id;
    if (panels) this.state.set({ preset: isOn ? "" : id, x: "", value: "" });
    else this.state.set({ preset: "", x, y, along, value });
  }

  syncRuns(info, answer) {
    const { text, borrowed } = this.state.filter();
    if (document.activeElement !== this.filter) this.filter.value = text;
    const all = info.runs.length;
    const shown = answer?.rows
      ? new Set(answer.rows.filter((row) => !row.hidden)
        .flatMap((row) => row.runs.map((run) => run.run))).size
      : all;
    this.filterHint.textContent = `${shown} of ${all} runs shown` +
      (borrowed ? ", by TensorBoard’s run filter" : "");
    const isScalars = info.source === "scalars";
    const grouping = this.state.get("group") || info.defaults?.group || "";
    const isRegex = !["auto", "hparams", "run", ""].includes(grouping);
    this.groupField.hidden = !isScalars;
    this.regexField.hidden = this.groupHint.hidden = !isScalars || !isRegex;
    this.grouping.sync([["auto", "Automatic"],
      ["hparams", "HParams only"], ["run", "Each run separately"],
      ["regex", "Pattern in the run name"]], isRegex ? "regex" : grouping);
    if (document.activeElement !== this.regex) this.regex.value = grouping;
  }
}

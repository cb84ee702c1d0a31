/**
 * The page: combines its parts, and asks the server when a choice or the data
 * change.
 */

import { getJson, keepVersion, Latest, loadPlotly } from "./api.js";
import { Columns } from "./columns.js";
import { Controls, segments } from "./controls.js";
import { announce, bare, debounce, el, fill } from "./dom.js";
import { exportMenu } from "./exporting.js";
import { Figure } from "./figure.js";
import { Guide } from "./guide.js";
import * as host from "./host.js";
import { Level } from "./level.js";
import { Live } from "./live.js";
import { Pins } from "./pins.js";
import { Samples } from "./samples.js";
import { Scales } from "./scales.js";
import { OF_LOG, OF_RUNS, State } from "./state.js";
import { emptyState, errorState, loadingState, noMatchState, notice }
  from "./states.js";
import { copyButtons, PointTable, signsOf, table } from "./tables.js";

const NOTHING = { runs: [], metrics: [], parameters: [], presets: [],
  sources: [], notices: [] };

export class Page {
  constructor(root) {
    this.state = new State();
    this.latest = new Latest();
    this.build(root);
    this.theme();
  }

  build(root) {
    const { state } = this;
    const part = (tag, name, more = {}) => el(tag, { class: name, ...more });
    this.status = part("p", "status");
    this.sources = el("div");
    this.side = part("nav", "side", { "aria-label": "Controls" });
    this.more = part("button", "more", { type: "button", onclick: () =>
      this.showSide(this.more.getAttribute("aria-expanded") !== "true") });
    this.more.append("Controls");
    this.notices = part("div", "notices");
    this.instead = part("div", "instead");
    fill(this.instead, loadingState());
    this.columns = new Columns(state);
    this.stage = part("div", "stage", { tabindex: "0", role: "application",
      "aria-roledescription": "chart", "aria-label": "Figure" });
    this.heading = el("h2");
    this.zoomOut = el("button", { type: "button", class: "plain", hidden: true,
      onclick: () => this.figure.resetZoom() }, "Reset zoom");
    this.down = el("button", { type: "button", class: "plain", hidden: true,
      onclick: () => this.goDown() });
    this.remarks = part("details", "notes remarks");
    this.level = part("section", "card");
    this.area = part("section", "card");
    this.pinned = part("section", "card");
    this.points = el("details", { ontoggle: () => this.syncPoints() },
      el("summary", {}, "The figure as a table"), this.columns.root);
    this.body = el("div", { class: "body" },
      el("section", { class: "card figure" },
        el("header", {}, this.heading, el("span", { class: "tools" },
          this.down, this.zoomOut)), this.stage, this.remarks),
      this.level, this.pinned, this.area,
      el("section", { class: "card" }, this.points));
    this.live = new Live(this);
    fill(root, el("div", { class: "frame" },
      el("header", { class: "bar" }, el("h1", {}, "Trade-off"), this.more,
        this.sources, this.status, this.live.toggle, exportMenu(this)), this.side,
      el("main", { class: "main", tabindex: "-1" }, this.notices, this.instead,
        this.body)),
    el("p", { id: "announcer", class: "offstage", role: "status" }));
    this.body.hidden = this.side.hidden = true;
    this.showSide(false);
    this.controls = new Controls(this.side, state, this);
    this.figure = new Figure(this.stage, {
      hover: (row) => this.hover(row),
      pin: (row) => this.samples.pin(row),
      legend: (method, alone) => this.legend(method, alone),
      layout: () => this.layout(),
      choose: (method) => this.controls.methods.focus(method),
    });
    this.scales = new Scales(this.figure, state);
    this.controls.scales.append(this.scales.root);
    this.guide = new Guide(this.figure, {
      input: (value) => this.levels.asked.run(value),
      change: (value) => state.set({ value, along: this.answer.line.along }),
      tap: (event) => {
        const row = this.figure.near(event);
        if (row) this.samples.pin(row);
      },
      over: (event) => this.figure.hover(event && this.figure.near(event)),
    });
    this.pins = new Pins(this.figure);
    this.samples = new Samples(this.pinned, state);
    this.table = new PointTable((row) => this.samples.pin(row));
    this.points.append(this.table.root);
    this.levels = new Level(this.level, this);
  }

  /** Shows or hides the controls, which a narrow window hides at first. */
  showSide(open) {
    this.more.setAttribute("aria-expanded", String(open));
    this.side.classList.toggle("open", open);
  }

  async start() {
    this.state.addEventListener("change", ({ detail }) => this.changed(detail));
    host.watchHost({ onTheme: () => this.theme(),
      onAddress: () => this.state.read(), onReload: () => this.live.check() });
    const fit = debounce(() => host.isHidden() || this.figure.resize(), 80);
    new ResizeObserver(fit).observe(this.stage);
    await this.load();
    this.live.start();
  }

  /** Loads the state and the figure. */
  async load() {
    // Loaded while the log is read, since it is large.
    loadPlotly().catch(() => null);
    try {
      const info = await this.askState();
      if (!info) return;
      this.setInfo(info);
    } catch (error) {
      return this.fail(error);
    }
    await this.refresh();
  }

  /** The state, or `null` if another one has been requested since. */
  async askState(more = {}) {
    const wanted = () => String(this.state.logQuery(more));
    const asked = wanted();
    try {
      const info = await getJson("state", asked);
      return asked === wanted() ? info : null;
    } catch (error) {
      if (asked === wanted()) throw error;
      return null;
    }
  }

  setInfo(info) {
    const old = this.info;
    this.info = { ...NOTHING, ...info };
    if (old && old.defaults?.group !== info.defaults?.group) this.forget();
    this.live.updated(this.info.rev);
    keepVersion(info.plotly);
    this.side.hidden = !this.info.runs.length;
    this.syncSources();
  }

  /** Drops metrics that a new grouping does not have. */
  forget() {
    const { metrics, runs } = this.info;
    const gone = ["x", "y", "by"].filter((key) => runs.length &&
      !metrics.some(({ id }) => id === this.state.get(key)));
    this.state.set(Object.fromEntries(gone.map((key) => [key, ""])));
  }

  changed({ keys, ours }) {
    if (keys.some((key) => OF_LOG.includes(key))) return this.load();
    if (!this.info) return;
    if (!ours) return this.refresh();
    this.controls.sync(this.info, this.answer);
    if (keys.includes("live")) this.live.sync();
    if (keys.includes("zoom") && this.answer) this.scales.apply();
    return this.answer?.rows.length ? this.syncParts() : null;
  }

  /** Requests the figure of the current choices. */
  async refresh() {
    const { state } = this;
    if (!this.info.runs.length) return this.empty();
    this.controls.sync(this.info, this.answer);
    this.stage.classList.add("busy");
    try {
      const query = state.query({ dark: Number(host.isDark()) });
      const answer = await this.latest.getJson("figure", query);
      this.answer = answer;
      this.broken = await loadPlotly().catch((error) => error);
      this.failure = null;
    } catch (error) {
      if (error.name === "AbortError") return null;
      return this.fail(error);
    }
    this.stage.classList.remove("busy");
    return this.show();
  }

  async show() {
    const { answer, info } = this;
    this.controls.sync(info, answer);
    this.say();
    if (!answer.rows.length) return this.noMatch();
    this.instead.hidden = true;
    this.body.hidden = false;
    const { panels } = answer;
    this.heading.textContent = answer.title
      || `${bare(panels[0].y_title)} against ${bare(panels[0].x_title)}`;
    await this.draw();
    this.syncParts();
    return null;
  }

  async draw() {
    const missing = this.broken instanceof Error;
    this.stage.hidden = missing;
    if (missing) {
      this.points.open = true;
      return;
    }
    this.scales.hold();
    await this.figure.draw(this.answer);
    await this.scales.apply();
    this.guide.sync(this.answer);
    performance.mark("tradeoff-drawn");
    document.documentElement.dataset.drawn = this.answer.rev;
  }

  syncParts() {
    const pins = this.samples.rows(this.answer);
    this.pins.sync(pins);
    this.down.hidden = !pins.length;
    this.down.textContent = `Samples of ${pins.map(({ slot }) =>
      slot.toUpperCase()).join(" and ")} ↓`;
    this.scales.sync(this.answer);
    this.levels.sync(this.answer);
    this.syncArea();
    this.samples.sync(this.answer);
    this.syncPoints();
  }

  syncArea() {
    const { area } = this.answer;
    this.area.hidden = !area;
    if (!area) return;
    const title = area.title[0].toUpperCase() + area.title.slice(1);
    fill(this.area, el("header", {}, el("h2", {}, title),
      copyButtons("area", (more) => this.state.query(more))),
    ...table(area, signsOf(this.answer)).filter(Boolean));
  }

  syncPoints() {
    if (!this.points.open || !this.answer) return;
    this.columns.sync(this.info, this.answer);
    const pins = this.samples.rows(this.answer).map(({ row }) => row.id);
    this.table.sync(this.answer, pins);
  }

  syncSources() {
    const { sources, source } = this.info;
    const shown = JSON.stringify(sources.map(({ id }) => id));
    if (shown !== this.sourcesShown) {
      this.sourcesShown = shown;
      const choices = sources.map(({ id, title }) => [id, title]);
      this.sourceBox = segments("Data", choices, (id) => this.choose(id));
      fill(this.sources, choices.length > 1 ? this.sourceBox : null);
    }
    this.sourceBox?.sync(source);
  }

  /** Chooses a source, which has other metrics, runs and parameters. */
  choose(source) {
    const gone = [...OF_RUNS, "x", "y", "by", "value", "along", "preset",
      "usual", "a", "arun", "b", "brun", "higher", "lower", "zoom", "xscale",
      "yscale"];
    this.state.set({ ...Object.fromEntries(gone.map((key) => [key, ""])),
      source });
  }

  /** Fades the other methods while one is pointed at. */
  point(method, mark = false) {
    this.byMark = mark;
    this.figure.point(method);
  }

  hover(row) {
    // Plotly's unhover is late: something else may be pointed at by now.
    if (row) this.point(row.reference ? null : row.method, true);
    else if (this.byMark) this.point(null);
  }

  /** Scrolls to the samples, without scrolling TensorBoard. */
  goDown() {
    const main = this.pinned.closest("main");
    const { top } = this.pinned.getBoundingClientRect();
    main.scrollTop += top - main.getBoundingClientRect().top - 16;
  }

  legend(method, alone) {
    const { methods } = this.controls;
    if (method && alone) methods.alone(method, this.answer.methods);
    else if (method) methods.toggle(method);
  }

  /** Positions what lies over the figure at its marks. */
  layout() {
    this.guide?.layout();
    this.pins?.layout();
    this.zoomOut.hidden = !this.figure?.zoomed();
    this.scales?.note();
  }

  theme() {
    const theme = host.isDark() ? "dark" : "light";
    if (document.documentElement.dataset.theme === theme) return;
    document.documentElement.dataset.theme = theme;
    if (this.answer) this.refresh();
  }

  /** Shows notices of the server, each once. */
  say() {
    const told = [...this.info.notices];
    const remarks = [...new Set(this.answer?.notices ?? [])]
      .filter((text) => !told.includes(text));
    this.remarks.hidden = !remarks.length;
    this.remarks.open ||= remarks.length === 1;
    fill(this.remarks, el("summary", {}, remarks.length === 1 ? "1 remark"
      : `${remarks.length} remarks`),
    el("ul", {}, remarks.map((text) => el("li", {}, text))));
    const failure = this.failure ?? (this.broken instanceof Error
      ? this.broken : null);
    const retry = el("button", { type: "button", class: "plain",
      onclick: () => this.load() }, "Try again");
    fill(this.notices,
      failure ? notice(failure.message, true, retry) : null,
      [...new Set(told)].map((text) => notice(text, false)));
    this.notices.hidden = !this.notices.childElementCount;
  }

  /** Shows an error: above the figure if there is one, else instead of it. */
  fail(error) {
    if (error.name === "AbortError") return;
    this.stage.classList.remove("busy");
    announce(error.message);
    this.failure = error;
    if (this.answer?.rows.length && !this.body.hidden) {
      this.controls.sync(this.info, this.answer, error);
      return void this.say();
    }
    this.body.hidden = true;
    this.notices.hidden = true;
    this.instead.hidden = false;
    fill(this.instead, errorState(error, () => this.load()));
    if (this.info) this.controls.sync(this.info, this.answer, error);
  }

  empty() {
    this.answer = null;
    this.body.hidden = true;
    this.instead.hidden = false;
    this.failure = null;
    this.say();
    const other = this.info.sources.find(({ id, runs }) =>
      runs && id !== this.info.source);
    fill(this.instead, emptyState(this.info, other ? el("button",
      { type: "button", onclick: () => this.choose(other.id) },
      `Show ${other.title.toLowerCase()} instead (${other.runs} runs)`) : null));
  }

  noMatch() {
    this.body.hidden = true;
    this.instead.hidden = false;
    this.notices.hidden = true;
    fill(this.instead, noMatchState(this.state.filter().text,
      this.answer.notices, () => this.state.clearFilters(),
      this.state.get("where")));
  }
}

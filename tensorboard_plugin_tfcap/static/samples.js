/** Pinned points: their captions side by side, image by image. */

import { getSamples } from "./api.js";
import { judged, words } from "./claims.js";
import { bare, el, fill, icon, number } from "./dom.js";
import { glyph } from "./glyph.js";
import { timeSeries } from "./host.js";
import { signsOf } from "./tables.js";

const SLOTS = ["a", "b"];
const CROSS = "M4 4l8 8M12 4l-8 8";

export class Samples {
  constructor(root, state) {
    this.root = root;
    this.state = state;
    this.wanted = 0;
  }

  /** Pins a row in the free slot, else in place of the second. */
  pin(row) {
    const { state } = this;
    const held = SLOTS.find((slot) => state.get(slot) === row.id);
    if (held) return this.unpin(held);
    const slot = SLOTS.find((one) => !state.get(one)) ?? "b";
    state.set({ [slot]: row.id, [`${slot}run`]: "", page: "" });
  }

  unpin(slot) {
    if (slot === "a") {
      const { state } = this;
      state.set({ a: state.get("b"), arun: state.get("brun"), b: "", brun: "",
        page: "" });
    } else this.state.set({ b: "", brun: "", page: "" });
  }

  /** The pinned rows that an answer contains. */
  rows(answer) {
    return SLOTS.map((slot) => {
      const id = this.state.get(slot);
      const row = id && answer.rows.find((one) => one.id === id);
      return row ? { slot, row } : null;
    }).filter(Boolean);
  }

  async sync(answer) {
    const turn = ++this.wanted;
    this.signs = signsOf(answer);
    this.scores = shownScores(answer);
    const pins = this.rows(answer).map((pin) => ({ ...pin, ...this.of(pin) }));
    this.root.hidden = false;
    if (!pins.length) return this.show(null, this.invitation());
    const page = Number(this.state.get("page") || 0);
    const answers = await Promise.all(pins.map(({ run, step }) =>
      run ? getSamples(run.run, step, page, answer.rev)
        .catch((error) => ({ error })) : { items: [] }));
    // Another point was pinned in the meantime.
    if (turn !== this.wanted) return;
    const cards = el("div", { class: "pins" },
      pins.map((pin, i) => this.card(pin, answers[i])));
    this.show(cards, this.list(pins, answers), answers);
  }

  /** The run of a pin, and its step. */
  of({ slot, row }) {
    const chosen = this.state.get(`${slot}run`);
    const run = row.runs.find((one) => one.run === chosen) ??
      row.runs.find((one) => one.samples) ?? row.runs[0];
    return { run, step: run?.step };
  }

  show(cards, body, answers = []) {
    fill(this.root, el("header", {}, el("h2", {}, "Samples"),
      this.pager(answers)), cards, body);
  }

  invitation() {
    return el("p", { class: "hint" }, "Click a point of the figure, or press " +
      "Enter on it, to pin it here with its captions and the ranks of their " +
      "images. Pin a second point to compare the two image by image.");
  }

  card({ slot, row, run, step }, answer) {
    const name = `${row.method}${row.label ? `, ${row.label}` : ""}`;
    return el("div", { class: "pin" },
      el("header", {}, el("span", { class: "badge" }, slot.toUpperCase()),
        glyph(this.signs.get(row.method) ?? row), el("h3", {}, name),
        el("button", { type: "button", class: "plain", "aria-label":
          `Unpin ${name}`, onclick: () => this.unpin(slot) }, icon(CROSS))),
      row.runs.length > 1 ? this.runs(slot, row, run)
        : el("p", { class: "hint" }, run?.run ?? ""),
      el("p", { class: "hint" }, answer.error ? answer.error.message
        : step !== undefined ? `step ${answer.step ?? step}` : ""),
      (answer.notices ?? []).map((text) => el("p", { class: "hint" }, text)),
      run ? el("a", { class: "plain", target: "_blank",
        rel: "noopener", href: timeSeries(row.runs.map((one) => one.run)) },
      "Time Series") : null);
  }

  runs(slot, row, run) {
    const box = el("select", { "aria-label": "Seed", onchange: () =>
      this.state.set({ [`${slot}run`]: box.value }) },
    row.runs.map((one) => el("option", { value: one.run,
      selected: one.run === run.run }, `seed ${one.seed}: ${one.run}`)));
    return box;
  }

  pager(answers) {
    const pages = Math.max(0, ...answers.map((one) => one.pages ?? 0));
    if (pages < 2) return null;
    const page = Number(this.state.get("page") || 0);
    const go = (to, title, off) => el("button", { type: "button",
      class: "plain", disabled: off, onclick: () =>
        this.state.set({ page: to || "" }) }, title);
    return el("span", { class: "tools" },
      go(page - 1, "Previous", page <= 0),
      el("span", { class: "hint count" }, `${page + 1} of ${pages}`),
      go(page + 1, "Next", page >= pages - 1));
  }

  /** A line for each image with a caption of any pin. */
  list(pins, answers) {
    const images = new Map();
    answers.forEach((answer, i) => {
      for (const item of answer.items ?? []) {
        if (!images.has(item.id)) images.set(item.id, []);
        images.get(item.id)[i] = item;
      }
    });
    if (!images.size) {
      return el("p", { class: "hint" }, "No samples were logged for " +
        `${pins.length > 1 ? "these points" : "this point"}. ` +
        "Write them with TradeoffWriter.samples().");
    }
    return el("ul", { class: "rows" }, [...images].map(([id, items]) =>
      this.line(id, pins.map((pin, i) => items[i]), pins)));
  }

  line(id, items, pins) {
    const first = items.find(Boolean);
    const pictured = items.find((item) => item?.image) ?? first;
    const human = first.human ?? [];
    return el("li", {},
      el("figure", {}, thumbnail(pictured, `Image ${first.name || id}`),
        el("figcaption", {}, id,
          first.name && first.name !== id ? [el("br"), first.name] : null)),
      el("div", { class: pins.length > 1 ? "said two" : "said" },
        items.map((item, i) =>
          saying(item, pins[i], pins.length > 1, this.scores)),
        human.length ? el("div", { class: "human" },
          el("p", {}, `Human: ${human[0]} `, rank(first.human_rank)),
          human.length > 1 ? el("details", {},
            el("summary", {}, `${human.length - 1} more`),
            el("ul", {}, human.slice(1).map((text) => el("li", {}, text))))
            : null) : null));
  }
}

/** Scores of a caption to show: those of the axes, by their titles. */
function shownScores(answer) {
  const [panel] = answer.panels;
  return [[panel.x, panel.x_title], [panel.y, panel.y_title]]
    .map(([name, title]) => [name, bare(title)]);
}

function saying(item, pin, many, told) {
  const badge = many
    ? el("span", { class: "badge" }, pin.slot.toUpperCase()) : null;
  if (!item) {
    return el("div", {}, badge, el("p", { class: "hint" }, "no caption of this image"));
  }
  const scores = told
    .filter(([name]) => typeof item.scores?.[name] === "number")
    .map(([name, title]) => `${title} ${number(item.scores[name], 3)}`);
  return el("div", {}, badge,
    el("p", {}, words(item)),
    el("p", { class: "rank" }, rank(item.rank), ` ${scores.join(" · ")}`),
    judged(item));
}

/** A rank; rank 1 is highlighted. */
function rank(value) {
  if (value === null || value === undefined) return "";
  return el("b", { class: value <= 1 ? "first" : null }, `rank ${number(value)}`);
}

/** A sample's image, or an empty square. */
function thumbnail(item, alt) {
  if (!item.image) return el("div", { class: "blank" });
  const image = el("img", { src: `./${item.image}`, alt, loading: "lazy" });
  image.addEventListener("load", () =>
    image.classList.toggle("small", image.naturalWidth < 48));
  image.addEventListener("error", () =>
    image.replaceWith(el("div", { class: "blank" })));
  return image;
}

/** What is shown instead of a figure. */

import { copy, el } from "./dom.js";

/** Nothing is logged yet: code that logs something. */
export function emptyState(info, others) {
  const code = el("code", {}, info.snippet ?? "");
  const button = el("button", { type: "button", class: "plain",
    onclick: () => copy(info.snippet, button) }, "Copy");
  return el("section", { class: "card state" },
    el("h2", {}, info.source === "scalars"
      ? "There are no scalars in this log" : "No trade-off points yet"),
    info.logdir ? el("p", { class: "hint" }, "TensorBoard reads ",
      el("code", {}, info.logdir), " and all folders below it.") : null,
    el("p", {}, "A point is one trained model: how natural its captions are, " +
      "and how well they identify an image. Write one after each evaluation, " +
      "with one run for each method, weight and seed:"),
    el("div", { class: "snippet" }, el("pre", { tabindex: "0" }, code), button),
    others,
    el("p", { class: "hint" }, "New points appear here without a reload of " +
      "the page."));
}

/** The log is being read. */
export function loadingState() {
  return el("section", { class: "card loading", role: "status" },
    el("p", {}, "Reading the log …"));
}

/** There are runs, but none is shown. */
export function noMatchState(text, notices, clear, filtered) {
  return el("section", { class: "card state" },
    el("h2", {}, text ? "No run matches" : "Nothing to draw"),
    text ? el("p", {}, "The filter is ", el("code", {}, text),
      ", a regular expression that is matched with the names of runs.")
      : el("p", {}, filtered ? "No run passes the parameter filters."
        : "No run has values of both axes."),
    notices.map((notice) => el("p", { class: "hint" }, notice)),
    text || filtered ? el("button", { type: "button", onclick: clear },
      "Show all runs") : null);
}

/** The server sent an error. */
export function errorState(error, retry) {
  return el("section", { class: "card state", role: "alert" },
    el("h2", {}, "The figure could not be drawn"),
    el("p", {}, error.message),
    el("button", { type: "button", onclick: retry }, "Try again"));
}

/** A line above what is still shown. */
export function notice(text, bad, action) {
  return el("div", { class: bad ? "notice bad" : "notice",
    role: bad ? "alert" : null }, el("p", {}, text), action);
}

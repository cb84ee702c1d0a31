/** A caption with its false claims marked, and its omissions. */

import { el } from "./dom.js";

/** The words of a caption; screen readers hear what is false, too. */
export function words(item) {
  if (!item.caption) return el("i", {}, "(empty caption)");
  return (item.pieces ?? [[item.caption, ""]]).map(([text, wrong]) => !wrong
    ? text : el("span", { class: "false", title: `False: ${wrong}` }, text,
      el("span", { class: "offstage" }, " (false)")));
}

/** How many claims are true, which are false, and what is missing. */
export function judged({ claims, missing }) {
  if (!claims && !missing?.length) return null;
  return el("div", { class: "hint" },
    claims ? el("p", {}, `${claims.true} of ${claims.count} claims true`,
      claims.false.length ? `. False: ${claims.false.join("; ")}` : "") : null,
    missing?.length ? el("details", {},
      el("summary", {}, `${missing.length} missing`),
      el("ul", {}, missing.map((text) => el("li", {}, text)))) : null);
}

/** The figure as a file for print, and its points as a table. */

import { getText } from "./api.js";
import { announce, copy, download, el, icon } from "./dom.js";
import { Picture } from "./picture.js";

const ARROW = "M8 2v8m0 0 3-3m-3 3L5 7M3 13h10";

/** The menu of exports. */
export function exportMenu(page) {
  const picture = new Picture(page, () => name(page.answer));
  const items = [
    ["Figure as SVG, PDF or PNG…", () => {
      // The focus returns to the button, not to a hidden item.
      close();
      return picture.open();
    }],
    ["Points as CSV", () => points(page)],
    ["Copy a link to this view", (button) => copy(link(), button)],
  ].map(([title, work]) => el("button", { type: "button", role: "menuitem",
    tabindex: "-1", onclick: async (event) => {
      try {
        await work(event.currentTarget);
      } catch (error) {
        page.fail(error);
      }
      if (title.startsWith("Copy")) setTimeout(close, 900);
      else close();
    } }, title));
  const menu = el("div", { role: "menu", "aria-label": "Export", hidden: true },
    items);
  const button = el("button", { type: "button", "aria-haspopup": "menu",
    "aria-expanded": "false", onclick: () => (menu.hidden ? open() : close()) },
  icon(ARROW), "Export");
  const root = el("div", { class: "menu", onkeydown: key, onfocusout: (event) => {
    if (event.relatedTarget && !root.contains(event.relatedTarget)) close();
  } }, button, menu);
  document.addEventListener("pointerdown", (event) => {
    if (!root.contains(event.target)) close();
  });

  function open() {
    menu.hidden = false;
    button.setAttribute("aria-expanded", "true");
    items[0].focus();
  }

  function close() {
    if (menu.hidden) return;
    const held = menu.contains(document.activeElement);
    menu.hidden = true;
    button.setAttribute("aria-expanded", "false");
    if (held) button.focus();
  }

  function key(event) {
    const at = items.indexOf(document.activeElement);
    if (event.key === "Escape") close();
    else if (event.key === "ArrowDown" && menu.hidden) open();
    else if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
    else if (event.key === "ArrowUp") items.at(at - 1).focus();
    else return;
    event.preventDefault();
  }
  return root;
}

function link() {
  try {
    return window.parent.location.href;
  } catch {
    return window.location.href;
  }
}

async function points(page) {
  const query = page.state.query({ format: "csv", table: "points" });
  const text = await getText("table", query);
  download(`${name(page.answer)}.csv`, new Blob([text], { type: "text/csv" }));
  announce("Saved as CSV");
}

function name(answer) {
  const axes = answer.title || `${answer.y}-${answer.x}`;
  return `tradeoff-${axes}`.replace(/[^\w.-]+/g, "_");
}

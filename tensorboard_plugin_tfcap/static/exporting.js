/** The figure as a file, with its legend, and its points as a table. */

import { getJson, getText } from "./api.js";
import { announce, copy, download, el, icon } from "./dom.js";

const ARROW = "M8 2v8m0 0 3-3m-3 3L5 7M3 13h10";
const SIZE = { width: 1000, height: 620 };

/** A menu of what can be taken away. */
export function exportMenu(page) {
  const items = [
    ["Figure as SVG", () => picture(page, "svg")],
    ["Figure as PNG", () => picture(page, "png")],
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

/** Always on white: it goes into papers and slides. */
async function picture(page, format) {
  const answer = await getJson("figure", page.state.query({ dark: 0 }));
  const { data, layout } = answer.figure;
  const figure = {
    data: data.filter((trace) => trace.visible !== "legendonly"),
    layout: { ...layout, ...zoom(page.figure, answer.figure), paper_bgcolor:
      "#fff", plot_bgcolor: "#fff" },
  };
  const size = { ...SIZE, height: layout.meta?.height ?? SIZE.height };
  if (answer.panels.length > 1) size.width = 1300;
  const url = await window.Plotly.toImage(figure, { format, scale:
    format === "png" ? 2 : 1, ...size });
  download(`${name(answer)}.${format}`, toBlob(url));
  announce(`Saved as ${format.toUpperCase()}`);
}

/** The axes as a person has zoomed them. */
function zoom(figure, { layout }) {
  return Object.fromEntries(Object.entries(figure.ranges()).map(
    ([name, range]) => [name, { ...layout[name], range, autorange: false }]));
}

/** Not by `fetch()`, which TensorBoard's policy forbids for `data:`. */
function toBlob(url) {
  const [head, body] = [url.slice(0, url.indexOf(",")),
    url.slice(url.indexOf(",") + 1)];
  const type = head.slice(5).split(/[;,]/)[0];
  if (!head.endsWith(";base64")) {
    return new Blob([decodeURIComponent(body)], { type });
  }
  const bytes = Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
  return new Blob([bytes], { type });
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

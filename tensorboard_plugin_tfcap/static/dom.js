/**
 * Elements without a framework.
 *
 * Text becomes text nodes only, so that markup in a caption is shown as text.
 */

/** An element: `el("button", {class: "quiet", onclick: f}, "Copy", icon)`. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name in node && typeof value !== "string") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child != null));
  return node;
}

/** Replaces the children of an element. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child != null));
  return node;
}

/** The same; the focus moves to the new child with the same `data-key`. */
export function refill(node, ...children) {
  const { activeElement: old } = document;
  const key = node.contains(old) ? old.dataset.key : undefined;
  fill(node, ...children);
  if (key === undefined) return;
  [...node.querySelectorAll("[data-key]")]
    .find(({ dataset }) => dataset.key === key)?.focus({ preventScroll: true });
}

/** A stroke icon, drawn from the `d` of its path; screen readers skip it. */
export function icon(path) {
  const name = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(name, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("class", "icon");
  const line = document.createElementNS(name, "path");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** Calls `work` with the last arguments once `wait` ms have passed. */
export function debounce(work, wait) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
}

/** A number with four significant digits. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  return String(Number(value.toPrecision(digits)));
}

/** A title without the arrow of its better direction. */
export function bare(title) {
  return title.replace(/ [↑↓]$/, "");
}

/** Has screen readers read a text. */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

/** Downloads a file. */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Copies text, and says so on its button. */
export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = copyOldWay(text) ? "Copied" : "Not allowed";
  }
  announce(button.textContent);
  setTimeout(() => (button.textContent = before), 1500);
}

/** For pages over plain HTTP, which have no clipboard. */
function copyOldWay(text) {
  const area = el("textarea", { class: "offstage" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

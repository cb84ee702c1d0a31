/**
 * Elements, made and changed without a framework.
 *
 * Text only ever becomes a text node, so that a caption with markup in it is
 * read as it was written.
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

/** Puts these children in the place of all that an element holds. */
export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter((child) => child != null));
  return node;
}

/**
 * The same, where the focus may be on one of them: it goes to the new one of
 * the same `data-key`.
 */
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

/** Calls `work` at most once in `wait` milliseconds, and with the last. */
export function debounce(work, wait) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), wait);
  };
}

/** A number as people write it: four digits that count, no noise. */
export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  return String(Number(value.toPrecision(digits)));
}

/** A title without the arrow that tells which way is better. */
export function bare(title) {
  return title.replace(/ [↑↓]$/, "");
}

/** Reads something out to screen readers, which see no figure change. */
export function announce(text) {
  const region = document.getElementById("announcer");
  if (region) region.textContent = text;
}

/** Hands the person a file. */
export function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Copies text; says so on the button that asked for it. */
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

/** Where a page came by plain HTTP from another machine: no clipboard. */
function copyOldWay(text) {
  const area = el("textarea", { class: "offstage" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

/** The entry point that TensorBoard's iframe calls. */

import { el } from "./dom.js";
import { Page } from "./page.js";

export async function render() {
  document.documentElement.lang = "en";
  document.title = "Trade-off";
  await style();
  const page = new Page(document.body);
  await page.start();
}

/** Waits for the style sheet, without which the page would flash. */
function style() {
  return new Promise((resolve) => {
    document.head.append(el("link", { rel: "stylesheet",
      href: "./static/style.css", onload: resolve, onerror: resolve }));
  });
}

/** The figure as a file for print: its format, width and font. */

import { getBlob } from "./api.js";
import { segments } from "./controls.js";
import { announce, download, el, fill } from "./dom.js";

const FORMS = [["svg", "SVG"], ["pdf", "PDF"], ["png", "PNG"]];
const WIDTHS = [["3.3", "Column, 3.3 in"], ["6.9", "Page, 6.9 in"],
  ["own", "Other"]];
const FONTS = ["sans-serif", "serif", "monospace", "Helvetica", "Arial",
  "Times New Roman"];

export class Picture {
  /** @param {() => string} name of the file, without its extension. */
  constructor(page, name) {
    this.page = page;
    this.name = name;
    this.values = { format: "svg", width: "3.3" };
    this.form = segments("Format", FORMS, (format) => this.set({ format }));
    this.wide = segments("Width", WIDTHS, (width) => this.set({ width }));
    const input = (attributes) => el("input", attributes);
    this.own = input({ type: "number", min: "1.5", max: "20", step: "any",
      value: "5", "aria-label": "Width in inches" });
    this.inches = el("span", {}, this.own, " in");
    this.size = input({ type: "number", min: "4", max: "30", step: "any",
      value: "8", "aria-label": "Font size in points" });
    this.font = input({ type: "text", value: FONTS[0], list: "picture-fonts",
      spellcheck: "false", "aria-label": "Font family" });
    this.note = input({ type: "checkbox", checked: true });
    this.hint = el("p", { class: "hint", role: "status" });
    this.save = el("button", { type: "submit", class: "primary" }, "Save");
    const row = (label, ...parts) => el("div", { class: "row" },
      el("span", {}, label), el("span", {}, ...parts));
    this.dialog = el("dialog", { class: "picture",
      "aria-label": "Figure as a file" },
    el("form", { onsubmit: (event) => this.submit(event) },
      el("h2", {}, "Figure as a file"),
      row("Format", this.form),
      row("Width", this.wide, this.inches),
      row("Font", this.size, " pt ", this.font,
        el("datalist", { id: "picture-fonts" },
          FONTS.map((value) => el("option", { value })))),
      row("", el("label", {}, this.note, " Add a note on how to read it")),
      this.hint,
      el("footer", {}, el("button", { type: "button",
        onclick: () => this.dialog.close() }, "Cancel"), this.save)));
    this.sync();
  }

  open() {
    this.sync();
    document.body.append(this.dialog);
    this.dialog.showModal();
  }

  set(changes) {
    Object.assign(this.values, changes);
    this.sync();
  }

  sync(text = "") {
    const { format, width } = this.values;
    this.form.sync(format);
    this.wide.sync(width);
    this.inches.hidden = this.own.disabled = width !== "own";
    this.save.disabled = false;
    fill(this.hint, text);
  }

  async submit(event) {
    event.preventDefault();
    this.save.disabled = true;
    try {
      await this.write();
      this.dialog.close();
    } catch (error) {
      // Such as a font that the server lacks.
      this.sync(error.message);
      return;
    }
    this.sync();
  }

  async write() {
    const { format } = this.values;
    const inches = Number(this.values.width === "own" ? this.own.value
      : this.values.width);
    const query = this.page.state.query({ dark: 0, width: inches, format,
      font_size: this.size.value, font: this.font.value.trim(),
      note: Number(this.note.checked), zoom: this.zoom() });
    download(`${this.name()}.${format}`, await getBlob("picture", query));
    announce(`Saved as ${format.toUpperCase()}`);
  }

  /** The ranges that the user has zoomed to. */
  zoom() {
    return Object.entries(this.page.figure.ranges())
      .map(([name, range]) => `${name}=${range.join(",")}`).join(";");
  }
}

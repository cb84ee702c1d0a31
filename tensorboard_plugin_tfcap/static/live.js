/** Updates: by TensorBoard's reload, and by polling. */

import { Failure } from "./api.js";
import { el } from "./dom.js";
import { isHidden } from "./host.js";

const EVERY = 5000;

export class Live {
  constructor(page) {
    this.page = page;
    this.box = el("input", { type: "checkbox", role: "switch",
      onchange: () => page.state.set({ live: this.box.checked ? "" : "0" }) });
    this.toggle = el("label", { class: "check live" }, this.box,
      el("span", {}, "Live"));
    this.sync();
  }

  sync() {
    this.box.checked = this.page.state.get("live") !== "0";
  }

  start() {
    setInterval(() => {
      if (this.box.checked && !isHidden()) this.check();
    }, EVERY);
    setInterval(() => this.tell(), 1000);
  }

  /** Notes the revision that is shown, and the time. */
  updated(rev) {
    this.rev = rev;
    this.at = Date.now();
    this.tell();
  }

  async check() {
    if (this.asking) return;
    this.asking = true;
    const { page } = this;
    try {
      const more = this.rev ? { rev: this.rev } : {};
      const answer = await page.askState(more);
      if (!answer) return;
      const wasDown = page.failure;
      if (answer.unchanged) {
        this.updated(this.rev);
        if (wasDown) await page.refresh();
      } else {
        page.setInfo(answer);
        await page.refresh();
      }
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      page.fail(error);
    } finally {
      this.asking = false;
    }
  }

  tell() {
    const { info, status } = this.page;
    if (!info) return;
    const seconds = Math.round((Date.now() - this.at) / 1000);
    const ago = seconds < 8 ? "up to date" : seconds < 90
      ? `updated ${seconds} s ago` : `updated ${Math.round(seconds / 60)} min ago`;
    const runs = `${info.runs.length} ${info.runs.length === 1 ? "run" : "runs"}`;
    status.textContent = `${runs} · ${ago}`;
  }
}

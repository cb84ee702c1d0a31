/**
 * Figures of a report and a notebook: cards over marks, methods shown and
 * hidden by their legend, another figure by choice. One listener for all of
 * them, however many there are and whenever they come.
 */
(() => {
  if (window.tfcapShown) return;
  window.tfcapShown = true;
  const texts = new WeakMap();
  const off = new Set();
  const first = document.getElementById("tf-view")?.innerHTML;
  const card = document.createElement("div");
  card.className = "tf-card";

  const near = (event, selector) => event.target.closest?.(selector);
  const marks = (event) => near(event, ".tf .marks > *");
  const entry = (event) => near(event, ".tf .legend");

  /** The browser's own card would come late, and lie over ours. */
  function text(mark) {
    const title = mark.querySelector("title");
    if (title) {
      texts.set(mark, title.textContent);
      title.remove();
    }
    return texts.get(mark);
  }

  function show(mark) {
    const words = text(mark);
    if (!words) return;
    const [name, ...more] = words.split("\n");
    const head = document.createElement("b");
    head.textContent = name;
    card.replaceChildren(head, ...more.flatMap((line) =>
      [document.createElement("br"), line]));
    document.body.append(card);
    const box = mark.getBoundingClientRect();
    const left = Math.min(box.right + 8, innerWidth - card.offsetWidth - 8);
    const above = box.top - card.offsetHeight - 8;
    card.style.left = `${Math.max(8, left)}px`;
    card.style.top = `${above > 8 ? above : box.bottom + 8}px`;
  }

  function each(group, work) {
    for (const root of document.querySelectorAll(".tf")) {
      for (const part of root.querySelectorAll("[data-m]")) {
        work(part, part.dataset.m === group);
      }
    }
  }

  function focus(group) {
    each(group, (part, mine) =>
      part.classList.toggle("tf-dim", group !== null && !mine));
  }

  function apply(group) {
    each(group, (part, mine) => {
      if (!mine) return;
      part.classList.toggle("tf-off", off.has(group));
      if (!part.matches(".legend")) return;
      part.setAttribute("aria-pressed", !off.has(group));
    });
  }

  function tell() {
    for (const line of document.querySelectorAll(".tf-hidden")) {
      line.hidden = !document.querySelector(".tf .legend.tf-off");
    }
  }

  function toggle(group) {
    if (!off.delete(group)) off.add(group);
    apply(group);
    tell();
  }

  document.addEventListener("pointerover", (event) => {
    const mark = marks(event);
    if (mark) show(mark);
    else card.remove();
    focus(entry(event)?.dataset.m ?? null);
  });
  document.addEventListener("scroll", () => card.remove(), { passive: true });
  document.addEventListener("click", (event) => {
    const found = entry(event);
    if (found) toggle(found.dataset.m);
  });
  document.addEventListener("keydown", (event) => {
    const found = entry(event);
    if (!found || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    toggle(found.dataset.m);
  });
  document.addEventListener("change", (event) => {
    const choice = near(event, "#tf-choice");
    if (!choice) return;
    const view = document.getElementById("tf-view");
    view.innerHTML = document.querySelector(
      `script[data-view="${choice.value}"]`)?.textContent ?? first;
    off.forEach(apply);
    tell();
  });
})();

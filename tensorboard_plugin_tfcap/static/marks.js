/** Positions of marks on the screen, and their order for the keyboard. */

/** Plotly's axis object of a panel. */
export function axisOf(plot, panel, along) {
  return plot._fullLayout?.[along === "x" ? panel.xaxis : panel.yaxis];
}

/** Where a row's mark is, in pixels of the plot; `null` if out of view. */
export function place(plot, answer, row) {
  const panel = answer.panels[row.panel];
  const { x, y } = row;
  if (!panel) return null;
  const [across, up] = ["x", "y"].map((along) => axisOf(plot, panel, along));
  if (!across?.l2p || x === null || y === null) return null;
  const [px, py] = [across.d2p(x), up.d2p(y)];
  const inside = px >= -1 && px <= across._length + 1 && py >= -1 &&
    py <= up._length + 1;
  return inside ? { x: across._offset + px, y: up._offset + py } : null;
}

/** Rows that pass a test, by curve and panel. */
export function rowsOf(rows, passes) {
  const curves = new Map();
  for (const row of rows) {
    if (!passes(row)) continue;
    const key = `${row.panel}\n${row.method}\n${row.reference}`;
    if (!curves.has(key)) curves.set(key, []);
    curves.get(key).push(row);
  }
  return [...curves.values()];
}

/**
 * Hides labels that overlap another one, a mark or a method's name.
 *
 * The server has placed them for a usual size; only the browser knows the size
 * of the window and of its font.
 */
export function thinOut(plot) {
  const taken = [...plot.querySelectorAll(
    ".points path.point, .annotation-text-g")]
    .map((mark) => shrunk(mark.getBoundingClientRect(), 2));
  for (const text of plot.querySelectorAll(".textpoint text")) {
    const box = shrunk(text.getBoundingClientRect(), 2);
    const free = !taken.some((other) => meet(box, other));
    text.style.visibility = free ? "" : "hidden";
    if (free) taken.push(box);
  }
}

/** Fades all traces but those of one method. */
export function dim(plot, method) {
  for (const node of plot.querySelectorAll("g.trace")) {
    const trace = node.__data__?.[0]?.trace;
    const group = trace?.legendgroup;
    const back = method && group && group !== method;
    // Faded labels would be illegible.
    node.style.opacity = !back ? "" : trace.meta?.kind === "label" ? 0 : 0.12;
  }
  for (const node of plot.querySelectorAll("g.annotation")) {
    const { name = "" } = plot.layout.annotations[node.dataset.index] ?? {};
    const back = method && name.startsWith("method ") &&
      name !== `method ${method}`;
    node.style.opacity = back ? 0 : "";
  }
}

function shrunk({ left, right, top, bottom }, by) {
  return { left: left + by, right: right - by, top: top + by,
    bottom: bottom - by };
}

function meet(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom &&
    b.top < a.bottom;
}

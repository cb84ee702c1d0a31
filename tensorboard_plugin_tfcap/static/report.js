/**
 * Figures of a report: drawn in light or dark, with a choice of figures, and
 * with a legend that a keyboard reaches.
 */
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const view = document.getElementById("tf-view");
  const first = [...view.childNodes];

  async function draw() {
    const figures = view.querySelector("script");
    if (!figures) return;
    const plot = view.querySelector(".plot");
    const pair = JSON.parse(figures.textContent);
    const { data, layout } = pair[Number(dark.matches)];
    const isNew = !plot.data;
    await Plotly.react(plot, data, layout, { responsive: true,
      displaylogo: false, toImageButtonOptions: { format: "svg" } });
    if (isNew) plot.on("plotly_afterplot", () => reach(plot));
    reach(plot);
  }

  /** Makes the entries of the legend buttons for the keyboard. */
  function reach(plot) {
    for (const entry of plot.querySelectorAll(".legend .traces")) {
      const { trace } = entry.__data__[0];
      const isShown = trace.visible === true;
      entry.setAttribute("tabindex", "0");
      entry.setAttribute("role", "button");
      entry.setAttribute("aria-pressed", String(isShown));
      entry.onkeydown = async (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        const same = plot.data.flatMap(({ legendgroup }, place) =>
          (legendgroup === trace.legendgroup ? [place] : []));
        await Plotly.restyle(plot, { visible: isShown ? "legendonly" : true },
          same);
        [...plot.querySelectorAll(".legend .traces")].find((other) =>
          other.__data__[0].trace.index === trace.index)?.focus();
      };
    }
  }

  document.getElementById("tf-choice")?.addEventListener("change", (event) => {
    const other = document.querySelector(
      `template[data-view="${event.target.value}"]`);
    view.replaceChildren(...(other ? [other.content.cloneNode(true)] : first));
    draw();
  });
  dark.addEventListener("change", draw);
  draw();
})();

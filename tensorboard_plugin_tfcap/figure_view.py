"""The figure of a selection, with its rows, tables and notices."""

from tensorboard_plugin_tfcap import overlays
from tensorboard_plugin_tfcap.columns import add_columns
from tensorboard_plugin_tfcap.preset_panels import preset_panels
from tensorboard_plugin_tfcap.rows import place_members
from tensorboard_plugin_tfcap.rows import point_rows
from tensorboard_plugin_tfcap.rows import reference_rows
from tensorboard_plugin_tfcap.table_view import area_table
from tensorboard_plugin_tfcap.table_view import level_tables
from tensorboard_plugin_tfcap.table_view import table_json
from tensorboard_plugin_tfcap.tradeoff.curve_groups import order_places
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_annotations
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.panels import axes_panel
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.point import parameter_title
from tensorboard_plugin_tfcap.tradeoff.style import FAINT
from tensorboard_plugin_tfcap.tradeoff.style import on_paper
from tensorboard_plugin_tfcap.tradeoff.style import styles
from tensorboard_plugin_tfcap.tradeoff.style import text_color
from tensorboard_plugin_tfcap.tradeoff.traces import PLOT
from tensorboard_plugin_tfcap.tradeoff.traces import label_boxes

#: How a figure shows seeds.
_LEGENDS = {
    "points": "Thin: each seed by itself; thick: their {center}.",
    "interval": "{centers} of seeds; bars: {bounds}.",
    "band": "{centers} of seeds; band: {bounds}.",
    "none": "{centers} of seeds.",
}


def figure_view(selection) -> dict:
    """The answer to a query of the figure."""
    query = selection.query
    preset = selection.preset()
    if preset is not None:
        panels, members, axes = preset_panels(selection, preset)
        selection = selection.focused(_titles(panels))
        known = selection.dataset.known
        rows = point_rows(panels, members, axes, query, known)
        view = _whole(selection, panels, rows, axes)
        _limit(view["figure"]["layout"], rows)
        return view
    if selection.x is None:
        panels = [Panel("", "", "", [], _EMPTY)]
    else:
        panel, _ = axes_panel(
            selection.groups,
            *(selection.x, selection.y, selection.order),
            *(query.seeds, query.at, query.aggregate),
        )
        panels = [panel]
    selection = selection.focused(_titles(panels))
    points = [p for group in selection.groups.values() for p in group]
    places, _ = order_places(points, selection.order)
    members = place_members(selection.groups, places, selection.order)
    axes = (selection.x, selection.y)
    known = selection.dataset.known
    rows = point_rows(panels, [members], [axes], query, known)
    view = _whole(selection, panels, rows, [axes])
    figure = view["figure"]
    scale_notices = overlays.set_scales(figure["layout"], rows, axes, query)
    if rows:
        if query.pareto and all(metric.sign for metric in axes):
            figure["data"].append(overlays.front_trace(rows, *axes, query.dark))
        _add_references(selection, figure, rows)
        _limit(figure["layout"], rows)
        _add_diagonal(figure, rows, axes, query.dark)
        _name_methods(selection, figure, panels[0])
    line = selection.line()
    if line is not None:
        shape = overlays.line_shape(line["along"], line["value"], query.dark)
        figure["layout"]["shapes"].append(shape)
    view |= tables_view(selection)
    return {**view, "notices": [*view["notices"], *scale_notices]}


def tables_view(selection) -> dict:
    """The tables of a selection, which a dragged line requests."""
    notices, area = list(selection.notices), None
    line = selection.line()
    if line is not None and "note" in line:
        notices.append(line["note"])
    if selection.curves and selection.joined:
        table = area_table(selection)
        area = table_json(table) if table.rows else None
        notices += () if area else table.notes
    tables = level_tables(selection, line)
    return {
        "rev": selection.dataset.rev,
        "line": line,
        "tables": [table_json(table) for table in tables.values()],
        "area": area,
        "notices": notices,
    }


_EMPTY = "There is nothing to draw: the log has no two metrics."


def _whole(selection, panels, rows, axes):
    """The answer, without the parts that only a single panel has."""
    query, preset = selection.query, selection.preset()
    legend = _legend(selection, panels, rows)
    figure = panels_figure(
        panels,
        legend=legend,
        dark=query.dark,
        labels=query.labels,
        known=selection.dataset.known,
    )
    known = selection.dataset.known
    methods = _methods(panels, query.dark, known)
    x, y = ([metric and metric.name for metric in pair] for pair in zip(*axes))
    for trace in figure["data"]:
        if trace.get("legendgroup") in query.hide:
            trace["visible"] = "legendonly"
    layout = figure["layout"]
    layout["uirevision"] = (
        f"{query.source} {query.preset} {x} {y} {query.xscale} {query.yscale}"
    )
    # No `datarevision`: with an equal one, Plotly keeps old marks. The page
    # determines the height.
    height = layout.pop("height", None)
    layout["meta"] = {"height": height, "label": _spoken(panels, rows)}
    layout["autosize"] = True
    return {
        "rev": selection.dataset.rev,
        "source": selection.dataset.source,
        "x": x[0],
        "y": y[0],
        "order": selection.order,
        "title": preset.title if preset is not None else "",
        "figure": figure,
        "rows": rows,
        "head": [*_head(selection, panels), *add_columns(rows, selection)],
        "panels": _about(panels, x, y),
        "methods": methods,
        "published": _published(selection),
        "line": None,
        "tables": [],
        "area": None,
        "notices": list(selection.notices),
    }


def _add_references(selection, figure, rows):
    references = selection.references()
    if references:
        axes = (selection.x, selection.y)
        trace = overlays.reference_trace(
            *(references, *axes, selection.query.dark, len(rows)),
            selection.dataset.known,
        )
        hidden = trace["legendgroup"] in selection.query.hide
        if hidden:
            trace["visible"] = "legendonly"
        figure["data"].append(trace)
        rows += reference_rows(references, *axes, hidden)


def _add_diagonal(figure, rows, axes, dark):
    shown = [row for row in rows if not row["hidden"]]
    name = overlays.equality(shown, *axes)
    if name:
        overlays.add_diagonal(figure, name, dark)
        above = sum(row["y"] > row["x"] for row in shown)
        meta = figure["layout"]["meta"]
        meta["label"] += (
            f" Dashed: {name}; {above} of {len(shown)} points are above it."
        )


def _legend(selection, panels, rows):
    """How to read the figure."""
    query, aggregate = selection.query, selection.query.aggregate
    legend = _LEGENDS[query.seeds].format(
        center=aggregate.centers.removesuffix("s"),
        centers=aggregate.centers.capitalize(),
        bounds=aggregate.words,
    )
    if query.labels and selection.order and rows and len(panels) == 1:
        legend += f" Labels: {parameter_title(selection.order)}."
    if not all(line.whole.all() for panel in panels for line in panel.lines):
        legend += " Hollow: not all seeds, or seeds at different steps."
    return legend


def _about(panels, x, y):
    """Panels without lines; `x` and `y` are names of metrics."""
    return [
        {
            "title": panel.title,
            **{"x": x[number], "y": y[number]},
            **{"x_title": panel.x, "y_title": panel.y},
            "xaxis": f"xaxis{number + 1 if number else ''}",
            "yaxis": f"yaxis{number + 1 if number else ''}",
        }
        for number, panel in enumerate(panels)
    ]


def _name_methods(selection, figure, panel):
    """Writes methods' names at their curves."""
    query = selection.query
    if not query.names:
        return
    known = selection.dataset.known
    looks = styles([line.title for line in panel.lines], known)
    texts = {
        line.title: text_color(looks[line.title][0], query.dark)
        for line in panel.lines
        if line.title not in query.hide and looks[line.title][0] != FAINT
    }
    layout = figure["layout"]
    axes = [layout[name] for name in ("xaxis", "yaxis")]
    spans = [axis["range"] for axis in axes]
    log = [axis.get("type") == "log" for axis in axes]
    taken = label_boxes(figure["data"], spans, log)
    layout["annotations"] += name_annotations(
        *(panel.lines, texts, spans, PLOT, taken, log)
    )


def _published(selection):
    """Published points that can be drawn, and their data sets."""
    found = selection.published()
    return {
        "count": len(found),
        "data": sorted({r.data for r in found if r.data}),
        "here": selection.dataset.comparison.data,
    }


def _limit(layout, rows):
    """Limits axes to the marks, which intervals of two seeds would dwarf."""
    for panel in {row["panel"] for row in rows}:
        number = panel + 1 if panel else ""
        mine = [row for row in rows if row["panel"] == panel]
        shown = [row for row in mine if not row["hidden"]] or mine
        for name in "xy":
            axis = layout[f"{name}axis{number}"]
            if "matches" in axis:
                continue
            values = [row[name] for row in shown]
            values += [run[name] for row in shown for run in row["runs"]]
            log = axis.get("type") == "log"
            axis["range"] = overlays.padded_range(values, log)
            axis["autorange"] = False


def _methods(panels, dark, known):
    legend, looks = {}, styles(_titles(panels), known)
    for title, (color, (_, symbol), (_, dash)) in looks.items():
        legend[title] = {
            "method": title,
            "color": on_paper(color, dark),
            "symbol": symbol,
            "dash": dash,
        }
    return list(legend.values())


def _titles(panels):
    return [line.title for panel in panels for line in panel.lines]


def _head(selection, panels):
    order = selection.order
    single = len(panels) == 1 and selection.x is not None
    x = selection.x.title if single else "x"
    y = selection.y.title if single else "y"
    head = {
        "method": "method",
        "label": parameter_title(order) if order else "parameter",
        "x": x,
        "y": y,
        "seeds": "seeds",
        "step": "step",
    }
    return [{"id": name, "title": title} for name, title in head.items()]


def _spoken(panels, rows):
    """The figure in a sentence, for screen readers."""
    rows = [row for row in rows if not row["hidden"]]
    if not rows:
        return "An empty figure."
    methods = len({row["method"] for row in rows})
    axes = f"{panels[0].y} against {panels[0].x}"
    if len(panels) > 1:
        axes = f"{len(panels)} panels of {panels[0].y}"
    return f"{axes}: {len(rows)} points of {methods} methods."

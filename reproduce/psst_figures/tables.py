"""The paper's Tables 1 to 3 beside what a sweep has found."""

from reproduce.psst_figures.alone import alone_table
from reproduce.psst_figures.claims import claim_table
from reproduce.psst_figures.claims import point_table
from reproduce.psst_figures.claims import rho_table
from reproduce.psst_figures.decodings import DECODINGS
from reproduce.psst_figures.decodings import View
from reproduce.psst_figures.decodings import views
from reproduce.psst_figures.gains import gain_table
from reproduce.psst_figures.listeners import FIXED
from reproduce.psst_figures.listeners import RECALLS
from reproduce.psst_figures.listeners import STRANGERS
from reproduce.psst_figures.listeners import listener_notes
from reproduce.psst_figures.listeners import listener_title
from reproduce.psst_figures.listeners import listeners
from reproduce.psst_figures.listeners import recall_head
from reproduce.psst_figures.listeners import with_fixed_listener
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import TITLES
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.methods import curves_of
from reproduce.psst_figures.methods import measured
from reproduce.psst_figures.methods import method_title
from reproduce.psst_figures.methods import rho_notes
from reproduce.psst_figures.published import ABLATION
from reproduce.psst_figures.published import AT_CIDER
from reproduce.psst_figures.published import AT_CIDER_NOTE
from reproduce.psst_figures.published import AT_RECALL
from reproduce.psst_figures.published import AT_RECALL_OF
from reproduce.psst_figures.published import HUMAN_CAPTIONS
from reproduce.psst_figures.strangers import stranger_table
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff import absences
from tensorboard_plugin_tfcap.tradeoff import cell
from tensorboard_plugin_tfcap.tradeoff import found_cell
from tensorboard_plugin_tfcap.tradeoff import found_on
from tensorboard_plugin_tfcap.tradeoff import not_reached
from tensorboard_plugin_tfcap.tradeoff import number
from tensorboard_plugin_tfcap.tradeoff import seeds_cell
from tfcap.curves import compare_curves
from tfcap.curves import mean_interval
from tfcap.curves import operating_point


def curve_tables(
    records: list[dict],
    data: str,
    recall=None,
    cider=None,
    ablation_cider: float | None = None,
    rho: float = 0.25,
):
    """The paper's tables beside what a sweep has found.

    Table 1, naturalness at a fixed recall@5; Table 2, recall at a fixed
    CIDEr-D; Table 3, the ablation, and human captions; Figure 3f, recall
    against rho; the claims, as differences of the same seeds; what a method
    gains over the speaker alone; every point; what each stranger finds; and
    every point less the speaker alone. Recall by a listener that never met the
    speaker stands before that by its own. Where records have them, Table 2, the
    claims and the points come again for beam search, and at equal log
    probability under a language model. Each
    seed's curve is read off by itself, never beyond its points. A cell is the
    mean of the seeds that go there with its 95 % interval, and how many they
    are stands beside it.

    Args:
        recall: Float in percent, the recall@5 of Table 1. By default the
            greatest that most methods reach.
        cider: Float, the CIDEr-D of Table 2, Figure 3f and the claims. By
            default the greatest that most methods reach; the claims then
            compare each pair at the greatest that both reach.

    Example:

    >>> from reproduce import psst_figures
    >>> records = [
    ...     {"method": "luo2018", "lambda": x, "seed": seed, "cider_d": 1.3 - x,
    ...      "r@1": 20.0 + seed, "r@5": 50.0, "r@10": 64.0}
    ...     for x in (0.1, 0.2) for seed in (0, 1, 2)
    ... ]
    >>> tables = psst_figures.curve_tables(records, "made-up words", cider=1.15)
    >>> print(tables[1].rows[6][:3])
    ['Luo et al. 2018', '21.0 [18.5, 23.5]', '50.0 [50.0, 50.0]']

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Tables 1-3 and Figure 3
    """
    records = with_fixed_listener(records)
    speakers = [r for r in records if r["method"] not in HUMAN]
    groups = by_method(speakers, rho)
    curves, _ = curves_of(groups)
    at = operating_point(curves, "naturalness") if cider is None else cider
    published_on = f"on COCO at CIDEr = 1.2. {AT_CIDER_NOTE}"
    first, *others = views(speakers)
    tables = [
        *_at_recalls(groups, recall, data),
        _at_cider(first, "", groups, at, (AT_CIDER, published_on), data),
        _ablation(records, groups, at, ablation_cider, data),
        rho_table(speakers, at, data),
        claim_table(groups, cider, data),
        alone_table(groups, first, data),
    ]
    for view in others:
        name = f"{view.decoding}r@10"
        curves, _ = curves_of(groups, view.naturalness, name)
        level = operating_point(curves, "naturalness")
        tables += [
            _at_cider(view, "", groups, level, None, data),
            claim_table(groups, None, data, view),
            alone_table(groups, view, data),
        ]
    # Sweeps of before have one decoding alone.
    kinds = [k for k in DECODINGS if not k or k in {v.decoding for v in others}]
    for kind in kinds:
        tables += [
            point_table(records, data, kind),
            stranger_table(records, data, kind),
            gain_table(records, data, kind),
        ]
    return [table for table in tables if table is not None]


#: Scores beside those of Table 1, where records have them.
_BESIDE = {
    "lm_log_prob": "log prob / word",
    "repeated_bigram_rate": "a bigram twice",
    "unfinished_rate": "unfinished",
    "novel_trigrams": "new trigrams",
}


def _at_recalls(groups, recall, data):
    """Table 1 by the own listener, and by others."""
    records = [record for members in groups.values() for record in members]
    heard = listeners(records, "r@5")
    for prefix in [p for p in heard if p] + [""]:
        level = recall if not prefix else None
        yield _at_recall(groups, prefix, level, data, heard)


def _at_recall(groups, prefix, recall, data, heard):
    name, several = f"{prefix}r@5", len(heard) > 1
    curves, _ = curves_of(groups, "cider_d", name)
    if recall is None:
        recall = operating_point(curves, "recall")
    named = {name: NATURALNESS[name] for name in AT_RECALL_OF}
    records = [record for members in groups.values() for record in members]
    named |= {
        name: title
        for name, title in _BESIDE.items()
        if any(measured(record, name) for record in records)
    }
    columns, notes = [], []
    for measure, title in named.items():
        shown, lacking = curves_of(groups, measure, name)
        columns.append(_compared(shown, recall, "naturalness"))
        notes += absences(groups, lacking, title)
    who = recall_head("", prefix, True).strip()
    level = f"{who} recall@5" if several else "recall@5"
    notes += not_reached(curves, recall, "recall", level)
    return _table(
        (
            "Table 1" if not prefix else f"Table 1, {listener_title(prefix)}",
            f"naturalness at {level} = {number(recall)} %",
        ),
        groups,
        (list(named.values()), columns, 3),
        None if prefix else (AT_RECALL, "on COCO at recall@5 = 80 %."),
        [data, *listener_notes(heard), *notes],
    )


def _at_cider(view, title, groups, level, published, data, name="Table 2"):
    records = [record for members in groups.values() for record in members]
    heard = listeners(records, decoding=view.decoding) or [""]
    several = len(heard) > 1
    columns, heads, notes = [], [], []
    for prefix in heard:
        for recall in RECALLS:
            asked = f"{view.decoding}{prefix}{recall}"
            shown, lacking = curves_of(groups, view.naturalness, asked)
            columns.append(_compared(shown, level, "recall"))
            heads.append(recall_head(recall, prefix, several))
            notes += absences(groups, lacking, f"{view.title} or {heads[-1]}")
    curves, _ = curves_of(
        groups, view.naturalness, f"{view.decoding}{heard[-1]}r@10"
    )
    notes += not_reached(curves, level, "naturalness", view.title)
    # Published columns are the own listener's, which stand last.
    return _table(
        (
            view.named(name),
            f"{title}recall (%) at {view.title} = {number(level)}",
        ),
        groups,
        (heads, columns, 1),
        published,
        [data, *listener_notes(heard), *notes],
    )


def _ablation(records, groups, at, cider, data):
    names = [method_title(name) for name in ABLATION]
    published_on = (
        "on COCO at CIDEr = 1.13, human captions on its validation split."
    )
    table = _at_cider(
        View(),
        "ablation, and human captions below; ",
        {name: rows for name, rows in groups.items() if name in names},
        at if cider is None else cider,
        (ABLATION, published_on),
        data,
        "Table 3",
    )
    # Of whom the table has columns, without the published ones.
    others = [
        prefix
        for prefix in (STRANGERS, FIXED)
        if recall_head(RECALLS[0], prefix, True) in table.head
    ]
    for method, published in HUMAN_CAPTIONS.items():
        rows = [r for r in records if r["method"] == method]
        human = _human(rows, [*others, ""])
        lacking = len(table.head) - 1 - len(published) - len(human)
        quoted = [f"{value:.1f}" for value in published]
        table.rows.append(
            [method_title(method), *["-"] * lacking, *human, *quoted]
        )
    return table


def _human(records, heard):
    """Recalls of human captions, and of how many listeners they are."""
    cells, count = [], 0
    for prefix in heard:
        names = [prefix + recall for recall in RECALLS]
        counted = [record for record in records if measured(record, *names)]
        count = max(count, len(counted))
        cells += [
            cell(mean_interval([r[name] for r in counted]), 1)
            if counted
            else "-"
            for name in names
        ]
    return [*cells, str(count) if count else "-"]


def _table(titles, groups, column_group, published, notes):
    """Rows of all methods that were found or published, side by side."""
    head, columns, digits = column_group
    figures, published_on = published or ({}, "")
    names = {method_title(name): name for name in figures}
    known = [method_title(name) for name in TITLES]
    rows = [name for name in known if name in groups or name in names]
    rows += [name for name in groups if name not in rows]
    # Others than the published columns come before these, or after.
    quoted = len(next(iter(figures.values()), ()))
    shown = head[-quoted:] if "CIDEr-D" not in head else head[:quoted]
    shown = [name.removeprefix("own ") for name in shown if quoted]
    lines = []
    for row in rows:
        cells = [found_cell(column, row, digits) for column in columns]
        seeds = seeds_cell([column.get(row) for column in columns])
        quotes = ["-"] * quoted
        if row in names:
            quotes = [f"{x:.{digits}f}" for x in figures[names[row]]]
        lines.append([row, *cells, seeds, *quotes])
    data, *notes = notes
    note = f" Published: {published_on}" if published_on else ""
    return TradeoffTable(
        *titles,
        ["", *head, "seeds", *(f"published {name}" for name in shown)],
        lines,
        [f"{found_on(data)}{note}", *rho_notes(groups), *notes],
    )


def _compared(curves, at, of):
    return {} if at is None else compare_curves(curves, at, of)

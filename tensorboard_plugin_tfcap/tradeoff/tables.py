"""The paper's Tables 1 to 3 beside what a sweep has found."""

from tensorboard_plugin_tfcap.tradeoff.cells import absences
from tensorboard_plugin_tfcap.tradeoff.cells import cell
from tensorboard_plugin_tfcap.tradeoff.cells import found_cell
from tensorboard_plugin_tfcap.tradeoff.cells import found_on
from tensorboard_plugin_tfcap.tradeoff.cells import not_reached
from tensorboard_plugin_tfcap.tradeoff.cells import number
from tensorboard_plugin_tfcap.tradeoff.cells import seeds_cell
from tensorboard_plugin_tfcap.tradeoff.claims import RECALLS
from tensorboard_plugin_tfcap.tradeoff.claims import claim_table
from tensorboard_plugin_tfcap.tradeoff.claims import point_table
from tensorboard_plugin_tfcap.tradeoff.claims import rho_table
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import compare_curves
from tensorboard_plugin_tfcap.tradeoff.curve_comparison import curve_overlap
from tensorboard_plugin_tfcap.tradeoff.intervals import mean_interval
from tensorboard_plugin_tfcap.tradeoff.methods import HUMAN
from tensorboard_plugin_tfcap.tradeoff.methods import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff.methods import TITLES
from tensorboard_plugin_tfcap.tradeoff.methods import by_method
from tensorboard_plugin_tfcap.tradeoff.methods import curves_of
from tensorboard_plugin_tfcap.tradeoff.methods import measured
from tensorboard_plugin_tfcap.tradeoff.methods import method_title
from tensorboard_plugin_tfcap.tradeoff.published import ABLATION
from tensorboard_plugin_tfcap.tradeoff.published import AT_CIDER
from tensorboard_plugin_tfcap.tradeoff.published import AT_CIDER_NOTE
from tensorboard_plugin_tfcap.tradeoff.published import AT_RECALL
from tensorboard_plugin_tfcap.tradeoff.published import AT_RECALL_OF
from tensorboard_plugin_tfcap.tradeoff.published import HUMAN_CAPTIONS
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable


def curve_tables(
    records, data, recall=None, cider=None, ablation_cider=None, rho=0.25
):
    """The paper's tables beside what a sweep has found.

    Table 1, naturalness at a fixed recall@5; Table 2, recall at a fixed
    CIDEr-D; Table 3, the ablation, and human captions; Figure 3f, recall
    against rho; the claims, as differences of the same seeds; and every point.
    Each seed's curve is read off by itself, never beyond its points. A cell is
    the mean of the seeds that go there with its 95 % interval, and how many
    they are stands beside it.

    Args:
        records: List of dicts, as of `tfcap.training.load_records()`.
        data: String, what they were found on.
        recall: Float in percent, the recall@5 of Table 1. By default the
            greatest that most methods reach.
        cider: Float, the CIDEr-D of Table 2, Figure 3f and the claims. By
            default the greatest that most methods reach; the claims then
            compare each pair at the greatest that both reach.
        ablation_cider: Float, the CIDEr-D of Table 3. That of Table 2 by
            default.
        rho: Float, which one counts where a method has several. Defaults to
            `0.25`.

    Returns:
        List of `TradeoffTable`.

    Example:

    >>> from tfcap.recipes import captioning
    >>> records = [
    ...     {"method": "luo2018", "lambda": x, "seed": seed, "cider_d": 1.3 - x,
    ...      "r@1": 20.0 + seed, "r@5": 50.0, "r@10": 64.0}
    ...     for x in (0.1, 0.2) for seed in (0, 1, 2)
    ... ]
    >>> tables = captioning.curve_tables(records, "made-up words", cider=1.15)
    >>> print(tables[1].rows[6][:3])
    ['Luo et al. 2018', '21.0 [18.5, 23.5]', '50.0 [50.0, 50.0]']

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, Tables 1-3 and Figure 3
    """
    speakers = [r for r in records if r["method"] not in HUMAN]
    groups = by_method(speakers, rho)
    curves, _ = curves_of(groups)
    at = operating_point(curves, "naturalness") if cider is None else cider
    published_on = f"on COCO at CIDEr = 1.2. {AT_CIDER_NOTE}"
    return [
        _at_recall(groups, recall, data),
        _at_cider("Table 2", "", groups, at, AT_CIDER, published_on, data),
        _ablation(records, groups, at, ablation_cider, data),
        rho_table(speakers, at, data),
        claim_table(curves, cider, data),
        point_table(records, data),
    ]


def operating_point(curves, of):
    """The greatest level that most methods reach with all their seeds.

    Where there is one that all reach, this is the greatest of those, which is
    where the paper compares them. A method of one point reaches its own level
    alone, and does not count.

    Args:
        curves: Dict of dicts of `Curve` by seed, by method.
        of: `"naturalness"` or `"recall"`, what the level is of.

    Returns:
        Float, or `None` where there is no curve.
    """
    ranges = [
        curve_overlap(by_seed.values(), of)
        for by_seed in curves.values()
        if all(len(curve) > 1 for curve in by_seed.values())
    ]
    ranges = [both for both in ranges if both is not None]
    if not ranges:
        return None

    def reached(level):
        return sum(low <= level <= high for low, high in ranges), level

    return max((high for _, high in ranges), key=reached)


def _at_recall(groups, recall, data):
    curves, _ = curves_of(groups, "cider_d", "r@5")
    if recall is None:
        recall = operating_point(curves, "recall")
    columns, notes = [], []
    for name in AT_RECALL_OF:
        found, lacking = curves_of(groups, name, "r@5")
        columns.append(_compared(found, recall, "naturalness"))
        notes += absences(groups, lacking, NATURALNESS[name])
    notes += not_reached(curves, recall, "recall", "recall@5")
    return _table(
        ("Table 1", f"naturalness at recall@5 = {number(recall)} %"),
        groups,
        ([NATURALNESS[name] for name in AT_RECALL_OF], columns, 3),
        (AT_RECALL, "on COCO at recall@5 = 80 %."),
        [data, *notes],
    )


def _at_cider(name, title, groups, cider, published, published_on, data):
    columns, notes = [], []
    for recall in RECALLS:
        found, lacking = curves_of(groups, "cider_d", recall)
        columns.append(_compared(found, cider, "recall"))
        notes += absences(groups, lacking, f"CIDEr-D or {recall.upper()}")
    curves, _ = curves_of(groups)
    notes += not_reached(curves, cider, "naturalness", "CIDEr-D")
    return _table(
        (name, f"{title}recall (%) at CIDEr-D = {number(cider)}"),
        groups,
        ([recall.upper() for recall in RECALLS], columns, 1),
        (published, published_on),
        [data, *notes],
    )


def _ablation(records, groups, at, cider, data):
    names = [method_title(name) for name in ABLATION]
    table = _at_cider(
        "Table 3",
        "ablation, and human captions below; ",
        {name: rows for name, rows in groups.items() if name in names},
        at if cider is None else cider,
        ABLATION,
        "on COCO at CIDEr = 1.13, human captions on its validation split.",
        data,
    )
    for method, published in HUMAN_CAPTIONS.items():
        found = _human([r for r in records if r["method"] == method])
        quoted = [f"{value:.1f}" for value in published]
        table.rows.append([method_title(method), *found, *quoted])
    return table


def _human(records):
    """Recalls of human captions, and of how many listeners they are."""
    records = [record for record in records if measured(record, *RECALLS)]
    if not records:
        return ["-"] * (len(RECALLS) + 1)
    values = [[record[name] for record in records] for name in RECALLS]
    return [*(cell(mean_interval(v), 1) for v in values), str(len(records))]


def _table(titles, groups, found, published, notes):
    """Rows of all methods that were found or published, side by side."""
    head, columns, digits = found
    figures, published_on = published
    names = {method_title(name): name for name in figures}
    known = [method_title(name) for name in TITLES]
    rows = [name for name in known if name in groups or name in names]
    rows += [name for name in groups if name not in rows]
    lines = []
    for row in rows:
        cells = [found_cell(column, row, digits) for column in columns]
        seeds = seeds_cell([column.get(row) for column in columns])
        quoted = ["-"] * len(head)
        if row in names:
            quoted = [f"{x:.{digits}f}" for x in figures[names[row]]]
        lines.append([row, *cells, seeds, *quoted])
    data, *notes = notes
    return TradeoffTable(
        *titles,
        ["", *head, "seeds", *(f"published {name}" for name in head)],
        lines,
        [f"{found_on(data)} Published: {published_on}", *notes],
    )


def _compared(curves, at, of):
    return {} if at is None else compare_curves(curves, at, of)

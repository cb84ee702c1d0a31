"""Recall by every listener against naturalness, a panel each."""

from dataclasses import replace

from reproduce.psst_figures.decodings import COMPARED
from reproduce.psst_figures.decodings import DECODINGS
from reproduce.psst_figures.listeners import listener_title
from reproduce.psst_figures.listeners import listeners
from reproduce.psst_figures.methods import HUMAN
from reproduce.psst_figures.methods import by_method
from reproduce.psst_figures.panels import against
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS


def listener_panels(
    records: list[dict],
    recall: str = "r@10",
    rho: float = 0.25,
    naturalness="cider_d",
    decoding="",
    spread="points",
):
    """Recall against naturalness, by listeners that never met the speaker.

    A line for each method joins the means over seeds in the order of lambda.
    The fixed listener comes first, the speaker's own last, on one scale.

    Args:
        naturalness: String, what records call the abscissa, such as
            `"lm_log_prob"`. Defaults to `"cider_d"`.
        decoding: String before the names of scores, `""` or `"beam_"`.
            Defaults to `""`.

    Raises:
        ValueError: If no record has such a recall and naturalness.

    Example:

    >>> point = {"method": "psst_multinomial", "lambda": 1e-3, "seed": 0}
    >>> point |= {"cider_d": 1.2, "r@10": 86.3, "fixed_r@10": 62.0}
    >>> from reproduce.psst_figures import listener_panels
    >>> [panel.title for panel in listener_panels([point])]
    ['fixed listener: never met the speaker', 'own listener: learned with it']
    """
    records = [r for r in records if r["method"] not in HUMAN]
    heard = listeners(records, recall, decoding)
    name = decoding + naturalness
    if not heard or not any(name in record for record in records):
        raise ValueError(
            "`records` must hold points with recall and naturalness. "
            f"Received: {len(records)} points of speakers without "
            f"{decoding}{recall} or {name}. Name others, or evaluate the "
            "sweep again."
        )
    groups = by_method(records, rho)
    title = {**NATURALNESS, **COMPARED}.get(naturalness, naturalness)
    suffix = f", {DECODINGS[decoding]}" if decoding else ""
    return [
        replace(
            against(groups, name, f"{decoding}{prefix}{recall}", spread),
            title=_title(prefix) + suffix,
            x=title,
            y=f"recall@{recall.removeprefix('r@')} (%)",
        )
        for prefix in heard
    ]


def _title(prefix):
    about = "never met the speaker" if prefix else "learned with it"
    return f"{listener_title(prefix)}: {about}"

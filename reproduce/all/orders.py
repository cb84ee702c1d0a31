"""Orders that papers tell of their methods, and what became of them."""

import math

from reproduce.all.runs import gaps
from reproduce.all.runs import title_of
from reproduce.psst_figures.methods import curves_of
from tfcap.curves import compare_curves
from tfcap.curves import curve_overlap
from tfcap.curves import mean_interval

#: Scores by their names in the table, and 1 where more is better.
SCORES = {
    "r@10": ("own R@10", 1),
    "strangers_r@10": ("strangers R@10", 1),
    "cider_d": ("CIDEr-D", 1),
    "rs_div_2": ("Div-2 of samples", 1),
    "unfinished_rate": ("unfinished", -1),
}
_HEARD = ("r@10", "strangers_r@10")
#: Papers, pairs of a method and the one below it, and the scores of that.
ORDERS = (
    *(
        ("PSST", "psst_multinomial", other, _HEARD)
        for other in (
            *("st_multinomial", "reinforce_joint", "luo2018", "psst_speaker"),
            *("dense", "g_gan"),
        )
    ),
    ("PSST", "psst_gumbel", "st_gumbel", _HEARD),
    ("SR-PL", "sr_pl", "luo2018", _HEARD),
    ("SLL-SLE", "sll_sle", "sll", ("cider_d", "rs_div_2")),
    ("SLL-SLE", "sll_sle", "sll_me", ("cider_d", "rs_div_2")),
    ("SPIDEr", "pg_cider", "mixer_cider", ("cider_d",)),
    ("SPIDEr", "pg_cider", "reinforce", ("cider_d",)),
    ("WTF-RL", "wtf_rl", "rl", ("cider_d",)),
    ("WTF-RL", "wtf_rl", "wtf", _HEARD),
    ("WTF-RL", "rl", "rl_unidirectional", _HEARD),
    ("WTF-RL", "wtf_rl", "scst_discriminator", _HEARD),
    ("ReinMax", "psst_reinmax", "psst_multinomial", _HEARD),
    ("Gumbel-Rao", "psst_gumbel_rao", "psst_gumbel", _HEARD),
    (
        "expected end",
        *("psst_expected", "psst_multinomial"),
        ("unfinished_rate", *_HEARD),
    ),
    ("GRPO", "grpo", "scst", ("cider_d", *_HEARD)),
    ("Dr. GRPO", "dr_grpo", "grpo", ("cider_d", *_HEARD)),
    ("DAPO", "dapo", "grpo", ("cider_d", *_HEARD)),
    ("GSPO", "gspo", "grpo", ("cider_d", *_HEARD)),
    ("GDPO", "gdpo", "grpo", ("cider_d", *_HEARD)),
    ("RLOO", "rloo", "ppo", ("cider_d", *_HEARD)),
    ("IPO", "ipo", "dpo", ("cider_d", *_HEARD)),
    ("SimPO", "simpo", "dpo", ("cider_d", *_HEARD)),
)


def order_rows(runs):
    """Rows of the orders of which both methods were run.

    Recall is compared at the greatest CIDEr-D that the curves of both reach,
    each seed's read off by itself; other scores, and recall where the curves
    have no CIDEr-D in common, at equal strength.

    Yields:
        Tuples of a paper, an order in words, at what it is looked at, a score
        in words, its differences by seed and a verdict.
    """
    for paper, first, second, names in ORDERS:
        told = f"{title_of(first)} > {title_of(second)}"
        for name in names:
            title, sign = SCORES[name]
            for at, found in _differences(runs, first, second, name):
                yield paper, told, at, title, found, verdict(found, sign)


def _differences(runs, first, second, name):
    """Pairs of where two methods are compared, and differences by seed."""
    level, found = _at_equal_cider(runs, first, second, name)
    if found:
        return [(f"CIDEr-D = {level:.3g}", found)]
    pairs = []
    for place in runs:
        if place.method == first:
            other = _partner(runs, second, place.numbers)
            found = other and gaps(runs[place], runs[other], name)
            if found:
                pairs.append((place.strength or "-", found))
    return pairs


def _at_equal_cider(runs, first, second, name):
    """Differences of recall where both are as natural, and how natural."""
    if not name.endswith("r@10"):
        return None, []
    groups = {
        method: [
            record
            for place, by_seed in runs.items()
            if place.method == method
            for record in by_seed.values()
        ]
        for method in (first, second)
    }
    if not all(groups.values()):
        return None, []
    curves, lacking = curves_of(groups, "cider_d", name)
    overlap = None if lacking else curve_overlap(curves)
    if overlap is None:
        return None, []
    compared = compare_curves(curves, overlap[1])
    ours, theirs = (compared[method].values for method in (first, second))
    return overlap[1], [ours[x] - theirs[x] for x in ours if x in theirs]


def verdict(found, sign: int = 1) -> str:
    """What differences say of an order, the interval where there is one.

    Example:

    >>> from reproduce.all.orders import verdict
    >>> verdict([1.0, 1.1, 0.9]), verdict([1.0, -1.0]), verdict([-1.0])
    ('holds', 'open', 'turned, one seed')
    """
    mean, low, high = mean_interval([sign * value for value in found])
    if math.isinf(low):
        if mean == 0:
            return "equal, one seed"
        return f"{'holds' if mean > 0 else 'turned'}, one seed"
    if low > 0:
        return "holds"
    return "turned" if high < 0 else "open"


def _partner(runs, method, numbers):
    """Where a method stands at the numbers that both have."""
    for place in runs:
        known = dict(place.numbers)
        same = all(known.get(k, value) == value for k, value in numbers)
        if place.method == method and same:
            return place
    return None

"""Published rankings of methods, and whether they are reproduced."""

import math
from typing import NamedTuple

from reproduce.comparisons.all.rows import FAMILIES
from reproduce.comparisons.all.runs import title_of
from reproduce.score_tables import gaps
from reproduce.score_tables import values
from tfcap.curves import mean_interval

#: Scores by their names in the table, and 1 where more is better.
SCORES = {
    "r@10": ("own R@10", 1),
    "strangers_r@10": ("held-out R@10", 1),
    "cider_d": ("CIDEr-D", 1),
    "rs_div_2": ("Div-2 of samples", 1),
    "unfinished_rate": ("unfinished", -1),
}
_HEARD = ("r@10", "strangers_r@10")
#: The source of comparisons that no paper makes.
OURS = "no paper"
#: Sources, pairs of a method and the one ranked below it, and the scores.
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
    ("ReinMax", "st_reinmax", "st_multinomial", ("cider_d", *_HEARD)),
    ("RLOO", "rloo", "actor_critic", ("cider_d", *_HEARD)),
    ("Dr. GRPO", "dr_grpo", "grpo", ("cider_d", *_HEARD)),
    ("DAPO", "dapo_4", "grpo_4", ("cider_d", *_HEARD)),
    ("GSPO", "gspo", "grpo_4", ("cider_d", *_HEARD)),
    ("GDPO", "gdpo", "grpo", ("cider_d", *_HEARD)),
    ("IPO", "ipo", "dpo", ("cider_d", *_HEARD)),
    ("SimPO", "simpo", "dpo", ("cider_d", *_HEARD)),
    (OURS, "psst_reinmax", "psst_multinomial", _HEARD),
    (OURS, "psst_gumbel_rao", "psst_gumbel", _HEARD),
    (OURS, "psst_expected", "psst_multinomial", ("unfinished_rate", *_HEARD)),
    # Four updates a rollout, and one.
    (OURS, "grpo_4", "grpo", ("cider_d", *_HEARD)),
)
#: Methods that divide CIDEr-D, and not the listener's term, by the number of
#: words: their lambda differs from that of the others.
_PER_WORD = {
    *FAMILIES["joint, through words"],
    *FAMILIES["listener frozen, through words"],
}


class Order(NamedTuple):
    """A comparison of two methods in one score.

    Args:
        source: String, the work that ranks them, or `OURS`.
        told: String, the ranking in words.
        at: String, the strengths at which the two are compared.
        score: String, as tables print it.
        gaps: List of differences by seed.
        natural: List of differences of CIDEr-D, empty unless the score is a
            recall.
        verdict: String, see `verdict()`.
    """

    source: str
    told: str
    at: str
    score: str
    gaps: list
    natural: list
    verdict: str


def orders_of(runs):
    """Yields an `Order` for each ranking of which both methods were run.

    Both are compared at equal lambda; or each at its own lambda, if the two
    lambdas are not comparable or none is equal.
    """
    for source, first, second, names in ORDERS:
        told = f"{title_of(first)} > {title_of(second)}"
        for name in names:
            title, sign = SCORES[name]
            for ours, theirs in _pairs(runs, first, second):
                found = gaps(runs[ours], runs[theirs], name)
                if not found:
                    continue
                natural = gaps(runs[ours], runs[theirs], "cider_d")
                natural = natural if name in _HEARD else []
                judged = verdict(found, sign, natural)
                if is_collapsed(runs[ours]) or is_collapsed(runs[theirs]):
                    judged = "one collapsed"
                at = _strengths(ours, theirs) or "-"
                yield Order(source, told, at, title, found, natural, judged)


def _strengths(ours, theirs):
    """Text of what moves two methods, once if the first tells it of both."""
    if ours.moved.items() >= theirs.moved.items():
        return ours.strength
    both = dict.fromkeys((ours.strength, theirs.strength))
    return "; ".join(filter(None, both))


def _pairs(runs, first, second):
    """Pairs of places at which two methods are compared, of most seeds."""
    pairs = [
        (ours, theirs)
        for ours in runs
        for theirs in runs
        if (ours.method, theirs.method) == (first, second)
    ]
    if (first in _PER_WORD) == (second in _PER_WORD):
        equal = [
            (ours, theirs)
            for ours, theirs in pairs
            if {**ours.moved, **theirs.moved} == {**theirs.moved, **ours.moved}
        ]
        pairs = equal or pairs
    shared = [len(runs[a].keys() & runs[b].keys()) for a, b in pairs]
    most = max(shared, default=0)
    return [
        pair for pair, seeds in zip(pairs, shared) if seeds == most and seeds
    ]


def is_collapsed(by_seed: dict) -> bool:
    """Whether most captions of a row are unfinished or empty."""
    unfinished = values(by_seed, "unfinished_rate")
    words = values(by_seed, "mean_length")
    return bool(
        (unfinished and mean_interval(unfinished).mean > 0.5)
        or (words and mean_interval(words).mean < 1.0)
    )


def verdict(found, sign: int = 1, natural=()) -> str:
    """Returns whether differences confirm a ranking, given their interval.

    Args:
        found: List of differences of a score, by seed.
        sign: Integer, `-1` where less of the score is better.
        natural: List of differences of CIDEr-D, of which more is better.

    Returns:
        `"holds"`, `"reversed"`, `"undecided"` or, if CIDEr-D goes the other
        way, `"a trade"`; with `", one seed"` if there is one difference alone.

    Example:

    >>> from reproduce.comparisons.all.orders import verdict
    >>> verdict([1.0, 1.1, 0.9]), verdict([1.0, -1.0]), verdict([-1.0])
    ('holds', 'undecided', 'reversed, one seed')
    >>> verdict([1.0, 1.1, 0.9], natural=[-0.1, -0.11, -0.1])
    'a trade'
    """
    one = ", one seed" if len(found) == 1 else ""
    way = _shown([sign * value for value in found])
    if not way:
        return ("equal" if one else "undecided") + one
    if _shown(natural) == -way:
        return "a trade" + one
    return ("holds" if way > 0 else "reversed") + one


def _shown(found):
    """The sign of a mean beyond its interval, or of a single difference."""
    if not found:
        return 0
    mean, low, high = mean_interval(found)
    if math.isinf(low):
        low = high = mean
    return int(low > 0) - int(high < 0)

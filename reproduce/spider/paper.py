"""Policy gradient for SPIDEr, and its rival MIXER."""

from reproduce.paper import Paper
from reproduce.sle.paper import RESULTS
from reproduce.sle.paper import SHARED
from reproduce.sle.paper import tables_of_rows
from reproduce.sle.paper import trained_by
from reproduce.spider.rows import POLICY_GRADIENT

SPIDER = Paper(
    "spider",
    rows=POLICY_GRADIENT,
    starts={"mle": "speaker_mle"},
    train=trained_by(POLICY_GRADIENT),
    axes={"rate": tuple(POLICY_GRADIENT)},
    results={x: {} for x in [*RESULTS][:2]},
    tables=tables_of_rows("mle", *POLICY_GRADIENT),
    default=("mle", "reinforce", "pg_cider", "mixer_cider"),
    **SHARED,
)

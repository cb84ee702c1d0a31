"""Evaluates "SPICE (spaCy)": `python -m reproduce.spider.scene_graphs`.

    python -m reproduce.spider.scene_graphs --data FOLDER

Prints the accuracy of its graphs of the embedded world's captions and, with
FOLDER, compares it with SPICE. FOLDER holds `coco_example`
(`results.json.gz`, 1,000 captions of COCO's official example, whose SPICE is
published) and `spice_parses` (`spice_tuples.txt.gz`, captions and the output of
SPICE's own parser; `human_graphs.csv.gz`, captions and human graphs, FACTUAL's
test set).
"""

import argparse
import collections
import csv
import gzip
import importlib.util
import itertools
import json
import pathlib
import re
import sys
import zipfile

import numpy as np

from reproduce.world import COLORS
from reproduce.world import describe
from reproduce.world import sample_scene
from reproduce.world.caption_words import ADJECTIVES
from reproduce.world.caption_words import NOUNS
from reproduce.world.caption_words import PATTERNS
from reproduce.world.caption_words import RELATIONS
from reproduce.world.words import plural
from tfcap._io import command
from tfcap.text import SceneGraph
from tfcap.text import SceneGraphParser
from tfcap.text import caption_tokenize
from tfcap.text import spice_spacy

#: SPICE of COCO's official example, by its program.
PUBLISHED = 0.133
#: SPICE of its own graphs against those of people, as FACTUAL prints it: with
#: synonyms in one object, "plant/planter", and verbs of people, "v:sit", as
#: words of their own.
PUBLISHED_MATCHING = 64.77
_SHAPES = {word: word for words in NOUNS.values() for word in words}
_SHAPES |= {plural(word): word for word in _SHAPES}
_ADJECTIVES = {*COLORS} | {
    word for words in ADJECTIVES.values() for word in words if " " not in word
}
_SIDES = ("left", "right")
#: "man holding a phone" and no stop at the end: SPICE's own parser mostly reads
#: no relation there.
_UNREAD = re.compile(r"^(?!.*(is|are) \w+ing )(?=.*\w+ing ).*[^.]$")
#: Words of adjectives of several words, which are not asked for.
_PARTS = {"medium", "sized", "polka", "dot"}
_FORMS = sorted(itertools.chain(*RELATIONS.values()), key=len, reverse=True)
_RELATION = re.compile(rf"(?:{'|'.join(_FORMS)}) an?((?: \w+)*)")


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce.spider.scene_graphs",
        description='Measures "SPICE (spaCy)".',
    )
    parser.add_argument("--data", type=pathlib.Path, help="folder of files")
    parser.add_argument("--model", help="spaCy pipeline")
    parser.add_argument("--scenes", type=int, default=1000, help="of the world")
    options = parser.parse_args(arguments)
    parse = SceneGraphParser(options.model)
    tell_world(parse, options.scenes)
    if options.data:
        tell_parses(parse, options.data / "spice_parses")
        tell_matching(options.data / "spice_parses")
        tell_corpus(options.data / "coco_example", options.model)
    return 0


def tell_world(parse, scenes):
    """Prints the accuracy of graphs of the world's captions."""
    rng = np.random.default_rng(0)
    captions = [
        text
        for _ in range(scenes)
        for text in describe(sample_scene(rng), rng, 5)
    ]
    words = [*map(caption_tokenize, captions)]
    right = [
        said_of_things(graph) == stated(row)
        for graph, row in zip(parse(words), words)
    ]
    print(f"embedded world: {len(right):,} captions of {scenes:,} scenes")
    print(f"  correct {np.mean(right):.3f}, in all facts about objects")


def stated(words):
    """Facts that a caption of the world states of things, by its grammar.

    Returns:
        Tuple of sets, as `said_of_things()`.
    """
    objects, attributes, relations = set(), set(), set()
    nouns = [i for i, word in enumerate(words) if word in _SHAPES]
    for i in nouns:
        objects.add(_SHAPES[words[i]])
        for word in reversed(words[:i]):
            if word in _ADJECTIVES:
                attributes.add((_SHAPES[words[i]], word))
            elif word not in _PARTS:
                break
    for i, j in itertools.pairwise(nouns):
        between = " ".join(words[i + 1 : j])
        for tail in itertools.chain(*PATTERNS.values()):
            between = between.removeprefix(f"{tail} ")
        phrase = _RELATION.fullmatch(between)
        if phrase and {*phrase[1].split()} <= _ADJECTIVES | _PARTS:
            relations.add((_SHAPES[words[i]], _SHAPES[words[j]]))
    return objects, attributes, relations


def said_of_things(graph):
    """Facts that a graph states of the world's things.

    Returns:
        Tuple of sets: objects, pairs with an attribute, related pairs. A
        relation may have a noun of its own: "to the left of".
    """
    shapes = {*_SHAPES.values()}
    objects = shapes & {*graph.objects}
    attributes = {
        (name, word)
        for name, word in graph.attributes
        if name in shapes and word in _ADJECTIVES
    }
    ends = collections.defaultdict(set)
    for name, _, other in graph.relations:
        ends[name].add(other)
    relations = {
        (name, last)
        for name in shapes
        for other in tuple(ends[name])
        for last in (ends[other] if other in _SIDES else {other})
        if last in shapes
    }
    return objects, attributes, relations


def tell_parses(parse, folder):
    """Prints the agreement with graphs of SPICE's own parser."""
    with gzip.open(folder / "spice_tuples.txt.gz", "rt") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    graphs = parse([text.split() for text, _ in rows])
    pairs = [
        (as_printed(graph), as_printed(read_tuples(tuples)))
        for graph, (_, tuples) in zip(graphs, rows)
    ]
    read = [
        pair for pair, (text, _) in zip(pairs, rows) if not _UNREAD.search(text)
    ]
    print(f"SPICE's own parser: {len(rows):,} captions")
    print(f"  F of tuples {_tuple_f(pairs):.3f}")
    print(f"  F without participles at the end {_tuple_f(read):.3f}")


def as_printed(graph):
    """Sets of tuples; objects are those of other tuples, if there are any.

    So SPICE's program prints a graph.
    """
    named = {name for name, _ in graph.attributes}
    named |= {end for row in graph.relations for end in row[::2]}
    return named or {*graph.objects}, {*graph.attributes}, {*graph.relations}


def read_tuples(text):
    """A graph as SPICE's program and FACTUAL print it.

    Example:

    >>> from reproduce.spider.scene_graphs import read_tuples
    >>> graph = read_tuples("( dog , sit on , bed ) , ( dog , is , big )")
    >>> graph.relations, graph.attributes
    ((('dog', 'sit on', 'bed'),), (('dog', 'big'),))
    """
    objects, attributes, relations = {}, {}, {}
    for row in re.findall(r"\(([^()]*)\)", text):
        parts = [part.strip() for part in row.split(",")]
        name, *middle = parts[:-1] or parts
        relation = " ".join(middle)
        objects[name] = None
        if len(parts) == 1:
            continue
        if relation in ("is", ""):
            attributes[name, parts[-1]] = None
        else:
            objects[parts[-1]] = None
            relations[name, relation, parts[-1]] = None
    return SceneGraph(tuple(objects), tuple(attributes), tuple(relations))


def tell_matching(folder):
    """Prints SPICE of its own parser's graphs against human ones."""
    with gzip.open(folder / "spice_tuples.txt.gz", "rt") as file:
        own = dict(line.rstrip("\n").split("\t") for line in file)
    with gzip.open(folder / "human_graphs.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if row["caption"] in own]
    scores = [
        read_tuples(own[row["caption"]]).f_scores(
            read_tuples(row["scene_graph"])
        )["all"]
        for row in rows
    ]
    print(f"matching alone: {len(rows):,} graphs of SPICE against human ones")
    print(f"  {100 * np.mean(scores):.2f} (published: {PUBLISHED_MATCHING})")


def tell_corpus(folder, model):
    """Prints the score of COCO's official example."""
    with gzip.open(folder / "results.json.gz") as file:
        results = {r["image_id"]: r["caption"] for r in json.load(file)}
    references = {image: [] for image in results}
    spec = importlib.util.find_spec("pycocoevalcap")
    folder = pathlib.Path(spec.submodule_search_locations[0])
    with zipfile.ZipFile(folder / "spice" / "spice-1.0.jar") as archive:
        name = "coco/annotations/captions_val2014.json"
        for row in json.loads(archive.read(name))["annotations"]:
            if row["image_id"] in references:
                references[row["image_id"]].append(row["caption"])
    texts = [*results.values(), *(t for r in references.values() for t in r)]
    words = map(caption_tokenize, texts)
    said = [next(words) for _ in results]
    several = [[next(words) for _ in row] for row in references.values()]
    score = spice_spacy(said, several, model)
    error = 1.96 * score.each.std(ddof=1) / len(said) ** 0.5
    print(f"COCO's official example: {len(said):,} images")
    print(f"  {score.corpus:.4f} +- {error:.4f} (SPICE: {PUBLISHED})")


def _tuple_f(pairs):
    """Micro-averaged F of tuples of all kinds."""
    hits = sum(len(a & b) for ours, true in pairs for a, b in zip(ours, true))
    sizes = sum(len(kind) for pair in pairs for side in pair for kind in side)
    return 2 * hits / sizes


if __name__ == "__main__":
    sys.exit(main())

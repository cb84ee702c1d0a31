"""SPICE (spaCy): graphs of captions, and their comparison by hand."""

import importlib.util

import numpy as np
import pytest

from tfcap.text import MissingScoreError
from tfcap.text import SceneGraph
from tfcap.text import SceneGraphParser
from tfcap.text import evaluate_captions
from tfcap.text import spice_spacy
from tfcap.text.scores.spice_spacy import scene_graph_parser


def graph(*rows):
    """A graph of "dog", "dog | big" and "dog | sit on | bed"."""
    rows = [tuple(row.split(" | ")) for row in rows]
    return SceneGraph(
        *(tuple(row for row in rows if len(row) == n) for n in (1, 2, 3))
    )._replace(objects=tuple(row[0] for row in rows if len(row) == 1))


@pytest.mark.parametrize(
    ("caption", "rows"),
    [
        ("two young girls", "girl | two, girl | young"),
        ("a black and white cat", "cat | black, cat | white"),
        ("a street sign on a pole", "sign | street, sign | on | pole"),
        ("a man rides a horse", "man | ride | horse"),
        ("a dog is sitting on a bed", "dog | sit on | bed"),
        (
            "a man wearing a suit and a tie",
            "man | wear | suit, man | wear | tie",
        ),
        ("the sky is blue", "sky | blue"),
        ("there is a cat on the table", "cat | on | table"),
        ("the cat is under the table", "cat | under | table"),
        ("the dog 's tail", "dog | have | tail"),
        ("a woman holding her bag", "woman | hold | bag, woman | have | bag"),
        ("the rock has moss on it", "rock | have | moss, moss | on | rock"),
        ("a bus in front of a building", "bus | in front of | building"),
        ("a tree next to a house", "tree | next to | house"),
        ("a couple of dogs", ""),
        ("a table covered with books", "table | cover with | book"),
        ("a snow covered mountain", "snow | cover | mountain"),
        ("a girl standing", "girl | stand"),
        ("a photo of a cat on a bed", "photo | of | cat, cat | on | bed"),
        ("a row of cars on a road", "row | of | car, car | on | road"),
        ("a ball left of a box", "ball | left of | box"),
        ("we see a dog on a bed", "dog | on | bed"),
        ("pillows on a bed", "pillow | on | bed"),
        (
            "a girl in a blue striped dress",
            "girl | in | dress, dress | blue, dress | striped",
        ),
    ],
)
def test_graphs_are_those_of_the_rules(scene_graphs, caption, rows):
    (found,) = scene_graphs([caption.split()])
    wanted = {tuple(row.split(" | ")) for row in rows.split(", ") if row}
    assert {*found.attributes, *found.relations} == wanted
    ends = {end for row in wanted for end in row[:: len(row) - 1]}
    assert ends - {row[1] for row in found.attributes} <= {*found.objects}


def test_long_captions_do_not_exhaust_the_stack(scene_graphs):
    (graph,) = scene_graphs([["running"] * 999])
    assert graph.relations == ()


def test_a_caption_is_parsed_once(scene_graphs, monkeypatch):
    parse = SceneGraphParser()
    seen = []

    def docs(captions, docs=parse._docs):
        seen.extend(captions)
        return docs(captions)

    monkeypatch.setattr(parse, "_docs", docs)
    captions = [["a", "dog"], [], ["a", "dog"]]
    assert parse(captions)[0] == parse(captions)[2] == graph("dog")
    assert parse(captions)[1] == SceneGraph() and len(seen) == 2
    assert parse([["a", "", "dog"]]) == [graph("dog")] and len(seen) == 2
    # To spaCy, numbers are words that it knows.
    with pytest.raises(TypeError, match="must hold strings.*Decode ids"):
        parse([["a"], [3, 4]])


def test_tuples_match_by_words_and_synonyms(few_words):
    said = graph("dog", "cup", "dog | big", "dog | two", "dog | on | cup")
    true = graph("hound", "box", "dog", "hound | two", "hound | red")
    # The dog and the hound are one; cup and box, big and red are not.
    scores = said.f_scores(true)
    precision, recall = 2 / 5, 2 / 4
    wanted = 2 * precision * recall / (precision + recall)
    assert scores["all"] == pytest.approx(wanted)
    assert scores["objects"] == scores["attributes"] == 0.5
    assert scores["relations"] == scores["size"] == scores["color"] == 0
    assert scores["count"] == 1
    empty = SceneGraph().f_scores(SceneGraph())
    assert empty["all"] == 0 and np.isnan(empty["objects"])


def test_scores_are_those_by_hand(scene_graphs, few_words):
    captions = ["a big dog", "a red cup on a table"]
    references = [["a hound", "the dog runs"], ["a blue cup on the table"]]
    scores = spice_spacy(
        [text.split() for text in captions],
        [[text.split() for text in row] for row in references],
        categories=True,
    )
    # dog, big against dog, run; cup, red, table, on against blue for red.
    assert scores["all"].each.tolist() == [0.5, 0.75]
    assert scores["all"].corpus == 0.625
    assert scores["color"].corpus == 0 and np.isnan(scores["color"].each[0])
    report = evaluate_captions(captions, references, ["spider_spacy"])
    both = report.scores["cider_d"].each + scores["all"].each
    np.testing.assert_allclose(report.scores["spider_spacy"].each, both / 2)
    assert report.scores["spice_spacy"].corpus == 0.625
    assert "spice_spacy_count" not in report.scores
    table = report.table()
    assert "SPICE (spaCy)     0.6250" in table and "  color   " in table


def test_what_is_missing_is_named(scene_graphs, few_words, monkeypatch):
    with pytest.raises(MissingScoreError, match="'no_model' is not installed"):
        spice_spacy([["a"]], [[["a"]]], model="no_model")
    (few_words / "meteor-1.5.jar").unlink()
    with pytest.raises(MissingScoreError, match="SPICE .spaCy. is absent"):
        spice_spacy([["dog"]], [[["cat"]]])


def test_without_spacy_it_is_absent(monkeypatch):
    def find_spec(name, package=None, find=importlib.util.find_spec):
        return None if name == "spacy" else find(name, package)

    monkeypatch.setattr("importlib.util.find_spec", find_spec)
    scene_graph_parser.cache_clear()
    report = evaluate_captions(
        ["a", "b"], [["a"], ["b"]], ["rouge_l", "spider_spacy"]
    )
    scene_graph_parser.cache_clear()
    assert {*report.absent} == {"spice_spacy", "spider_spacy"}
    assert "'tfcap[spice]'" in str(report.absent["spice_spacy"])

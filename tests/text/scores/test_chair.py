import pickle

import numpy as np
import pytest

from tfcap.text import caption_tokenize
from tfcap.text import evaluate_captions
from tfcap.text.scores.chair import ObjectSynonyms
from tfcap.text.scores.chair import chair

#: As a list in the published format has them.
LINES = [
    *("person, woman, man, adult, baby , passenger", "dog, puppy", "hot dog"),
    *("sandwich, sub", "train, locomotive", "chair, seat, stool", "knife"),
    *("toilet, lavatory", "tie, bow, bow tie", "oven, stove top oven, stove"),
    *("wine glass", "elephant", "couch,  sofa", "", "skis, ski", "bus"),
]


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    path = tmp_path_factory.mktemp("objects") / "synonyms.txt"
    path.write_text("\n".join(LINES), encoding="utf-8-sig")
    return ObjectSynonyms.of(path)


@pytest.mark.parametrize(
    ("caption", "wanted"),
    [
        ("Women and men on two sofas.", "person person couch"),
        ("Puppies eat a hot dog, hot dogs!", "dog hot-dog hot-dog"),
        ("a baby elephant and a baby", "elephant person"),
        ("an adult dog in a passenger train", "dog train"),
        ("a passenger on the train tracks", "person"),
        ("the lavatory's seat; a toilet seat", "toilet toilet"),
        ("a seat and stools", "chair chair"),
        ("a man in a bow tie with knives", "person tie knife"),
        ("a stove top oven, three glasses, wine glasses", "oven wine-glass"),
        ("buses, a bus and a pair of skis on couches", "bus bus skis couch"),
        ("is this his ass? as it goes", ""),
        ("", ""),
    ],
)
def test_objects_are_found_by_their_names(objects, caption, wanted):
    found = objects.mentioned(caption_tokenize(caption))
    assert [name.replace(" ", "-") for name in found] == wanted.split()


def test_the_names_of_objects_are_the_first(objects):
    assert objects.object_of("Sofa") == "couch"
    assert objects.object_of("zebra") == "zebra"


def test_lists_without_names_are_refused(tmp_path):
    for nothing in ([], [["", " "]]):
        with pytest.raises(ValueError, match="`groups` must hold names"):
            ObjectSynonyms(nothing)
    (tmp_path / "list").write_text(" , \n\n")
    with pytest.raises(ValueError, match="none. Give a line for each object"):
        ObjectSynonyms.of(tmp_path / "list")


CAPTIONS = ["a dog on a couch", "two women", "a bus, a train, a bus", "grass"]
REFERENCES = [
    ["A puppy sleeps.", "pillows"],
    ["Two men"],
    ["a locomotive"],
    ["grass"],
]


def scores(objects, annotated=None):
    candidates = [caption_tokenize(x) for x in CAPTIONS]
    references = [[caption_tokenize(x) for x in row] for row in REFERENCES]
    return chair(candidates, references, objects, annotated)


def test_shares_of_mentions_and_of_captions(objects):
    instance, sentence = scores(objects)
    # Mentions: dog, couch; person; bus, train, bus; none.
    np.testing.assert_allclose(instance.each, [1 / 2, 0, 2 / 3, 0])
    np.testing.assert_array_equal(sentence.each, [1, 0, 1, 0])
    assert instance.corpus == pytest.approx(3 / 6)
    assert sentence.corpus == 0.5
    annotated = [{"sofa"}, set(), ["bus", "zebra"], []]
    instance, sentence = scores(objects, annotated)
    assert instance.corpus == sentence.corpus == 0.0
    with pytest.raises(ValueError, match="3 entries for 4 captions"):
        scores(objects, annotated[:3])
    instance, _ = pickle.loads(pickle.dumps(scores(objects)))
    weights = np.array([[1, 0, 0, 3], [0, 1, 2, 1], [0, 0, 0, 4]])
    wanted = [1 / 2, 4 / 7, np.nan]
    np.testing.assert_allclose(instance.resampled(weights), wanted)


def test_an_evaluation_has_both_and_says_that_less_is_better(objects):
    report = evaluate_captions(CAPTIONS, REFERENCES, ["chair"], objects=objects)
    assert report.scores["chair_i"].corpus == pytest.approx(0.5)
    assert "CHAIR-s" in report.table() and "Lower CHAIR-i and" in report.table()
    report = evaluate_captions(CAPTIONS, REFERENCES, ["chair"])
    assert "CHAIR       absent" in report.table()
    assert "BSD 2-Clause" in report.table()


def test_captions_without_any_object_have_no_share(objects):
    report = evaluate_captions(
        ["grass", "\U0001f600"],
        [["a dog"], ["dogs"]],
        ["chair"],
        objects=objects,
    )
    content = report.to_dict([7, 8], ["grass", "\U0001f600"])
    assert content["corpus"] == {"chair_i": None, "chair_s": 0.0}
    assert content["wordless"] == [8]
    assert "Captions without words, scored as empty: 1" in report.table()

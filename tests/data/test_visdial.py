import gzip
import json
import re

import numpy as np
import pytest

from tests.data.conftest import make_content
from tfcap.data import load_visdial


def turn(content, dialog=2, round_=1):
    return content["data"]["dialogs"][dialog]["dialog"][round_]


@pytest.mark.parametrize("version", ["0.9", "1.0"])
def test_every_index_lands_where_the_file_has_it(write, version):
    content = make_content(version=version)
    packed = gzip.compress(json.dumps(content).encode())
    split = load_visdial(write(packed))
    assert len(split) == 6 and split.options.shape == (6, 4, 7)
    assert split.options.dtype == np.int32
    for d, dialog in enumerate(content["data"]["dialogs"]):
        assert split.image_ids[d] == dialog["image_id"]
        assert split.captions[d] == dialog["caption"]
        for r, said in enumerate(dialog["dialog"]):
            assert split.question_index[d, r] == said["question"]
            assert split.answer_index[d, r] == said["answer"]
            assert split.options[d, r].tolist() == said["answer_options"]
            assert split.gt_index[d, r] == said["gt_index"]
    assert split.relevance is None


def test_the_test_split_may_be_short_and_end_without_answer(write):
    content = make_content(split="test")
    dialogs = content["data"]["dialogs"]
    for said in dialogs[0]["dialog"][:-1]:
        del said["answer_options"], said["gt_index"]
    for key in "answer", "gt_index":
        del dialogs[0]["dialog"][-1][key]
    dialogs[1]["dialog"] = dialogs[1]["dialog"][:2]
    # A truth without its options ranks nothing.
    del turn(content)["answer_options"]
    turn(content)["gt_index"] = 3
    split = load_visdial(write(content))
    assert (split.question_index[0] >= 0).all()
    assert split.answer_index[0, -1] == split.gt_index[0, -1] == -1
    assert (split.options[0, :-1] == -1).all()
    assert (split.options[0, -1] >= 0).all()
    assert split.question_index[1].tolist()[2:] == [-1, -1]
    assert split.gt_index[2, 1] == -1 and (split.options[2, 1] == -1).all()
    assert (split.gt_index[2, [0, 2, 3]] >= 0).all()


@pytest.mark.parametrize(
    "split, number", [("train", 4), ("val2018", 4), ("test", 3)]
)
def test_no_other_round_may_be_without_answer(write, split, number):
    content = make_content(split=split)
    said = turn(content, round_=number - 1)
    del said["answer"], said["gt_index"]
    place = rf"dialog 2 \(image 102\), round {number} "
    with pytest.raises(ValueError, match=place + "`answer` is None"):
        load_visdial(write(content))


def test_what_a_file_lacks_has_more_or_says_otherwise_is_understood(write):
    content = make_content()
    content["license"] = "CC BY 4.0"
    content["data"]["dialogs"][0]["suggested_split"] = "val"
    turn(content)["refined"] = {"answer_options": None}
    # A missing truth is found among the options.
    wanted = turn(content).pop("gt_index")
    # The truth may be another entry with the same text.
    content["data"]["answers"].append("yes")
    said = turn(content, dialog=4)
    said["answer_options"][said["gt_index"]] = 0
    said["answer"] = len(content["data"]["answers"]) - 1
    split = load_visdial(write(content))
    assert split.gt_index[2, 1] == wanted
    assert split.tags.tolist() == ["val", "", "", "", "", ""]


def in_turn(**values):
    return lambda content: turn(content).update(values)


def in_dialog(**values):
    return lambda content: content["data"]["dialogs"][2].update(values)


def drop_truth(content):
    said = turn(content)
    del said["gt_index"]
    said["answer"] = (set(range(10)) - set(said["answer_options"])).pop()


PLACE = r"dialog 2 \(image 102\), round 2 "
OPTIONS = PLACE + "`answer_options` are not 7 of the answers"


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda c: c.pop("data"), "where `data` is missing"),
        (lambda c: c["data"].pop("answers"), "`data` `answers` is missing"),
        (lambda c: c["data"]["questions"].append(3), "entry 4 is no text"),
        (in_dialog(caption=None), r"dialog 2 \(image 102\) `caption`"),
        (in_dialog(dialog=[3]), r"image 102\) a round is no object"),
        (in_dialog(image_id=100), "second dialog of image 100"),
        (lambda c: turn(c).pop("question"), PLACE + "`question` is None, not"),
        (in_turn(question=4), PLACE + r"`question` is 4, not in 0\.\.3"),
        (in_turn(answer=-1), PLACE + "`answer` is -1"),
        (in_turn(gt_index=7), PLACE + r"`gt_index` is 7, not in 0\.\.6"),
        (in_turn(gt_index=1.0), PLACE + r"`gt_index` is 1\.0"),
        (lambda c: turn(c).pop("answer_options"), OPTIONS),
        (in_turn(answer_options=[1, 2]), OPTIONS),
        (in_turn(answer_options=[0.5] * 7), OPTIONS),
        (in_turn(answer_options=[2**40] * 7), OPTIONS),
        (in_turn(answer_options=[0, 1, 2, 10, 4, 5, 6]), OPTIONS),
        (
            in_turn(answer_options=[*range(7)], answer=3, gt_index=2),
            PLACE + "option 2 is not the answer",
        ),
        (drop_truth, PLACE + "option 0 is not the answer"),
    ],
)
def test_a_malformed_file_is_refused_with_file_dialog_and_cure(
    write, change, message
):
    content = make_content()
    change(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_visdial(write(content, "tiny.json"))
    assert "tiny.json" in str(caught.value)
    assert re.search("visualdialog.org|Keep one dialog", str(caught.value))


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_refused_by_name(write, zipped, share):
    data = json.dumps(make_content()).encode()
    data = gzip.compress(data) if zipped else data
    path = write(data[: int(share * len(data))], "cut.json")
    with pytest.raises(ValueError, match="cut.json.*(cut off|nothing).*copy"):
        load_visdial(path)


@pytest.fixture
def annotate(write):
    def load(*entries):
        dense = write([*entries], "dense.json")
        return load_visdial(write(make_content()), dense_annotations=dense)

    return load


def entry(**changes):
    values = [0.0, 0.2, 0.4, 0.0, 1.0, 0.0, 0.0]
    made = {"image_id": 103, "round_id": 2, "gt_relevance": values}
    return {**made, **changes}


def test_relevance_lands_in_its_round_and_is_nan_elsewhere(annotate):
    split = annotate(entry(image_id=9), entry())
    relevance = split.relevance
    np.testing.assert_allclose(relevance[3, 1], entry()["gt_relevance"])
    assert np.isnan(relevance).sum() == relevance.size - 7
    assert split.select([3]).relevance[0, 1, 4] == 1.0


def test_the_training_sample_names_it_otherwise(annotate):
    sample = entry()
    sample["relevance"] = sample.pop("gt_relevance")
    assert annotate(sample).relevance[3, 1, 4] == 1.0


@pytest.mark.parametrize(
    "entries, message",
    [
        ([3], "annotation 0 there is no object"),
        ([entry(image_id=None)], "`image_id` is None and not an integer"),
        ([entry(round_id=0)], r"image 103\), round 0 `round_id`"),
        ([entry(round_id=5)], r"`round_id` is not in 1\.\.4"),
        ([entry(gt_relevance=[1.0])], "are not 7 numbers from 0 to 1"),
        ([entry(gt_relevance=["x"] * 7)], "are not 7 numbers from 0 to 1"),
        ([entry(gt_relevance=[1.1] * 7)], "are not 7 numbers from 0 to 1"),
        ([entry(), entry()], "round 2 the round is annotated twice"),
        ([entry(image_id=9)], "no annotation is about an image"),
    ],
)
def test_malformed_annotations_are_refused_by_place(annotate, entries, message):
    with pytest.raises(ValueError, match=message) as caught:
        annotate(*entries)
    assert "dense.json" in str(caught.value)


def test_selected_rows_keep_their_content_in_the_asked_order(visdial):
    rows = np.arange(2, 5)
    views, copies = visdial.select(rows), visdial.select(rows[::-1])
    assert views.captions == visdial.captions[2:5]
    assert np.shares_memory(views.options, visdial.options)
    assert not np.shares_memory(copies.options, visdial.options)
    for name in ("image_ids", "options", "gt_index", "answer_index"):
        wanted = getattr(visdial, name)[rows]
        np.testing.assert_array_equal(getattr(views, name), wanted)
        np.testing.assert_array_equal(getattr(copies, name), wanted[::-1])
    assert copies.answers is visdial.answers
    late = visdial.select(visdial.image_ids > 103)
    assert late.image_ids.tolist() == [104, 105]
    assert visdial.select([-1]).image_ids == visdial.image_ids[[-1]]
    assert len(visdial.select([])) == 0

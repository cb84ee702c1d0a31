import gzip
import json
import re

import numpy as np
import pytest

from tfcap.data import load_visdial


def turn(content, dialog=2, round_=1):
    return content["data"]["dialogs"][dialog]["dialog"][round_]


@pytest.mark.parametrize("version", ["0.9", "1.0"])
def test_every_index_lands_where_the_file_has_it(
    visdial_content, visdial_file, version
):
    content = visdial_content(version=version)
    split = load_visdial(visdial_file(content))
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


def test_a_gzipped_file_reads_the_same(visdial_content, tmp_path):
    path = tmp_path / "visdial.json.gz"
    path.write_bytes(gzip.compress(json.dumps(visdial_content()).encode()))
    assert len(load_visdial(path)) == 6


def test_the_test_split_may_be_short_and_end_without_answer(
    visdial_content, visdial_file
):
    content = visdial_content(split="test")
    dialogs = content["data"]["dialogs"]
    for said in dialogs[0]["dialog"][:-1]:
        del said["answer_options"], said["gt_index"]
    for key in "answer", "gt_index":
        del dialogs[0]["dialog"][-1][key]
    dialogs[1]["dialog"] = dialogs[1]["dialog"][:2]
    split = load_visdial(visdial_file(content))
    assert (split.question_index[0] >= 0).all()
    assert split.answer_index[0, -1] == split.gt_index[0, -1] == -1
    assert (split.options[0, :-1] == -1).all()
    assert (split.options[0, -1] >= 0).all()
    assert split.question_index[1].tolist()[2:] == [-1, -1]


def test_a_truth_without_its_options_ranks_nothing(
    visdial_content, visdial_file
):
    content = visdial_content(split="test")
    del turn(content)["answer_options"]
    turn(content)["gt_index"] = 3
    split = load_visdial(visdial_file(content))
    assert split.gt_index[2, 1] == -1 and (split.options[2, 1] == -1).all()
    assert (split.gt_index[2, [0, 2, 3]] >= 0).all()


@pytest.mark.parametrize("split", ["train", "val2018"])
def test_no_other_split_may_end_without_answer(
    visdial_content, visdial_file, split
):
    content = visdial_content(split=split)
    last = turn(content, round_=3)
    del last["answer"], last["gt_index"]
    place = r"dialog 2 \(image 102\), round 4 "
    with pytest.raises(ValueError, match=place + "`answer` is None"):
        load_visdial(visdial_file(content))


def test_a_missing_truth_is_found_among_the_options(
    visdial_content, visdial_file
):
    content = visdial_content()
    wanted = turn(content).pop("gt_index")
    assert load_visdial(visdial_file(content)).gt_index[2, 1] == wanted


def test_unknown_keys_are_skipped_and_tags_kept(visdial_content, visdial_file):
    content = visdial_content()
    content["license"] = "CC BY 4.0"
    turn(content)["refined"] = {"answer_options": None}
    content["data"]["dialogs"][0]["suggested_split"] = "val"
    split = load_visdial(visdial_file(content))
    assert split.tags.tolist() == ["val", "", "", "", "", ""]


def test_the_truth_may_be_another_entry_with_the_same_text(
    visdial_content, visdial_file
):
    content = visdial_content()
    content["data"]["answers"].append("yes")
    said = turn(content)
    said["answer_options"][said["gt_index"]] = 0
    said["answer"] = len(content["data"]["answers"]) - 1
    load_visdial(visdial_file(content))


def drop(*keys):
    def mutate(content):
        record = turn(content)
        for key in keys:
            del record[key]

    return mutate


def put(**values):
    return lambda content: turn(content).update(values)


def in_dialog(**values):
    return lambda content: content["data"]["dialogs"][2].update(values)


PLACE = r"dialog 2 \(image 102\), round 2 "


@pytest.mark.parametrize(
    "mutate, message",
    [
        (lambda c: c.pop("data"), "where `data` is missing"),
        (lambda c: c["data"].pop("answers"), "`data` `answers` is missing"),
        (lambda c: c["data"]["questions"].append(3), "entry 4 is no text"),
        (lambda c: c["data"]["dialogs"][2].pop("image_id"), "dialog 2 `im"),
        (in_dialog(caption=None), r"dialog 2 \(image 102\) `caption`"),
        (in_dialog(dialog={}), r"dialog 2 \(image 102\) `dialog`"),
        (in_dialog(dialog=[3]), r"image 102\) a round is no object"),
        (in_dialog(image_id=100), "second dialog of image 100"),
        (drop("question"), PLACE + "`question` is None, not in 0"),
        (drop("answer"), PLACE + "`answer` is None"),
        (drop("answer_options"), PLACE + "`answer_options` are not 7"),
        (put(question=4), PLACE + r"`question` is 4, not in 0\.\.3"),
        (put(answer=-1), PLACE + "`answer` is -1"),
        (put(answer="3"), PLACE + "`answer` is '3'"),
        (put(gt_index=7), PLACE + r"`gt_index` is 7, not in 0\.\.6"),
        (put(gt_index=1.0), PLACE + r"`gt_index` is 1\.0"),
        (put(answer_options=[1, 2]), PLACE + "`answer_options` are not 7"),
        (put(answer_options=[0.5] * 7), PLACE + "`answer_options` are not 7"),
        (
            put(answer_options=[0, 1, 2, 10, 4, 5, 6]),
            PLACE + "`answer_options` are not 7 of the answers",
        ),
        (
            put(answer_options=list(range(7)), answer=3, gt_index=2),
            PLACE + "option 2 is not the answer",
        ),
        (put(answer_options=[2**40] * 7), PLACE + "`answer_options` are not"),
    ],
)
def test_a_malformed_file_is_refused_with_file_dialog_and_cure(
    visdial_content, visdial_file, mutate, message
):
    content = visdial_content()
    mutate(content)
    with pytest.raises(ValueError, match=message) as caught:
        load_visdial(visdial_file(content))
    assert "visdial_tiny.json" in str(caught.value)
    assert re.search("visualdialog.org|Keep one dialog", str(caught.value))


def test_an_answer_that_no_option_gives_is_refused(
    visdial_content, visdial_file
):
    content = visdial_content()
    said = turn(content)
    del said["gt_index"]
    said["answer"] = (set(range(10)) - set(said["answer_options"])).pop()
    with pytest.raises(ValueError, match=PLACE + "option 0 is not the answer"):
        load_visdial(visdial_file(content))


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_truncated_file_is_refused_by_name(
    visdial_content, tmp_path, zipped, share
):
    data = json.dumps(visdial_content()).encode()
    data = gzip.compress(data) if zipped else data
    path = tmp_path / "visdial_cut.json"
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(
        ValueError, match="visdial_cut.*(cut off|nothing).*copy"
    ):
        load_visdial(path)


def test_the_real_dialogs_load_and_say_what_they_say(real_visdial):
    split = load_visdial(real_visdial)
    assert split.options.shape == (1851, 10, 100)
    assert (split.tags == "train").sum() == 1677
    truth = np.take_along_axis(split.options, split.gt_index[..., None], -1)
    np.testing.assert_array_equal(truth[..., 0], split.answer_index)


@pytest.mark.parametrize("bad", [1.0, "1", None, 2**40, -1, 10])
def test_options_are_integers_of_answers(visdial_content, visdial_file, bad):
    content = visdial_content()
    turn = content["data"]["dialogs"][2]["dialog"][1]
    place = turn["answer_options"].index(turn["answer"])
    turn["answer_options"][place - 1] = bad
    with pytest.raises(ValueError, match="round 2 .*answer_options"):
        load_visdial(visdial_file(content))


@pytest.fixture
def annotate(visdial_file, tmp_path):
    def load(entries):
        path = tmp_path / "dense.json"
        path.write_text(json.dumps(entries))
        return load_visdial(visdial_file(), dense_annotations=path)

    return load


def entry(**changes):
    values = [0.0, 0.2, 0.4, 0.0, 1.0, 0.0, 0.0]
    made = {"image_id": 103, "round_id": 2, "gt_relevance": values}
    return {**made, **changes}


def test_relevance_lands_in_its_round_and_is_nan_elsewhere(annotate):
    other = entry(image_id=9)
    relevance = annotate([other, entry()]).relevance
    np.testing.assert_allclose(relevance[3, 1], entry()["gt_relevance"])
    assert np.isnan(relevance).sum() == relevance.size - 7


def test_the_training_sample_names_it_otherwise(annotate):
    sample = entry()
    sample["relevance"] = sample.pop("gt_relevance")
    assert annotate([sample]).relevance[3, 1, 4] == 1.0


def test_selection_keeps_relevance_with_its_dialog(annotate):
    assert annotate([entry()]).select([3]).relevance[0, 1, 4] == 1.0


@pytest.mark.parametrize(
    "entries, message",
    [
        ({}, "no list"),
        ([3], "annotation 0 there is no object"),
        ([entry(image_id=None)], "`image_id` is None and not an integer"),
        ([entry(round_id=0)], r"image 103\), round 0 `round_id`"),
        ([entry(round_id=5)], r"`round_id` is not in 1\.\.4"),
        ([entry(gt_relevance=[1.0])], "are not 7 numbers from 0 to 1"),
        ([entry(), entry()], "round 2 the round is annotated again"),
        ([entry(gt_relevance=["x"] * 7)], "are not 7 numbers from 0 to 1"),
        ([entry(image_id=9)], "no annotation is about an image"),
    ],
)
def test_malformed_annotations_are_refused_by_place(annotate, entries, message):
    with pytest.raises(ValueError, match=message) as caught:
        annotate(entries)
    assert "dense.json" in str(caught.value)

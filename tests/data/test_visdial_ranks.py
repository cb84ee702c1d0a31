import dataclasses
import json

import numpy as np
import pytest

from tests.data.conftest import OPTIONS
from tests.visdial_files import hidden_content
from tfcap.data import load_visdial
from tfcap.data import write_visdial_ranks


@pytest.fixture
def hidden(visdial_file):
    """Dialogs of 1, 2, 3, 4 and 1 rounds, the last of each to rank."""
    return load_visdial(visdial_file(hidden_content()))


def permutations(split):
    keys = np.random.default_rng(0).random(split.options.shape)
    return np.argsort(keys, axis=-1) + 1


def test_the_hidden_split_has_one_round_to_rank_for_each_dialog(hidden):
    lengths = (hidden.question_index >= 0).sum(-1)
    assert lengths.tolist() == [1, 2, 3, 4, 1]
    assert (hidden.gt_index == -1).all()
    for d, length in enumerate(lengths):
        assert hidden.answer_index[d, length - 1] == -1
        listed = (hidden.options[d] >= 0).all(-1)
        assert np.flatnonzero(listed).tolist() == [length - 1]


def test_a_round_without_options_has_no_truth_among_them(visdial_file):
    content = hidden_content()
    content["data"]["dialogs"][3]["dialog"][1]["gt_index"] = 2
    split = load_visdial(visdial_file(content))
    assert split.gt_index[3, 1] == -1


def test_every_round_with_options_is_written_and_no_other(hidden, tmp_path):
    path, ranks = tmp_path / "ranks.json", permutations(hidden)
    assert write_visdial_ranks(path, hidden, ranks) == 5
    found = json.loads(path.read_text())
    assert [list(entry) for entry in found] == [
        ["image_id", "round_id", "ranks"]
    ] * 5
    lengths = [1, 2, 3, 4, 1]
    for d, (entry, length) in enumerate(zip(found, lengths)):
        assert entry["image_id"] == 500 + d
        assert entry["round_id"] == length
        assert entry["ranks"] == ranks[d, length - 1].tolist()
        assert sorted(entry["ranks"]) == list(range(1, OPTIONS + 1))
        assert all(type(rank) is int for rank in entry["ranks"])


def test_a_split_with_answers_has_all_its_rounds_written(
    visdial_file, tmp_path
):
    split = load_visdial(visdial_file())
    path = tmp_path / "ranks.json"
    assert write_visdial_ranks(path, split, permutations(split)) == 24
    places = [
        (e["image_id"], e["round_id"]) for e in json.loads(path.read_text())
    ]
    assert places == [(100 + d, r) for d in range(6) for r in range(1, 5)]


def change(place, value):
    def changed(split, ranks):
        ranks[place] = value
        return split, ranks

    return changed


def without_options(split, ranks):
    options = split.options.copy()
    options[1] = -1
    return dataclasses.replace(split, options=options), ranks


@pytest.mark.parametrize(
    "spoil, message",
    [
        (change((2, 2, 0), 0), r"image 502, round 3: \[0, "),
        (change((2, 2), [1, 1, 3, 4, 5, 6, 7]), "permutation of 1..7"),
        (change((0, 0), np.arange(7)), "image 500, round 1"),
        (lambda s, r: (s, r[:, :2]), r"ranks.shape=\(5, 2, 7\)"),
        (lambda s, r: (s, r / 1), "of float64"),
        (without_options, r"1 dialogs without, such as .*\[501\]"),
    ],
)
def test_ranks_that_the_server_would_refuse_are_not_written(
    hidden, tmp_path, spoil, message
):
    dialogs, ranks = spoil(hidden, permutations(hidden))
    with pytest.raises(ValueError, match=message):
        write_visdial_ranks(tmp_path / "ranks.json", dialogs, ranks)
    assert not list(tmp_path.glob("*ranks*"))

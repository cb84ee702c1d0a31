"""Rewards with TRL's signature, without tensors."""

import ast
import json
import pathlib
import pickle
import re
import sys
import types
import zipfile

import numpy as np
import pytest

from tests.caption_files import coco
from tfcap.text import DocumentFrequencies
from tfcap.text import MissingScoreError
from tfcap.text import Vocabulary
from tfcap.text import bleu
from tfcap.text import cider_d
from tfcap.text import rouge_l
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.document_frequencies import coco_document_frequencies
from tfcap.text.rewards import CaptionReward
from tfcap.text.rewards import bleu_reward
from tfcap.text.rewards import cider_d_reward
from tfcap.text.rewards import cider_r_reward
from tfcap.text.rewards import claim_reward
from tfcap.text.rewards import meteor_reward
from tfcap.text.rewards import rouge_l_reward
from tfcap.text.scores.chair import chair
from tfcap.text.scores.cider import cider_r
from tfcap.text.scores.scores import Scores

DOCS = pathlib.Path(__file__).parents[3] / "docs"
CORPUS = [
    ["Two dogs play.", "Some dogs are running!"],
    ["A red bus", "The bus is red."],
    ["A cat on a mat"],
]
COMPLETIONS = ["Two dogs run.", "A red bus.", "a cat", "A red bus."]
COLUMN = [CORPUS[0], CORPUS[1], CORPUS[2][0], np.array(CORPUS[1])]
LISTS = [CORPUS[0], CORPUS[1], CORPUS[2], CORPUS[1]]


def expected(score, **options):
    """The scores of the completions as an evaluation has them."""
    return score(
        caption_tokenize_batch(COMPLETIONS),
        [caption_tokenize_batch(texts) for texts in LISTS],
        **options,
    ).each


def called(reward, **columns):
    """What a reward returns to a trainer that passes all it has."""
    return reward(
        prompts=["Describe."] * len(COMPLETIONS),
        completions=COMPLETIONS,
        completion_ids=[[5]] * len(COMPLETIONS),
        **(columns or {"references": COLUMN}),
        trainer_state=None,
    )


def test_scores_are_those_of_an_evaluation(tmp_path):
    table = DocumentFrequencies.from_references(CORPUS)
    table.save(tmp_path / "table.npz")
    wanted = expected(cider_d, document_frequencies=table)
    assert wanted[1] > wanted[2] > 0
    for source in (CORPUS, table, tmp_path / "table.npz", iter(CORPUS)):
        reward = cider_d_reward(source)
        np.testing.assert_allclose(called(reward), wanted)
    wanted = expected(cider_r, document_frequencies=table)
    np.testing.assert_allclose(called(cider_r_reward(table)), wanted)
    np.testing.assert_allclose(called(rouge_l_reward()), expected(rouge_l))
    wanted = expected(lambda *x: bleu(*x, max_order=2, smoothing="floor")[1])
    reward = bleu_reward(max_order=2, smoothing="floor")
    np.testing.assert_allclose(called(reward), wanted)
    assert reward.__name__ == "bleu_2"
    assert {type(score) for score in called(reward)} == {float}


def test_the_end_of_a_caption_counts():
    corpus = [["a dog on a mat"], ["a cat on a mat"], ["a dog"], ["a cat"]]
    unseen = DocumentFrequencies.from_references(corpus, count_eos=False)
    (cut, whole), (cut_unseen, whole_unseen) = (
        cider_d_reward(frequencies)(
            ["a dog on a", "a dog on mat"], references=[corpus[0]] * 2
        )
        for frequencies in (corpus, unseen)
    )
    assert cut - whole < cut_unseen - whole_unseen


def test_meteor_knows_synonyms(few_words):
    assert meteor_reward()(["hound"], references=["dog"])[0] > 0


def test_claims_of_a_caption_are_held_against_the_references(tmp_path):
    (tmp_path / "objects.txt").write_text("dog, hound\nbus\ncup\ncat")
    said = ["two buses and hounds", "a bus, a bus, a cat", "red", "a cup"]
    seen = [["dogs", "a cup"], ["bus", "cat"], ["a cup"], ["red"]]
    wanted = {
        "precision": [1 / 2, 1, 1, 0],
        "recall": [1 / 2, 1, 0, 1],
        "f1": [1 / 2, 1, 0, 0],
    }
    column = {"references": "objects"}
    for measure, scores in wanted.items():
        reward = claim_reward(tmp_path / "objects.txt", measure, **column)
        assert reward.__name__ == f"claim_{measure}"
        assert pickle.loads(pickle.dumps(reward))(said, objects=seen) == scores
    hallucinated, _ = chair(
        [text.replace(",", "").split() for text in said],
        [[text.split() for text in several] for several in seen],
        tmp_path / "objects.txt",
    )
    assert wanted["precision"] == (1 - hallucinated.each).tolist()


def test_claims_may_be_those_of_a_parser():
    pairs = claim_reward(lambda words: [*zip(words, words[1:])], "recall")
    assert pairs(["a red bus"], references=["a red bus stops"]) == [2 / 3]
    with pytest.raises(ValueError, match='"precision", "recall" or "f1".*"?f2'):
        claim_reward([["dog"]], "f2")


def test_meteor_is_refused_where_it_is_made(no_meteor):
    with pytest.raises(MissingScoreError, match="tfcap\\[coco\\]"):
        meteor_reward()


def message(content, role="assistant"):
    return {"role": role, "content": content}


@pytest.mark.parametrize(
    "completion",
    [
        [message("A red bus.")],
        [message("I ask"), message("a dog", "tool"), message("A red bus.")],
        [message([{"type": "text", "text": "A red bus."}, {"type": "image"}])],
    ],
)
def test_conversations_are_read(completion):
    reward = rouge_l_reward()
    assert reward([completion], references=["a red bus"]) == [1.0]


def test_nothing_is_worth_nothing_and_without_truth_there_is_no_reward():
    reward = rouge_l_reward(references="truth")
    said = ["", [], [message(None)], "...\u2028\U0001f600", "a dog", "a dog"]
    said += ["a dog " * 501]
    truth = [["a dog"]] * 4 + [[], None, ["a dog"]]
    assert reward(said, truth=truth) == [0.0] * 4 + [None, None, 0.0]
    assert reward([], truth=[]) == []


def test_what_is_the_same_is_scored_once():
    asked = []

    def score(candidates, references):
        asked.append((candidates, references))
        return Scores(0.0, np.arange(len(candidates)) + 1.0)

    reward = CaptionReward(score, "numbers", extract=lambda text: text[4:])
    said = ["so: A bus's", "so: a dog", "so: A bus's", "so: A bus's"]
    found = reward(said, references=["A bus!", "A dog", "A bus!", "Buses"])
    assert found == [1.0, 2.0, 1.0, 3.0]
    ((candidates, references),) = asked
    assert candidates == [["a", "bus", "'s"], ["a", "dog"], ["a", "bus", "'s"]]
    assert references == [[["a", "bus"]], [["a", "dog"]], [["buses"]]]


@pytest.mark.parametrize(
    ("completions", "columns", "error", "match"),
    [
        (["a"], {"refs": ["a"]}, ValueError, "Received: none, and .*'refs'"),
        (["a"], {"references": []}, ValueError, "Received: 0 entries"),
        ([5], {"references": ["a"]}, TypeError, "`completions` must be str"),
        ([[5]], {"references": ["a"]}, TypeError, "Received: \\[5\\]"),
        (["a"], {"references": [["a", 5]]}, TypeError, "'a', 5"),
    ],
)
def test_what_is_no_text_is_refused(completions, columns, error, match):
    with pytest.raises(error, match=match):
        rouge_l_reward()(completions, **columns)


def test_bad_options_are_refused(tmp_path):
    ids = DocumentFrequencies.from_references(
        [[["a"]], [["b"]]], Vocabulary(["a", "b"])
    )
    with pytest.raises(ValueError, match="counted in ids"):
        cider_d_reward(ids)
    with pytest.raises(FileNotFoundError):
        cider_d_reward(tmp_path / "none.npz")
    with pytest.raises(ValueError, match="`sigma` must be positive"):
        cider_d_reward(CORPUS, sigma=0)
    with pytest.raises(ValueError, match="`smoothing` must be one of"):
        bleu_reward(smoothing="some")
    for order in (0, "4", True):
        with pytest.raises(ValueError, match="`max_order` must be an integer"):
            bleu_reward(max_order=order)
    with pytest.raises(TypeError, match="must be a string. Received: text=5"):
        rouge_l_reward(extract=len)(["a bus"], references=["a"])


def failing(candidates, references):
    raise MissingScoreError("SPICE", "it is not here", "Get it.")


def test_processes_score_alike_and_tell_what_went_wrong():
    reward = cider_d_reward(CORPUS, num_workers=2)
    wanted = called(cider_d_reward(CORPUS))
    again = pickle.loads(pickle.dumps(reward))
    assert again.__name__ == "cider_d"
    assert called(reward) == wanted == called(reward)
    reward = CaptionReward(failing, "failing", num_workers=1)
    with pytest.raises(MissingScoreError, match="SPICE is absent: it is not"):
        called(reward)


def test_frequencies_of_coco_are_counted_once(
    fake_package, tmp_path, monkeypatch
):
    monkeypatch.setenv("TFCAP_CACHE", str(tmp_path / "cache"))
    path = fake_package / "spice" / "spice-1.0.jar"
    with zipfile.ZipFile(path, "w") as jar:
        name = "coco/annotations/captions_train2014.json"
        jar.writestr(name, json.dumps(coco(dict(enumerate(CORPUS)))))
    wanted = called(cider_d_reward(CORPUS))
    assert called(cider_d_reward("coco")) == wanted
    (kept,) = (tmp_path / "cache" / "coco").iterdir()
    with monkeypatch.context() as without:
        without.setattr("json.loads", None)
        assert called(cider_d_reward("coco")) == wanted
    kept.write_bytes(kept.read_bytes()[:-9])
    assert called(cider_d_reward("coco")) == wanted
    counted = coco_document_frequencies(count_eos=False)
    assert not counted.count_eos and len({*kept.parent.iterdir()}) == 2
    monkeypatch.setenv("TFCAP_CACHE", str(kept))
    with pytest.warns(UserWarning, match="Set TFCAP_CACHE to a folder"):
        assert called(cider_d_reward("coco")) == wanted


def test_the_lines_for_other_trainers_run(monkeypatch, capsys):
    """The blocks of docs/rewards_for_other_trainers.md, but TRL's."""
    frequencies = DocumentFrequencies.from_references(CORPUS)
    module = "tfcap.text.rewards.score_rewards"
    monkeypatch.setattr(
        f"{module}.coco_document_frequencies", lambda: frequencies
    )

    class ORM:
        def __init__(self, args=None):
            pass

    swift = types.SimpleNamespace(ORM=ORM, orms={})
    monkeypatch.setitem(sys.modules, "swift", types.ModuleType("swift"))
    monkeypatch.setitem(sys.modules, "swift.rewards", swift)
    text = (DOCS / "rewards_for_other_trainers.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    lines = [block for block in blocks if "GRPOTrainer" not in block]
    spaces = [{} for _ in lines]
    for block, names in zip(lines, spaces):
        exec(block, names)
    first, last = map(ast.literal_eval, capsys.readouterr().out.split("\n")[:2])
    assert 0 < first[0] < 10 and 0 < last[0] < 1
    wanted = called(cider_d_reward(CORPUS))
    reward = swift.orms["cider_d"](args=None)
    assert called(reward, solution=COLUMN) == wanted
    scores = [
        spaces[2]["compute_score"]("coco", text, true, extra_info={})
        for text, true in zip(COMPLETIONS, COLUMN)
    ]
    assert scores == pytest.approx(wanted)
    assert len(blocks) == 5

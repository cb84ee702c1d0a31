"""Several captions of every image: how good, and how different."""

import numpy as np
import pytest
from keras import ops

from tests.scribe import LENGTH
from tests.scribe import VOCABULARY
from tests.scribe import Batches
from tests.scribe import Scribe
from tests.scribe import encode
from tfcap._ops import sequence_mask
from tfcap.decoding import BeamSearch
from tfcap.decoding import Decoder
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.text import caption_tokenize
from tfcap.text import cider_d
from tfcap.training import Evaluator
from tfcap.training.speaker_report import DiversityReport

HUMAN = [["A dog runs.", "the dog"], ["The cat sits", "a red cat"], ["a mat"]]
SAID = [
    ["a dog runs", "the dog sits"],
    ["a cat", "a cat"],
    ["a red mat", "the mat on a mat"],
]


class Told(Decoder):
    """Says two things of every image, the second of which it knows."""

    def decode(self, speaker, state, references=None, training=False):
        first = ops.cast(state["script"], "int32")
        table = np.stack([encode([a])[0] for a, _ in SAID])
        other = np.stack([encode([b])[0] for _, b in SAID])
        same = ops.all(first[:, None] == table[None], axis=-1)
        place = ops.argmax(ops.cast(same, "int32"), axis=-1)
        second = ops.take(ops.convert_to_tensor(other), place, axis=0)
        tokens = ops.stack([first, ops.cast(second, "int32")], axis=1)
        return Rollout(tokens, sequence_mask(tokens, speaker.eos))


def batches():
    return Batches([first for first, _ in SAID], HUMAN)


def test_scores_are_those_of_the_protocol():
    report = Evaluator(Scribe(), batches()).diversity(Told())
    assert report.captions == SAID
    human = [[caption_tokenize(text) for text in row] for row in HUMAN]
    each = np.stack(
        [
            cider_d([row[i].split() for row in SAID], human).each
            for i in range(2)
        ],
        axis=1,
    )
    scores = report.scores
    np.testing.assert_allclose(
        scores["mean_cider_d"], each.mean(), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        scores["best_cider_d"], each.max(1).mean(), rtol=1e-6, atol=1e-6
    )
    # Words: 5 of 6, 2 of 4, 5 of 8; pairs: 4, 1, 5 or 6 of as many words.
    np.testing.assert_allclose(
        scores["div_1"], np.mean([5 / 6, 2 / 4, 5 / 8]), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        scores["div_2"], np.mean([4 / 6, 1 / 4, 6 / 8]), rtol=1e-5, atol=1e-6
    )
    assert 0 < scores["mutual_bleu_4"] < 1


@pytest.mark.parametrize(
    "decoder",
    [
        Sample(Categorical(seed=0), 5, LENGTH),
        BeamSearch(5, LENGTH),
        BeamSearch(6, LENGTH, groups=3, no_repeat_ngram=3),
    ],
)
def test_samples_and_beams_are_read(decoder):
    evaluate = Evaluator(
        Scribe(), batches(), vocabulary=VOCABULARY, batch_size=2
    )
    report = evaluate.diversity(decoder)
    assert len(report.captions) == 3
    assert {len(row) for row in report.captions} == {
        getattr(decoder, "width", 5)
    }
    assert all(np.isfinite(value) for value in report.scores.values())
    head, row = str(report).splitlines()
    assert head.split("  ")[0] == "mean_cider_d" and len(head) == len(row)


def test_one_caption_an_image_is_refused():
    with pytest.raises(ValueError, match="`decoder` must say two captions"):
        Evaluator(Scribe(), batches()).diversity(Greedy(LENGTH))


def test_one_image_has_no_cider_d_and_all_else():
    report = DiversityReport.from_captions(SAID[:1], HUMAN[:1])
    assert set(report.scores) == {"div_1", "div_2", "mutual_bleu_4"}
    assert report.scores["div_1"] == pytest.approx(5 / 6)
    assert "cider" not in str(report) and "div_1" in str(report)


def test_texts_of_other_images_are_refused():
    with pytest.raises(ValueError, match="Received: 2 for 3 images"):
        Evaluator(Scribe(), batches(), texts=HUMAN[:2]).diversity(Told())

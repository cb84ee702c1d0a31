import collections
import dataclasses

import keras
import numpy as np
import pytest

from tfcap.data import EncodedDialogs
from tfcap.data import build_vocabulary
from tfcap.data import load_visdial
from tfcap.data.visdial_split import question_tokens
from tfcap.text import as_vocabulary
from tfcap.text import word_tokenize


@pytest.fixture
def dialogs(visdial):
    return EncodedDialogs.from_split(visdial, build_vocabulary(visdial, 1))


@pytest.mark.parametrize(
    "given, pad", [({"split": "character"}, None), ({}, "<s>")]
)
def test_pieces_and_other_padding_are_refused(visdial, given, pad):
    layer = keras.layers.TextVectorization(
        standardize=None, vocabulary=["<s>", "</s>", "a", "b"], **given
    )
    vocabulary = as_vocabulary(layer, bos="<s>", eos="</s>", pad=pad)
    with pytest.raises(ValueError, match="`vocabulary` must have whole"):
        EncodedDialogs.from_split(visdial, vocabulary)


def test_a_question_ends_in_one_question_mark():
    assert question_tokens("any people?") == ["any", "people", "?"]
    assert question_tokens("any people") == ["any", "people", "?"]
    assert question_tokens("") == ["?"]


def test_words_count_as_often_as_they_are_said(visdial):
    counts = collections.Counter()
    for caption in visdial.captions:
        counts.update(word_tokenize(caption))
    for question in visdial.question_index.ravel():
        counts.update(question_tokens(visdial.questions[question]))
    for answer in visdial.answer_index.ravel():
        counts.update(word_tokenize(visdial.answers[answer]))
    for least in 1, 5:
        wanted = {word for word, count in counts.items() if count >= least}
        assert set(build_vocabulary(visdial, least).words) == wanted


def test_history_is_the_caption_then_the_exchange_before(visdial, dialogs):
    rows = np.array([5, 0])
    history = dialogs.history(rows)
    assert history.shape == (2, 4, dialogs.history_length)
    assert history.dtype == np.int32
    for b, d in enumerate(rows):
        said = dialogs.vocabulary.decode_batch(history[b])
        assert said[0] == visdial.captions[d]
        for r in range(1, 4):
            question = visdial.questions[visdial.question_index[d, r - 1]]
            answer = visdial.answers[visdial.answer_index[d, r - 1]]
            words = question_tokens(question) + word_tokenize(answer)[:8]
            assert said[r] == " ".join(words)
            assert not history[b, r, len(words) :].any()


def test_tables_are_as_wide_as_their_longest_row_and_no_wider(visdial, dialogs):
    # Answers end, and long ones are cut.
    assert dialogs.answers.shape == (10, 9)
    ends = dialogs.answers == dialogs.vocabulary.eos
    assert ends.sum(-1).tolist() == [1] * 10 and ends[9, -1]
    wide = EncodedDialogs.from_split(visdial, dialogs.vocabulary, 3, 30, 30)
    assert wide.captions.shape == (6, 3)
    assert wide.questions.shape == (4, 5)
    assert wide.answers.shape == (10, 13)


def test_absent_rounds_are_all_zero(encoded):
    last = [len(encoded) - 1]
    assert encoded.question(last)[0, :2].any(-1).all()
    assert not encoded.question(last)[0, 2:].any()
    assert not encoded.answer(last)[0, 1:].any()
    assert encoded.history(last)[0, :2].any(-1).all()
    assert not encoded.history(last)[0, 2:].any()


def test_the_published_data_have_the_published_lengths(real_visdial):
    split = load_visdial(real_visdial)
    assert split.options.shape == (1851, 10, 100)
    truth = np.take_along_axis(split.options, split.gt_index[..., None], -1)
    np.testing.assert_array_equal(truth[..., 0], split.answer_index)
    train = split.select(split.tags == "train")
    assert len(train) == 1677
    vocabulary = build_vocabulary(train)
    dialogs = EncodedDialogs.from_split(train, vocabulary)
    assert dialogs.captions.shape[1] == dialogs.history_length == 24
    assert dialogs.questions.shape[1] == 16
    assert dialogs.answers.shape[1] == 9
    questions = dialogs.question(np.arange(0, len(train), 100))
    unknown = (questions == vocabulary.unk).sum()
    assert unknown / np.count_nonzero(questions) < 0.03


def test_selected_dialogs_are_those_of_the_whole(dialogs):
    relevance = np.random.default_rng(0).random(dialogs.options.shape)
    dialogs = dataclasses.replace(dialogs, relevance=relevance)
    rows = np.array([3, 0])
    some = dialogs.select(rows)
    assert len(some) == 2 and some.rounds == dialogs.rounds
    for name in ("question", "answer", "history"):
        np.testing.assert_array_equal(
            getattr(some, name)(np.arange(2)), getattr(dialogs, name)(rows)
        )
    for name in ("image_ids", "options", "gt_index", "relevance"):
        wanted = getattr(dialogs, name)[rows]
        np.testing.assert_array_equal(getattr(some, name), wanted)
    without = dataclasses.replace(dialogs, relevance=None)
    assert without.select(rows).relevance is None

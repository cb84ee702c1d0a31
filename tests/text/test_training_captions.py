import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings

import tfcap
from tests.text.scores import naive
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.scores.caption_statistics import novelty
from tfcap.text.training_captions import NgramLanguageModel


@settings(max_examples=30, deadline=None)
@given(naive.sets)
def test_n_grams_that_training_never_says_are_counted(sets):
    training, said = sets[0], [c for members in sets for c in members[1:]]
    found = tfcap.text.TrainingCaptions(training).scores(said)
    for name, order in (("novel_bigrams", 2), ("novel_trigrams", 3)):
        known = {g for words in training for g in naive.ngrams(words, order)}
        new, of = [], []
        for words in said:
            counts = naive.ngrams(words, order)
            new.append(sum(c for g, c in counts.items() if g not in known))
            of.append(sum(counts.values()))
        assert found[name].corpus == pytest.approx(sum(new) / max(sum(of), 1))
        each = np.array(new) / np.maximum(of, 1)
        np.testing.assert_allclose(found[name].each, each)


def test_language_is_told_alike_of_any_case_and_punctuation():
    plain = ["the the dog the dog with the", "a bus", "a bus"]
    cased = ["The the dog, the dog with the.", "A bus!", "a bus"]
    training = tfcap.text.TrainingCaptions(plain)
    found, wanted = (
        tfcap.text.caption_language(said, training) for said in (cased, plain)
    )
    np.testing.assert_equal(found, wanted)
    assert wanted["distinct_captions"] == 2 and wanted["vocabulary_size"] == 5
    assert wanted["bad_ending_rate"].each.tolist() == [1, 0, 0]


def test_other_scores_are_those_of_their_functions():
    texts = ["A dog runs.", "A cat runs.", "Two dogs"]
    words = caption_tokenize_batch(texts)
    said = [["a", "dog", "runs"], ["two", "cats"]]
    training = tfcap.text.TrainingCaptions(texts)
    found = training.scores(said)
    model = NgramLanguageModel(words)
    assert found["lm_log_prob"].corpus == model.log_prob(said).corpus
    assert found["novelty"] == novelty(said, words)[:1] + (
        pytest.approx([0, 1]),
    )
    assert training.language_model is training.language_model


def test_one_string_is_refused():
    with pytest.raises(TypeError, match="a list of captions"):
        tfcap.text.TrainingCaptions("a dog")
    with pytest.raises(ValueError, match="`captions`"):
        tfcap.text.TrainingCaptions([])

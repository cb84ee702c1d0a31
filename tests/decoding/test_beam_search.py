import numpy as np
import pytest
from keras import ops

from tests import tiny
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy


def search(speaker, **arguments):
    return tiny.decode(BeamSearch(**arguments), speaker)


def assert_beams(found, captions, scores):
    """Both rows have these captions, in this order, and their scores."""
    for tokens, own in zip(found.tokens, found.scores):
        tokens, own = tokens[: len(captions)], own[: len(captions)]
        np.testing.assert_array_equal(tokens, captions)
        np.testing.assert_allclose(own, scores, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kind", "width", "count"),
    [(tiny.TableSpeaker, 5, 3), (tiny.MemorySpeaker, 15, 15)],
)
def test_wide_beams_find_the_most_likely_captions(kind, width, count, seed):
    speaker = kind(seed)
    scores = np.log(tiny.chances(speaker, 3))
    best = np.argsort(-scores)[:count]
    found = search(speaker, width=width, max_length=3)
    assert_beams(found, tiny.captions(3)[best], scores[best])


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_length_penalty_ranks_by_the_score_over_a_power_of_the_length(alpha):
    speaker = tiny.TableSpeaker(2)
    table = ops.convert_to_numpy(speaker.table)
    found = search(speaker, width=5, max_length=3, length_penalty=alpha)
    plain = search(speaker, width=5, max_length=3)
    captions = np.array(plain.tokens)[0]
    logs = np.log([tiny.probability(table, c) for c in captions])
    scores = logs / (captions != 0).sum(axis=-1) ** alpha
    best = np.argsort(-scores)
    assert_beams(found, captions[best], scores[best])
    assert (np.array(found.tokens) != np.array(plain.tokens)).any()


def test_one_beam_is_greedy():
    speaker = tiny.TableSpeaker(1)
    found = search(speaker, width=1, max_length=4)
    greedy = tiny.decode(Greedy(max_length=4), speaker)
    np.testing.assert_array_equal(found.tokens, greedy.tokens)


def test_of_a_wide_beam_the_best_may_be_all_that_is_returned():
    speaker = tiny.TableSpeaker(2)
    all_of_them = search(speaker, width=4, max_length=3)
    best = search(speaker, width=4, max_length=3, num_samples=1)
    for ours, theirs in zip(best, all_of_them):
        if np.ndim(ours):
            np.testing.assert_array_equal(ours, theirs[:, :1])


@pytest.mark.parametrize(
    "length, most, groups, suppress",
    [
        (1, 3, 1, ()),
        (2, 7, 1, ()),
        (1, 6, 2, ()),
        (2, 3, 1, (4,)),
        (2, 4, 1, (tiny.EOS,)),
    ],
)
def test_all_that_can_be_said_is_found_and_the_rest_of_a_beam_is_empty(
    length, most, groups, suppress
):
    speaker = tiny.TableSpeaker()
    options = {"max_length": length, "suppress": suppress, "groups": groups}
    found = search(speaker, width=most, diversity=0.0, **options)
    captions = [
        tuple(caption)
        for caption in tiny.captions(length)
        if not set(caption) & set(suppress)
    ]
    for row in np.array(found.tokens).tolist():
        assert sorted(map(tuple, row)) == sorted(captions * groups)
    wide = search(speaker, width=most + groups, diversity=0.0, **options)
    assert not np.array(wide.mask)[:, most:].any()
    np.testing.assert_array_equal(wide.tokens[:, :most], found.tokens)


def test_words_that_a_speaker_rules_out_are_none_that_can_be_said():
    # Neither a word nor an end token.
    speaker = tiny.FixedSpeaker([-1e9] * 3 + [0.3, 0.1], eos=(2, 3))
    speaker.suppressed_ids = (0, tiny.BOS, 2)
    found = BeamSearch(3, 3).decode(speaker, speaker.begin(None))
    for row in np.array(found.tokens).tolist():
        assert sorted(row) == [[3, 0, 0], [4, 3, 0], [4, 4, 3]]


def test_beams_with_nothing_left_to_say_are_empty_and_last():
    speaker = tiny.TableSpeaker()
    # ".", "3.", "4.", "34.", "43.", and not "33" or "44": five of six.
    found = search(speaker, width=6, max_length=3, no_repeat_ngram=1)
    tokens = np.array(found.tokens)
    for row in tokens.tolist():
        assert sorted(row[:5]) == [
            [2, 0, 0], [3, 2, 0], [3, 4, 2], [4, 2, 0], [4, 3, 2],
        ]  # fmt: skip
    assert not tokens[:, 5].any()
    np.testing.assert_array_equal(found.mask, tokens > 0)
    assert np.array(found.scores)[:, 5].max() < -1e8


def diverse_by_a_loop(table, width, groups, diversity, max_length):
    """Diverse beam search of one row; an ended caption stays, at no cost."""
    size = width // groups
    beams = [[(0.0, 0.0, ())] for _ in range(groups)]
    for _ in range(max_length):
        said = np.zeros(tiny.VOCABULARY)
        for g, beam in enumerate(beams):
            paths = []
            for standing, total, words in beam:
                if words[-1:] in ((tiny.EOS,), (0,)):
                    paths.append((standing, total, (*words, 0)))
                    continue
                row = tiny.scores(table[words[-1] if words else tiny.BOS])
                for word, score in row.items():
                    rank = standing + score - diversity * said[word]
                    paths.append((rank, total + score, (*words, word)))
            beams[g] = sorted(paths, key=lambda path: -path[0])[:size]
            for *_, words in beams[g]:
                said[words[-1]] += 1
    found = [path[1:] for beam in beams for path in beam]
    return sorted(found, key=lambda path: -path[0])


@pytest.mark.parametrize(("end", "diversity"), [(-30.0, 0.7), (1.0, 2.0)])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("width", "groups"), [(4, 2), (3, 3)])
def test_groups_search_as_a_loop_does(seed, width, groups, end, diversity):
    speaker = tiny.TableSpeaker(seed)
    table = ops.convert_to_numpy(speaker.table).copy()
    table[:, tiny.EOS] += end
    speaker.table.assign(table)
    expected = diverse_by_a_loop(table, width, groups, diversity, 3)
    found = search(
        speaker, width=width, max_length=3, groups=groups, diversity=diversity
    )
    scores, captions = zip(*expected)
    assert_beams(found, captions, scores)


def test_groups_without_diversity_find_the_same_twice():
    speaker = tiny.TableSpeaker(2)
    found = search(speaker, width=4, max_length=3, groups=2, diversity=0.0)
    alone = search(speaker, width=2, max_length=3)
    for row in range(2):
        said = sorted(map(tuple, np.array(found.tokens)[row]))
        once = sorted(map(tuple, np.array(alone.tokens)[row]))
        assert said == sorted(once * 2)


def test_diversity_makes_captions_differ():
    speaker = tiny.TableSpeaker(2)
    found = search(speaker, width=3, max_length=3, groups=3, diversity=50.0)
    first = np.array(found.tokens)[:, :, 0]
    assert all(len(set(row)) == 3 for row in first.tolist())


def test_a_caption_without_words_is_found_where_padding_is_the_end():
    speaker = tiny.TableSpeaker(0)
    speaker.pad = tiny.EOS
    bias = np.zeros((tiny.VOCABULARY, tiny.VOCABULARY), "float32")
    bias[tiny.BOS, tiny.EOS] = 4.0
    speaker.table.assign_add(bias)
    found = search(speaker, width=2, max_length=3)
    said = tiny.decode(Greedy(max_length=3), speaker)
    np.testing.assert_array_equal(found.tokens[:, 0], said.tokens[:, 0])
    np.testing.assert_array_equal(found.mask[:, 0], [[1, 0, 0]] * 2)
    assert np.all(found.nonempty)

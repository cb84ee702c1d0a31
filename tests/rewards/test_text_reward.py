import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tfcap._ops import reference_mask
from tfcap.decoding import Rollout
from tfcap.rewards import TextReward
from tfcap.rewards.text_rewards import _Remembered
from tfcap.text.scores.scores import Scores

BATCH = captions.Batch()
TEXTS = [[" ".join(c) for c in rows] for rows in BATCH.captions]


class Recorder:
    """Scores captions by their length, and remembers what it was asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        return self.scored(texts, None)

    def scored(self, texts, references):
        self.calls.append((texts, references))
        return [len(text) for text in texts]


def lengths():
    rows = [[captions.ids(row, eos=False) for row in r] for r in BATCH.tokens]
    decode = captions.VOCABULARY.decode
    return np.array([[len(decode(ids)) for ids in row] for row in rows])


def score(reward, tokens=BATCH.tokens, human=BATCH.human, **columns):
    episode = captions.episode(human)
    episode.inputs.update(columns)
    return np.asarray(reward(captions.rollout(tokens), episode))


@pytest.fixture
def scorer():
    return Recorder()


def test_captions_come_as_text_and_those_that_are_alike_once(scorer):
    reward = TextReward(scorer, captions.VOCABULARY)
    np.testing.assert_array_equal(score(reward), lengths())
    found = score(reward, np.tile(BATCH.tokens[:2], (3, 1, 1)))
    np.testing.assert_array_equal(found, np.tile(lengths()[:2], (3, 1)))
    (every, _), (texts, _) = scorer.calls
    assert every[0] == TEXTS[0][0] and all(type(t) is str for t in every)
    assert len(texts) == len(set(texts)) <= 6


def test_references_come_with_the_captions_of_their_image(scorer):
    reward = TextReward(scorer.scored, captions.VOCABULARY)
    tokens, human = BATCH.tokens[[0, 0, 1]], BATCH.human[[0, 2, 1]]
    tokens[:, 1] = tokens[:, 0]
    score(reward, tokens, human)
    ((texts, references),) = scorer.calls
    # Twice the same caption: of one image once, of two images twice.
    assert texts.count(TEXTS[0][0]) == 2
    for i, image in ((0, 0), (texts.index(TEXTS[0][0], 1), 2)):
        wanted = [" ".join(c) for c in BATCH.references[image]]
        assert references[i] == wanted


@pytest.mark.parametrize(("eos", "pad"), [(2, 0), ((2, 9), 0), (2, 2)])
def test_references_are_read_as_their_mask_has_it(eos, pad, scorer):
    human = np.array(
        [
            [[4, 5, 2, 6], [4, pad, 6, 7], [pad, 4, 5, 2], [-1, -1, -1, -1]],
            [[4, 5, 9, 6], [2, 4, 5, 6], [4, 5, 6, 7], [-1, 4, 5, 2]],
        ]
    )
    episode = captions.episode(human)
    episode.speaker.eos, episode.speaker.pad = eos, pad
    words = captions.VOCABULARY.tokens
    said = captions.rollout(BATCH.tokens[:2, :1])
    TextReward(scorer.scored, captions.VOCABULARY)(said, episode)
    mask = reference_mask(human, eos, pad).numpy() * (human >= 0)
    assert scorer.calls[0][1] == [
        [
            " ".join(words[i] for i in row[kept > 0] if i not in np.ravel(eos))
            for row, kept in zip(*image)
            if kept[0]
        ]
        for image in zip(human, mask)
    ]


def test_what_is_under_the_mask_is_not_read(scorer):
    reward = TextReward(scorer, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    noisy = np.where(rollout.mask > 0, rollout.tokens, 7)
    found = reward(Rollout(noisy, rollout.mask), captions.episode())
    np.testing.assert_array_equal(found, lengths())


def test_graphs_call_the_function_at_every_step(scorer):
    reward = TextReward(scorer, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)

    @tf.function(autograph=False)
    def step(tokens, mask):
        found = reward(Rollout(tokens, mask), captions.episode())
        assert found.shape == (5, 3) and found.dtype == "float32"
        return found

    for _ in range(2):
        found = step(tf.constant(rollout.tokens), tf.constant(rollout.mask))
    np.testing.assert_array_equal(found, lengths())
    assert len(scorer.calls) == 2


def test_calls_do_not_overlap():
    running, most = [], []

    def function(texts):
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        return [0.0] * len(texts)

    reward = TextReward(function, captions.VOCABULARY)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(score, [reward] * 3))
    assert most == [1, 1, 1]


@pytest.mark.parametrize(
    "scores",
    [
        [1.0],
        [[1.0]] * 15,
        ["high"] * 15,
        [10**400] * 15,
        None,
        [[1.0], [1.0, 2.0]],
    ],
)
def test_wrong_numbers_are_refused_by_name(scores):
    reward = TextReward(lambda _: scores, captions.VOCABULARY, name="spice")
    with pytest.raises(ValueError, match="of the reward 'spice' must return"):
        score(reward)


@pytest.mark.parametrize("kind", [list, np.array, tf.constant])
def test_what_is_not_finite_is_told_with_its_caption(kind):
    values = np.arange(15.0)
    values[2:5] = np.nan, np.inf, -np.inf
    reward = TextReward(lambda t: kind(values[: len(t)]), captions.VOCABULARY)
    with pytest.warns(UserWarning, match="is nan for '.*Return None"):
        found = score(reward)
    # Minus infinity would abstain.
    assert np.isnan(found).any() and np.isposinf(found).any()
    assert not np.isneginf(found).any()


def test_none_abstains():
    reward = TextReward(
        lambda texts: [len(t) if len(t) > 4 else None for t in texts],
        captions.VOCABULARY,
    )
    wanted = np.where(lengths() > 4, lengths(), -np.inf)
    wanted = np.where(lengths() > 0, wanted, 0.0)
    for _ in range(2):
        np.testing.assert_array_equal(score(reward), wanted)


def test_an_async_function_is_awaited_in_a_loop_that_lives_on():
    loops = set()

    async def reward(texts):
        loops.add(asyncio.get_running_loop())
        await asyncio.sleep(0.001)
        return [len(text) for text in texts]

    reward = TextReward(reward, captions.VOCABULARY)

    async def in_a_notebook():
        return score(reward)

    # In a thread of its own: tests of the tab leave a loop running in this one.
    with ThreadPoolExecutor() as pool:
        there = pool.submit(lambda: asyncio.run(in_a_notebook())).result()
    for found in (score(reward), there):
        np.testing.assert_array_equal(found, lengths())
    assert len(loops) == 1


@pytest.mark.parametrize("eager", [True, False])
def test_async_functions_of_a_sum_wait_together(eager):
    asked, loops = [], set()

    def waiting(value):
        async def reward(texts):
            asked.append(value)
            loops.add(asyncio.get_running_loop())
            # Both run at once, or neither ends.
            while len(asked) < 2:
                await asyncio.sleep(0.001)
            return [value if len(text) > 4 else None for text in texts]

        return TextReward(reward, captions.VOCABULARY)

    total = waiting(1.0) + 2.0 * waiting(3.0)

    def run():
        return total(captions.rollout(BATCH.tokens), None)

    found = run() if eager else tf.function(run, autograph=False)()
    wanted = np.where(lengths() > 4, 7.0, -np.inf)
    np.testing.assert_array_equal(found, np.where(lengths() > 0, wanted, 0.0))
    assert sorted(asked) == [1.0, 3.0] and len(loops) == 1


def test_errors_of_the_function_reach_the_caller():
    def function(texts):
        raise OSError("no such parser")

    reward = TextReward(function, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    graph = tf.function(lambda: reward(rollout, None), autograph=False)
    with pytest.raises(tf.errors.OpError, match="no such parser"):
        graph()
    with pytest.raises(OSError, match="no such parser"):
        score(reward)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="`reward` must be a `tfcap.rewards"):
        TextReward("spice", captions.VOCABULARY)


@pytest.fixture
def remembering():
    """Function that makes a score that remembers, and what it was asked."""
    asked = []

    def count(candidates, references):
        asked.append(candidates)
        return Scores(0.0, np.array([10.0 * len(x) for x in candidates]))

    return lambda size: (_Remembered(count, size), asked)


def test_what_is_remembered_is_not_asked_for_again(remembering):
    score, asked = remembering(2)
    one, two, three = [["a"]], [["a", "b"]], [["a"] * 3]
    assert score(["a", "a b", "a"], [["x"]] * 3) == [10.0, 20.0, 10.0]
    # More than is kept, all are forgotten.
    assert score(["a", "a a a"], [["x"]] * 2) == [10.0, 30.0]
    assert score(["a b", "a"], [["x"], ["y"]]) == [20.0, 10.0]
    assert asked == [[*one, *two, *one], three, [*two, *one]]
    # Also more than is kept, at once.
    score, _ = remembering(1)
    for _ in range(2):
        assert score(["a", "a b"], [["x"]] * 2) == [10.0, 20.0]


def test_texts_that_hold_line_breaks_are_told_apart(remembering):
    score, asked = remembering(3)
    human = [["b\nc"], ["b", "c"], ["c"]]
    score(["a", "a", "a\nb"], human)
    score(["a", "a", "a\nb"], human)
    assert asked == [[["a"], ["a"], ["a", "b"]]]


def test_a_speaker_may_hold_the_vocabulary(scorer):
    reward, episode = TextReward(scorer), captions.episode()
    with pytest.raises(ValueError, match="'Recorder'.*`speaker.vocabulary`"):
        score(reward)
    episode.speaker.vocabulary = captions.VOCABULARY
    found = reward(captions.rollout(BATCH.tokens), episode)
    np.testing.assert_array_equal(found, lengths())


def test_a_vocabulary_of_ones_own_decodes_words_alone(scorer):
    class Letters:
        def decode(self, ids):
            assert captions.EOS not in ids and 0 not in ids
            return "".join(chr(96 + i) for i in ids)

    score(TextReward(scorer.scored, Letters()))
    ((texts, human),) = scorer.calls
    words = [captions.ids(row, eos=False) for row in BATCH.tokens[0]]
    assert texts[0] == Letters().decode(words[0])
    assert len(human[0]) == len(BATCH.references[0])


def test_absent_captions_are_not_scored():
    def boldness(captions, references):
        return [max(len(text) for text in row) for row in references]

    tokens, human = BATCH.tokens.copy(), BATCH.human.copy()
    tokens[2] = human[2] = 0
    found = score(TextReward(boldness, captions.VOCABULARY), tokens, human)
    assert not found[2].any() and found[1].all()


class Columns:
    """A reward of TRL's signature."""

    def __call__(self, completions, photographer, references, bonus=0.0):
        self.seen = completions, photographer, references
        return [
            len(text) + x + bonus for text, x in zip(completions, photographer)
        ]


@pytest.mark.parametrize("graph", [False, True])
def test_columns_of_the_batch_come_with_every_completion(graph):
    scorer = Columns()
    reward = TextReward(scorer, captions.VOCABULARY)

    def run():
        episode = captions.episode(BATCH.human)
        episode.inputs["photographer"] = tf.range(5)
        return reward(captions.rollout(BATCH.tokens), episode)

    found = tf.function(run, autograph=False)() if graph else run()
    np.testing.assert_array_equal(found, lengths() + np.arange(5)[:, None])
    texts, photographers, references = scorer.seen
    # All samples, those that are alike, too.
    assert texts == [text for row in TEXTS for text in row]
    assert photographers == np.repeat(np.arange(5), 3).tolist()
    wanted = [" ".join(words) for words in BATCH.references[4]]
    assert references[-1] == references[-2] == wanted


def test_all_columns_go_to_a_function_of_any():
    seen = {}

    def reward(completions, **columns):
        seen.update(columns)
        return [0.0] * len(completions)

    place = tf.constant(["a", "b", "c", "d", "e"])
    others = {"several": {"of": "them"}, "others": np.zeros(10)}
    score(TextReward(reward, captions.VOCABULARY), place=place, **others)
    assert {*seen} == {"references", "place"}
    assert seen["place"][:4] == ["a", "a", "a", "b"]
    # Also references of another name.
    named = TextReward(reward, captions.VOCABULARY, references="caption")
    score(named, human=None, caption=BATCH.human)
    wanted = [" ".join(words) for words in BATCH.references[0]]
    assert seen["references"][0] == wanted


def test_a_column_that_is_absent_or_of_other_rows_is_refused():
    reward = TextReward(Columns(), captions.VOCABULARY, name="liked")
    with pytest.raises(ValueError, match="'photographer', which the reward"):
        score(reward)
    for wrong in (np.zeros(2), np.zeros(10), np.float32(1.0)):
        with pytest.raises(ValueError, match="`photographer` must.*each of 5"):
            score(reward, photographer=wrong)

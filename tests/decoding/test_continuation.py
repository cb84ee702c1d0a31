import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import speakers
from tests import tiny
from tfcap._ops import repeat_samples
from tfcap._ops import sequence_mask
from tfcap._ops import take_rows
from tfcap.decoding import Greedy
from tfcap.decoding import Rollout
from tfcap.decoding import Sample
from tfcap.decoding.continuation import continue_from
from tfcap.layers import Categorical


def most_likely(logits):
    return logits, ops.argmax(logits, axis=-1)


def continued(speaker, state, tokens, draw=most_likely, count=2, **options):
    mask = sequence_mask(tokens, speaker.eos)
    arguments = {"num_continuations": count, "training": False, **options}
    said = continue_from(
        speaker, state, Rollout(tokens, mask), draw, **arguments
    )
    return [np.array(x) for x in said]


def by_loop(speaker, state, words, length):
    """The most likely end of one beginning, read from the start."""
    words = list(words)
    for word in (speaker.bos, *words):
        logits, state = speaker.step(np.array([word]), state)
    while len(words) < length:
        words.append(int(ops.argmax(logits[0])))
        if words[-1] == speaker.eos:
            break
        logits, state = speaker.step(np.array(words[-1:]), state)
    return words + [0] * (length - len(words))


@pytest.mark.parametrize("kind", speakers.KINDS)
def test_goes_on_from_where_every_beginning_left_the_speaker(kind):
    speaker, batch = speakers.speaker(kind), speakers.batch(images=3)
    told, state = batch["caption"], speaker.begin(batch)
    tokens, mask = continued(speaker, state, told)
    images, samples, length = told.shape
    assert tokens.shape == (images, samples, length - 1, 2, length)
    went_on = 0
    for image, sample, last in np.ndindex(images, samples, length - 1):
        found = tokens[image, sample, last]
        if 0 in told[image, sample, : last + 2]:
            # Nothing begins with words that end a caption.
            assert not found.any() and not mask[image, sample, last].any()
            continue
        row = take_rows(state, np.array([image]))
        beginning = told[image, sample, : last + 1]
        wanted = by_loop(speaker, row, beginning, length)
        np.testing.assert_array_equal(found, [wanted, wanted])
        went_on += 1
    assert 5 < went_on < images * samples * (length - 1)
    np.testing.assert_array_equal(mask, sequence_mask(tokens, speaker.eos))


@pytest.mark.parametrize("prefixes", [(0,), (1, 3), (4,)])
def test_only_what_is_wanted_is_continued(prefixes):
    rows = []

    class Counting(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            rows.append(words.shape[0])
            return super().step(words, state, training)

    def end_late(logits):
        return logits, ops.full(logits.shape[:1], 3, "int32")

    speaker, told = Counting(), np.full((2, 1, 6), 4, "int32")
    state = speaker.begin(tiny.batch(2))
    wanted = continued(speaker, state, told, end_late)
    rows.clear()
    found = continued(speaker, state, told, end_late, prefixes=prefixes)
    for some, every in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(some, every[:, :, list(prefixes)])
    # Two captions are read up to the last beginning, and each beginning has
    # two branches each from then on.
    read = [2 * (t <= prefixes[-1] + 1) for t in range(6)]
    branches = [4 * sum(t > b + 1 for b in prefixes) for t in range(6)]
    assert rows == list(np.add(read, branches))


def test_a_graph_gives_the_same_for_any_number_of_rows():
    speaker = speakers.speaker("att2in")
    batch = speakers.batch(images=4)

    @tf.function(reduce_retracing=True, autograph=False)
    def graph(image, told):
        mask = sequence_mask(told, speaker.eos)
        return continue_from(
            speaker,
            speaker.begin({"image": image}),
            Rollout(told, mask),
            most_likely,
            num_continuations=3,
            training=False,
        )

    for rows in (4, 3, 1):
        image, told = batch["image"][:rows], batch["caption"][:rows]
        tokens, mask = graph(image, told)
        assert tokens.shape[1:] == (2, 5, 3, 6)
        state = speaker.begin({"image": image})
        wanted = continued(speaker, state, told, count=3)
        np.testing.assert_array_equal(tokens, wanted[0])
        np.testing.assert_array_equal(mask, wanted[1])


def test_where_all_ended_at_once_nothing_is_left_to_say():
    speaker = tiny.TableSpeaker()
    state = speaker.begin(tiny.batch(3))
    told = np.array([[[2, 0, 0]]] * 3, "int32")
    tokens, mask = continued(speaker, state, told)
    assert tokens.shape == (3, 1, 2, 2, 3)
    assert not tokens.any() and not mask.any()


def test_shapes_may_be_static():
    # As on backends whose graphs know no others.
    speaker, told = tiny.TableSpeaker(), tiny.captions(4)[:, None]
    state = speaker.begin(tiny.batch(len(told)))
    wanted = continued(speaker, state, told)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "tfcap.decoding.continuation._rows_where",
            lambda x: ops.arange(ops.shape(x)[0], dtype="int32"),
        )
        found = continued(speaker, state, told)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def drawn(decoder, told, count):
    """Ends of one beginning that a decoder draws, of a table's words."""
    told = np.array([[told]], "int32")
    speaker = tiny.TableSpeaker()
    state = speaker.begin(tiny.batch(1))
    rollout = Rollout(told, np.ones(told.shape, "float32"))
    said = decoder.continuations(speaker, state, rollout, count)
    return np.array(said.tokens)[0, 0]


def test_every_end_comes_as_often_as_the_speaker_means_it():
    captions = tiny.captions(3)
    chances = np.array(tiny.chances(tiny.TableSpeaker(), 3))
    told = (3, 4, 2)
    ends = drawn(Sample(Categorical(seed=0), max_length=3), told, 20_000)
    for last, found in enumerate(ends):
        begins = (captions[:, : last + 1] == told[: last + 1]).all(-1)
        shares = chances[begins] / chances[begins].sum()
        for caption, p in zip(captions[begins], shares):
            tiny.assert_as_often((found == caption).all(-1), p)


def test_what_a_decoder_does_not_say_it_does_not_go_on_with():
    decoder = Sample(Categorical(seed=1), max_length=4, suppress=(3,))
    ends = drawn(decoder, (3, 4, 4, 4), 300)
    assert {*np.unique(ends[..., 1:])} == {0, 2, 4}
    assert not hasattr(Greedy(), "continuations")


def test_the_speaker_is_told_whether_it_trains_and_reads_states_by_sample():
    asked = []

    class Attentive(tiny.TableSpeaker):
        def step(self, words, state, training=False):
            asked.append(training)
            return super().step(words, state, training)

    speaker, told = Attentive(), tiny.captions(3).reshape(-1, 3, 3)[:2]
    state = speaker.begin(tiny.batch(2))
    both = continued(speaker, state, told, training=True)
    assert asked == [True] * 3
    state = repeat_samples(state, 3)
    alone = continued(speaker, state, told.reshape(-1, 1, 3))
    for a, b in zip(both, alone, strict=True):
        np.testing.assert_array_equal(a.reshape(b.shape), b)

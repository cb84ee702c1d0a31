import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tests.scribe import BagListener
from tests.scribe import Batches
from tests.scribe import Scribe
from tfcap.decoding import Rollout
from tfcap.models.host_retriever import HostRetriever
from tfcap.rewards import Retrieval
from tfcap.training import Evaluator

TOKENS = captions.Batch().tokens
MASK = TOKENS > 0
TEXTS = [
    [captions.VOCABULARY.decode(ids.tolist()) for ids in row] for row in TOKENS
]


class Letters:
    """Embeds strings by how often they have some letters."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts):
        self.calls.append(texts)
        return [[text.count(x) for x in "ado"] + [1] for text in texts]


def make(**options):
    letters = Letters()
    return letters, HostRetriever(letters, captions.VOCABULARY, 4, **options)


def unit(vector):
    return np.array(vector) / np.linalg.norm(vector)


def test_texts_are_embedded_as_strings():
    letters, retriever = make()
    found = retriever.embed_texts(TOKENS, MASK)
    assert found.dtype == "float32" and found.shape == (*TOKENS.shape[:2], 4)
    for place in np.ndindex(TOKENS.shape[:2]):
        text = TEXTS[place[0]][place[1]]
        np.testing.assert_allclose(
            found[place], unit(Letters()([text])[0]), atol=1e-6
        )


def test_a_graph_of_any_batch_size_gets_the_same():
    _, retriever = make()
    signature = [tf.TensorSpec([None, *TOKENS.shape[1:]], tf.int32)]

    @tf.function(input_signature=signature, autograph=False)
    def graph(tokens):
        return retriever.embed_texts(tokens, tokens > 0)

    for rows in (slice(0, 2), slice(1, 5)):
        wanted = retriever.embed_texts(TOKENS[rows], MASK[rows])
        found = graph(TOKENS[rows].astype("int32"))
        np.testing.assert_array_equal(found, wanted)


def test_identical_captions_are_embedded_once_in_batches():
    letters, retriever = make(batch_size=4)
    retriever.embed_texts(np.tile(TOKENS, (3, 1, 1)), np.tile(MASK, (3, 1, 1)))
    asked = [text for call in letters.calls for text in call]
    assert sorted(asked) == sorted({x for row in TEXTS for x in row})
    assert {len(call) for call in letters.calls[:-1]} == {4}


def test_what_was_said_lately_is_remembered_and_the_rest_forgotten():
    letters, retriever = make()
    retriever.cache_size = 2
    said = np.unique(TOKENS.reshape(-1, TOKENS.shape[-1]), axis=0)[:3, None]
    for row, asked in ((0, 1), (1, 2), (0, 2), (2, 3), (0, 3), (1, 4)):
        found = retriever.embed_texts(said[[row]], said[[row]] > 0)
        assert len(letters.calls) == asked
        wanted = make()[1].embed_texts(said[[row]], said[[row]] > 0)
        np.testing.assert_array_equal(found, wanted)
    # More at once than there is room for.
    retriever.embed_texts(said, said > 0)
    assert len(retriever._cache) == 2
    # Each alone, not as a part of its batch.
    assert all(vector.base is None for vector in retriever._cache.values())


def test_no_words_give_zeros_and_what_is_masked_does_not_count():
    letters, retriever = make()
    tokens = TOKENS.copy()
    tokens[0, 0] = 0
    mask = tokens > 0
    found = retriever.embed_texts(tokens, mask).numpy()
    assert not found[0, 0].any() and found[0, 1].any()
    again = retriever.embed_texts(np.where(mask, tokens, 7), mask)
    np.testing.assert_array_equal(again, found)
    assert "" not in [text for call in letters.calls for text in call]


def test_images_are_embedded_before_and_come_as_features():
    sizes = []

    def look(images):
        sizes.append(len(images))
        return [[image.mean(), *image[0, 0]] for image in images]

    _, retriever = make(embed_pictures=look, batch_size=2)
    rng = np.random.default_rng(0)
    images = [rng.uniform(0, 255, (3 + i, 4, 3)) for i in range(5)]
    found = retriever.embed_pixels(iter(images))
    assert found.shape == (5, 1, 4) and sizes == [2, 2, 1]
    for row, image in zip(found[:, 0], images):
        wanted = unit([image.mean(), *image[0, 0]])
        np.testing.assert_allclose(row, wanted, atol=1e-6)
    np.testing.assert_allclose(
        retriever.embed_images(found), found[:, 0], atol=1e-6
    )
    pooled = retriever.embed_images(found[None, :, 0])
    wanted = unit(found[:, 0].mean(axis=0))
    np.testing.assert_allclose(pooled[0], wanted, atol=1e-6)


def test_vectors_that_are_masked_are_left_out():
    _, retriever = make()
    vectors = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("f4")
    mask = np.array([[1, 0, 1], [0, 1, 0]])
    found = retriever.embed_images(vectors, mask=mask)
    wanted = unit(vectors[0, ::2].mean(0)), unit(vectors[1, 1])
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_it_judges_what_a_speaker_says_by_images_of_its_own():
    class Own(Batches):
        def evaluation(self, batch_size=None):
            for inputs, rows in super().evaluation(batch_size):
                images = np.eye(3, 4, dtype="float32")[rows][:, None]
                yield {**inputs, "retriever_image": images}, rows

    said = ["a dog", "the cat", "a red cat"]
    batches, vectors = Own(said, [["a dog"]] * 3), np.eye(4)[[1, 1, 2]]
    retriever = HostRetriever(
        lambda texts: [vectors[said.index(text)] for text in texts],
        *(batches.captions.vocabulary, 4),
    )
    report = Evaluator(
        *(Scribe(), batches, BagListener()),
        other_listeners={"unseen": retriever},
        human_captions=0,
    )().result()
    # A rank of 2.5, among ties, 1, and 1.
    assert report["unseen_mean_rank"] == pytest.approx(1.5)
    assert "unseen_image_to_text_r@1" in report


def test_a_reward_reads_the_images_that_its_retriever_knows():
    _, retriever = make()
    images = np.random.default_rng(0).normal(size=(5, 1, 4)).astype("f4")
    episode = captions.episode()
    episode.training = True
    episode.inputs = {"retriever_image": images}
    said = Rollout(TOKENS, MASK.astype("float32"))
    found = Retrieval(retriever, learning=False)(said, episode)
    assert found.shape == TOKENS.shape[:2] and (np.array(found) < 0).any()
    episode.inputs = {"image": images}
    with pytest.raises(ValueError, match="must hold 'retriever_image'"):
        Retrieval(retriever, learning=False)(said, episode)


def test_what_cannot_be_embedded_is_refused():
    with pytest.raises(ValueError, match="embed_pictures=None"):
        make()[1].embed_pixels([])
    retriever = make()[1]
    soft = np.zeros((1, 1, 3, captions.VOCABULARY.size), "float32")
    with pytest.raises(ValueError, match="`ScoreFunction`, not `Pathwise`"):
        retriever.embed_texts(soft, np.ones((1, 1, 3)))
    with pytest.raises(ValueError, match=r"embeddings of 4 numbers.*\(2, 1, 5"):
        retriever.embed_images(np.zeros((2, 1, 5)))
    ids = np.array([[captions.VOCABULARY.encode(["a"])]])
    for wrong, told in (([1.0, 2.0], r"shape \(1, 2\)"), ([np.nan] * 4, "'a'")):
        retriever = HostRetriever(
            lambda texts, wrong=wrong: [wrong], captions.VOCABULARY, 4
        )
        with pytest.raises(ValueError, match=told):
            retriever.embed_texts(ids, ids > 0)

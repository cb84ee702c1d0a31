import numpy as np
import pytest
import tensorflow as tf

from tfcap.metrics import clip_score
from tfcap.metrics import ref_clip_score


def cosine(left, right):
    return left @ right / np.sqrt((left @ left) * (right @ right))


def embeddings(images=20, references=4, features=6, seed=0):
    rng = np.random.default_rng(seed)
    shapes = (images, features), (images, references, features)
    image, candidate = rng.normal(size=(2, *shapes[0])).astype("float32")
    # Some captions are near: nothing but clipped values would tell little.
    candidate += image * rng.integers(0, 3, (images, 1))
    others = rng.normal(size=shapes[1]).astype("float32")
    others += candidate[:, None] * rng.integers(0, 2, (images, 1, 1))
    return image * 7, candidate, others / 3


@pytest.mark.parametrize("weight", [2.5, 2.0])
def test_the_score_is_the_clipped_cosine(weight):
    image, candidate, _ = embeddings()
    wanted = [weight * max(cosine(i, c), 0) for i, c in zip(image, candidate)]
    found = np.array(clip_score(image, candidate, weight))
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert (found == 0).any() and (found > 1).any()
    plain = np.array(clip_score(image, candidate))
    np.testing.assert_allclose(found, plain * weight / 2.5, atol=1e-6)


@pytest.mark.parametrize("weight", [2.5, 2.0])
def test_references_enter_by_the_harmonic_mean(weight):
    image, candidate, references = embeddings()
    # A caption without a near reference scores 0.
    references[19], candidate[19] = -image[19], image[19]
    wanted = []
    for i, c, others in zip(image, candidate, references):
        near = weight * max(cosine(i, c), 0)
        nearest = max(max(cosine(c, r) for r in others), 0)
        both = near * nearest > 0
        wanted.append(2 * near * nearest / (near + nearest) if both else 0)
    scores = ref_clip_score(image, candidate, references, weight=weight)
    found = np.array(scores)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert found[19] == 0 and (found > 0.5).any()


def test_absent_references_change_nothing():
    image, candidate, references = embeddings()
    wanted = ref_clip_score(image, candidate, references[:, :2])
    mask = np.array([[1, 1, 0, 0]] * 20)
    for junk in (0.0, 1e30, np.nan, np.inf):
        references[:, 2:] = junk
        found = ref_clip_score(image, candidate, references, mask)
        np.testing.assert_array_equal(found, wanted)
    none = ref_clip_score(image, candidate, references, mask * 0)
    np.testing.assert_array_equal(none, np.zeros(20))


def test_samples_broadcast_against_their_image():
    image, candidate, references = embeddings()
    samples = np.stack([candidate, candidate[::-1]], axis=1)
    for score, several in ((clip_score, ()), (ref_clip_score, (references,))):
        apart = [others[:, None] for others in several]
        scores = score(image[:, None], samples, *apart)
        assert scores.shape == (20, 2)
        wanted = score(image, candidate, *several)
        np.testing.assert_allclose(scores[:, 0], wanted, atol=1e-6)


def test_half_precision_is_widened():
    image, candidate, references = embeddings()
    halves = [(x * 100).astype("float16") for x in (image, candidate)]
    found = clip_score(*halves)
    assert found.dtype == "float32" and np.isfinite(found).all()
    wanted = clip_score(*[half.astype("float32") for half in halves])
    np.testing.assert_array_equal(found, wanted)
    assert clip_score(image.astype("float64"), candidate).dtype == "float64"


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_are_finite_also_of_nothing(compiled):
    image, candidate, references = map(tf.constant, embeddings())
    candidate *= np.arange(20, dtype="float32")[:, None] > 3
    mask = np.ones((20, 4)) * (np.arange(20) > 5)[:, None]

    @tf.function(jit_compile=compiled, autograph=False)
    def gradients(*parts):
        with tf.GradientTape() as tape:
            tape.watch(parts)
            scores = ref_clip_score(*parts, mask)
        return scores, tape.gradient(scores, parts)

    scores, found = gradients(image, candidate, references)
    assert np.isfinite(scores).all() and np.abs(found[1]).max() > 0
    for gradient in found:
        assert np.isfinite(gradient).all()
    assert not np.abs(found[1][:4]).any() and not np.abs(found[2][:6]).any()


def test_other_spaces_are_refused():
    with pytest.raises(ValueError, match="`candidate` must have as many"):
        clip_score(np.ones((2, 3)), np.ones((2, 4)))
    with pytest.raises(ValueError, match="`references` must have shape"):
        ref_clip_score(np.ones(3), np.ones(3), np.ones(3))
    one = np.ones((2, 3))
    with pytest.raises(ValueError, match="`references` must hold at least one"):
        ref_clip_score(one, one, np.ones((2, 0, 3)))

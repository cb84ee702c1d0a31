import numpy as np
import pytest
from keras import ops

from tfcap.layers.word_channel import sample_words

RNG = np.random.default_rng(0)


def drawn(probabilities, uniform):
    words = sample_words(
        ops.convert_to_tensor(probabilities, "float32"),
        ops.convert_to_tensor(uniform, "float32"),
    )
    return ops.convert_to_numpy(words)


@pytest.mark.parametrize("size", [1, 2, 3, 10, 16, 17, 300])
def test_every_word_is_drawn_from_its_own_interval(size):
    probabilities = RNG.dirichlet(np.ones(size))
    edges = np.concatenate([[0], np.cumsum(probabilities)])
    middle = (edges[:-1] + edges[1:]) / 2
    words = drawn(np.tile(probabilities, (size, 1)), middle)
    wide = probabilities > 1e-5
    np.testing.assert_array_equal(words[wide], np.arange(size)[wide])


@pytest.mark.parametrize("size", [2, 50, 1000, 9488])
def test_a_word_of_probability_zero_is_never_drawn(size):
    probabilities = RNG.dirichlet(np.ones(size), size=2000)
    probabilities[:, RNG.permutation(size)[: size // 2]] = 0.0
    probabilities = probabilities.astype("float32")
    uniform = RNG.uniform(size=2000).astype("float32")
    uniform[:20] = 0.0
    uniform[20:40] = np.nextafter(np.float32(1), np.float32(0))
    words = drawn(probabilities, uniform)
    assert (words >= 0).all() and (words < size).all()
    assert (probabilities[np.arange(2000), words] > 0).all()


def test_where_rounding_passes_the_end_of_a_block_its_last_word_is_drawn():
    rows, width = 400, 50
    probabilities = RNG.dirichlet(np.ones(width * width), size=rows)
    probabilities = probabilities.astype("float32")
    blocks = probabilities.reshape(rows, width, width)
    # Neither the first nor the last word of a block can be drawn.
    blocks[:, :, [0, -1]] = 0.0
    # As it is summed there: a block at once, and word by word.
    mass = ops.sum(ops.convert_to_tensor(blocks), axis=-1)
    ends = ops.cumsum(mass, axis=-1)
    inside = ends - mass + ops.cumsum(blocks, axis=-1)[..., -1]
    mass, ends, inside = map(ops.convert_to_numpy, (mass, ends, inside))
    total = ends[:, -1:]
    uniform = np.nextafter(ends / total, np.float32(0))
    target = uniform * total
    row, block = np.nonzero((target >= inside) & (target < ends))
    assert len(row) > 20
    words = drawn(probabilities[row], uniform[row, block])
    np.testing.assert_array_equal(words, block * width + width - 2)


def test_frequencies_are_the_probabilities():
    probabilities, n = np.array([0.5, 0.25, 0.125, 0.1, 0.025]), 40_000
    words = drawn(np.tile(probabilities, (n, 1)), RNG.uniform(size=n))
    share = np.bincount(words, minlength=5) / n
    error = np.sqrt(probabilities * (1 - probabilities) / n)
    assert (np.abs(share - probabilities) < 4 * error).all()

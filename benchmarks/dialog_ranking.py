"""Ranks candidate answers by their likelihood, ten questions of a dialog.

python benchmarks/dialog_ranking.py

100 candidates a question, of up to 8 words: 30 that everyone gets, such as
"yes", and 70 of a pool, their words as frequent as words are, so that about a
third of what padding holds are distinct beginnings. "ours" walks down the tree
of these; "padded" scores every candidate alone, all in one call; torch scores
padded rows, as the released evaluation does. The limit is the floating-point
work of the tree.
"""

from paired import Row
from paired import main

QUESTIONS, CANDIDATES, POPULAR, POOL = 10, 100, 30, 5000
WORDS, VOCABULARY, UNITS, WIDTH = 9, 8846, 512, 300


def candidates(rng):
    """A table of distinct answers, and the rows of each question's."""
    import numpy as np

    ids = rng.zipf(1.3, (4 * POOL, WORDS)) % (VOCABULARY - 4) + 4
    lengths = np.clip(rng.geometric(0.35, (4 * POOL, 1)), 1, WORDS - 1)
    places = np.arange(WORDS)
    ids = np.where(places < lengths, ids, np.where(places == lengths, 2, 0))
    answers = np.unique(ids, axis=0).astype("int32")
    rng.shuffle(answers)
    others = rng.permuted(
        np.tile(np.arange(POPULAR, len(answers)), (QUESTIONS, 1)), axis=1
    )[:, : CANDIDATES - POPULAR]
    shared = np.tile(np.arange(POPULAR), (QUESTIONS, 1))
    return answers, np.concatenate([shared, others], axis=1)


def generator(dtype):
    """A generator, and the state in which ten questions left it."""
    import numpy as np
    import tensorflow as tf
    from our_steps import policy

    from tfcap.layers import LateFusionEncoder
    from tfcap.models import DialogGenerator

    with policy(dtype):
        encoder = LateFusionEncoder(
            UNITS, output_units=WIDTH, return_state=True
        )
        network = DialogGenerator(VOCABULARY, encoder, WIDTH)
    words = np.ones((1, QUESTIONS, 3), "int32")
    batch = {
        "question": words,
        "history": words,
        "image": np.zeros((1, 1, 8), "float32"),
        "answer": words,
    }
    network(batch)
    rng = np.random.default_rng(1)
    state = rng.normal(size=(2, QUESTIONS, UNITS)).astype("float32")
    return network, [tf.cast(x, network.compute_dtype) for x in state]


def padded(network, state, answers, options):
    """Every candidate alone, all at once."""
    import tensorflow as tf

    scores = tf.function(network.log_probs)
    tokens = tf.constant(answers[options])

    def together():
        return tf.reduce_sum(scores(state, tokens), axis=-1).numpy()

    return together


def of_torch(network, state, answers, options):
    """Hidden states repeated for all candidates, and whole log-softmaxes."""
    import torch

    def tensor(x):
        return torch.from_numpy(x.numpy())

    lstm = torch.nn.LSTM(WIDTH, UNITS)
    table = tensor(network.embedding.embeddings)
    kernel, bias = tensor(network.head.kernel), tensor(network.head.bias)
    bias = bias + torch.from_numpy(network.head.floor)
    cell = network.cell
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(tensor(cell.kernel).T)
        lstm.weight_hh_l0.copy_(tensor(cell.recurrent_kernel).T)
        lstm.bias_ih_l0.copy_(tensor(cell.bias))
        lstm.bias_hh_l0.zero_()
    words = torch.from_numpy(answers[options].reshape(-1, WORDS)).long().T
    start = torch.ones_like(words[:1])
    read = torch.cat([start, words[:-1]])

    @torch.no_grad()
    def call():
        many = [tensor(x).repeat_interleave(CANDIDATES, 0)[None] for x in state]
        hidden = lstm(table[read], tuple(many))[0]
        scores = torch.log_softmax(hidden @ kernel + bias, -1)
        scores = scores.gather(2, words[..., None])[..., 0]
        return (scores * (words > 0)).sum(0).reshape(options.shape).numpy()

    return call


def limit(answers, options):
    import tensorflow as tf

    # Nobody need read a prefix of two candidates of a question twice.
    said = [[answers[i][answers[i] > 0] for i in row] for row in options]
    steps = len(
        {
            (question, tuple(words[:length]))
            for question, row in enumerate(said)
            for words in row
            for length in range(len(words))
        }
    )
    hidden = tf.random.normal((steps, UNITS))
    head = tf.random.normal((UNITS, VOCABULARY))
    joint = tf.random.normal((steps, UNITS + WIDTH))
    gates = tf.random.normal((UNITS + WIDTH, 4 * UNITS))
    return lambda: (tf.matmul(hidden, head), tf.matmul(joint, gates))


def contestants():
    import importlib.util

    import numpy as np

    from tfcap.decoding import score_candidates

    answers, options = candidates(np.random.default_rng(0))
    network, state = generator("float32")
    half, half_state = generator("mixed_bfloat16")
    together = padded(network, state, answers, options)
    found = {
        "ours": lambda: score_candidates(network, state, answers, options),
        "ours bf16": lambda: score_candidates(
            half, half_state, answers, options
        ),
        "padded": together,
        "work of the tree": limit(answers, options),
        "torch": None,
    }
    np.testing.assert_allclose(found["ours"](), together(), atol=1e-3)
    if importlib.util.find_spec("torch") is not None:
        found["torch"] = of_torch(network, state, answers, options)
        np.testing.assert_allclose(found["ours"](), found["torch"](), atol=1e-3)
    return found


ITEM = f"{QUESTIONS} x {CANDIDATES} candidates"
LIMIT = "work of the tree"
ROWS = [
    Row(ITEM, "ours", "torch", LIMIT, floor=2, goal=3),
    Row(f"{ITEM}, bf16", "ours bf16", "torch", LIMIT, floor=3, goal=5),
    Row(ITEM, "ours", "padded", LIMIT),
    Row(ITEM, "ours", LIMIT),
]

if __name__ == "__main__":
    main(contestants, ROWS)

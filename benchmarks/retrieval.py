"""Ranks in both directions of 5,000 images and 5,000 captions.

python benchmarks/retrieval.py
"""

from paired import Row
from paired import main

SIZE, FEATURES = 5000, 512


def embeddings():
    """Matched pairs, so noisy that the truth ranks anywhere."""
    import numpy as np

    rng = np.random.default_rng(0)
    images = rng.normal(size=(SIZE, FEATURES)).astype("float32")
    noise = rng.normal(size=(SIZE, FEATURES)).astype("float32")
    return images, 0.1 * images + noise


def numpy_argsort(images, texts):
    """Ranks by sorting each row of the matrix, then each column."""
    import numpy as np

    scores = images @ texts.T
    truth = np.arange(len(scores))[:, None]
    return [
        np.argmax(np.argsort(-each, axis=1) == truth, axis=1) + 1
        for each in (scores, scores.T)
    ]


def torch_topk(images, texts):
    """Only the recalls: whether the truth is among the first ten."""
    import torch

    images, texts = torch.from_numpy(images), torch.from_numpy(texts)
    truth = torch.arange(len(images))[:, None]

    def call():
        scores = images @ texts.T
        return [
            (each.topk(10, dim=1).indices == truth).sum(1).numpy()
            for each in (scores, scores.T)
        ]

    return call


def contestants():
    import importlib.util

    import numpy as np
    import tensorflow as tf

    from tfcap.metrics import evaluate_retrieval

    images, texts = embeddings()
    tensors = tf.constant(images), tf.constant(texts)
    report = evaluate_retrieval(*tensors)
    for ours, sorted_ in zip(
        (report.image_ranks, report.text_ranks), numpy_argsort(images, texts)
    ):
        np.testing.assert_allclose(ours, sorted_, atol=2)
    torch = importlib.util.find_spec("torch") is not None
    return {
        "ours": lambda: evaluate_retrieval(*tensors).result(),
        "one matmul": lambda: np.asarray(tf.matmul(*tensors, transpose_b=True)),
        "NumPy argsort": lambda: numpy_argsort(images, texts),
        "torch topk": torch_topk(images, texts) if torch else None,
    }


ITEM = "recall@K 5,000 x 5,000, both directions"
ROWS = [
    Row(ITEM, "ours", "NumPy argsort", "one matmul", floor=5, goal=8.5),
    Row(ITEM, "ours", "torch topk", "one matmul", floor=1.4, goal=2),
    Row(ITEM, "ours", "one matmul", "one matmul", floor=1 / 2.2, goal=1 / 1.5),
]

if __name__ == "__main__":
    main(contestants, ROWS)

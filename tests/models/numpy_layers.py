"""Plain NumPy forms of the layers that the speakers' oracles need."""

import numpy as np


def values(speaker):
    """Weights by path, without the speaker's own name."""
    return {
        w.path.split("/", 1)[1]: np.asarray(w.value).astype("float64")
        for w in speaker.weights
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def lstm(x, h, c, kernel, recurrent, bias):
    """One step of one row; gates input, forget, cell, output."""
    i, f, g, o = np.split(x @ kernel + h @ recurrent + bias, 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def attend(weights, query, positions):
    """Additive attention of one query, position by position."""
    w = {k.split("attention/")[1]: v for k, v in weights.items() if "/at" in k}
    scores = [
        w["score/kernel"][:, 0]
        @ np.tanh(
            p @ w["memory/kernel"] + query @ w["query/kernel"] + w["query/bias"]
        )
        for p in positions
    ]
    return sum(a * p for a, p in zip(softmax(np.array(scores)), positions))


def logits(weights, hidden):
    said = hidden @ weights["head/kernel"] + weights["head/bias"]
    said[:2] = -1e9
    return said

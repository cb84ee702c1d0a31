"""Layers, losses and rewards on JAX: on a GPU, if JAX finds one.

python benchmarks/on_jax.py
python benchmarks/on_jax.py --check

Sizes are those of `straight_through.py` and `graph_rewards.py`. PyTorch's are
on its GPU, if it finds one. The limit of a step is what it must read and
write: the logits once forward and once backward, their gradient, the table and
its gradient. `--check` prints how far values and gradients of each part on
JAX's first device are from those on the CPU, as a share of the largest, with
the same random numbers, and fails if one is too far; on a GPU, products are
exact to float32 there. TensorFlow is not needed.
"""

import argparse
import importlib.util
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"

import numpy as np  # noqa: E402
import straight_through  # noqa: E402
from paired import Row  # noqa: E402
from paired import main as compare  # noqa: E402
from straight_through import UNITS  # noqa: E402
from straight_through import VOCABULARY  # noqa: E402
from straight_through import WORDS  # noqa: E402
from straight_through import arrays  # noqa: E402

FAR = 2e-5


def embedded(channel, plain=False):
    """Value and slopes of words that a channel draws and a table embeds."""
    import jax
    from keras import ops

    from tfcap.layers import embed_words

    variables = [v.value for v in channel.non_trainable_variables]

    def value(logits, table, slope):
        words, _ = channel.stateless_call([], variables, logits, training=True)
        if plain:
            found = ops.matmul(words + 0.0, table)
        else:
            found = embed_words(words, table)
        return ops.sum(found * slope)

    return jax.value_and_grad(value, (0, 1))


def parts():
    """Functions to check, by name, each with the arrays that it is given."""
    import jax

    from tfcap import layers
    from tfcap import losses

    rng = np.random.default_rng(1)
    images, texts = rng.normal(size=(2, 64, 256)).astype("float32")
    scores = rng.normal(size=(64, 100)).astype("float32")
    labels = np.arange(64) % 100
    data = arrays(WORDS)

    def with_slope(loss):
        return jax.value_and_grad(lambda x, *rest: loss(x, *rest).sum())

    def pairs(loss):
        return with_slope(lambda x, y: loss(x, y[:, None]))

    found = {}
    for name, channel in {
        "GumbelSoftmaxST": layers.GumbelSoftmaxST(0.5, seed=0),
        "PartialSamplingST": layers.PartialSamplingST(0.25, seed=0),
    }.items():
        channel.build((None, VOCABULARY))
        found[name] = embedded(channel), data
    found["hinge_retrieval_loss"] = (
        pairs(losses.hinge_retrieval_loss),
        (images / 16, texts / 16),
    )
    found["bidirectional_contrastive_loss"] = (
        pairs(losses.bidirectional_contrastive_loss),
        (images / 16, texts / 16),
    )
    n_pair = losses.NPairLoss(reduction="sum")
    one_hot = np.eye(100, dtype="float32")[labels]
    found["NPairLoss"] = (
        with_slope(lambda x, y: n_pair(y, x)),
        (scores, one_hot),
    )
    return {**found, **reward_parts()}


def reward_parts():
    """Rewards in a graph, of the captions of `graph_rewards.py`."""
    import graph_rewards
    from host_scores import reward_batch

    from tfcap import rewards
    from tfcap.decoding import Rollout

    words = graph_rewards.captions_of_words()
    samples, targets, table, vocabulary = reward_batch(*words)
    captions = graph_rewards.arrays_of_ids(samples, targets, vocabulary)
    episode = graph_rewards.episodes(vocabulary)

    def of_captions(reward):
        return lambda tokens, mask, human: reward(
            Rollout(tokens, mask), episode(human)
        )

    return {
        type(reward).__name__: (of_captions(reward), captions)
        for reward in (
            rewards.CIDErD(table),
            rewards.BLEU(),
            rewards.ROUGEL(),
            rewards.PairwiseDiversity(),
        )
    }


def check():
    """Prints how far the first device is from the CPU; whether it is near."""
    import jax

    first, host = jax.devices()[0], jax.devices("cpu")[0]
    print(f"{first} and {host}")
    near = True
    with jax.default_matmul_precision("highest"):
        results = []
        for device in (first, host):
            with jax.default_device(device):
                results.append(
                    {
                        name: jax.tree.leaves(jax.jit(call)(*data))
                        for name, (call, data) in parts().items()
                    }
                )
    for name, found in results[0].items():
        far = max(map(_distance, found, results[1][name]))
        near &= far < FAR
        print(f"{name:32} {far:.1e}{'' if far < FAR else '  TOO FAR'}")
    return near


def _distance(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return float(np.abs(one - other).max() / max(np.abs(other).max(), 1e-30))


def contestants():
    import jax
    import jax.numpy as jnp

    from tfcap.layers import GumbelSoftmaxST

    print(f"on {jax.devices()[0]}", flush=True)
    data = [jnp.asarray(x) for x in arrays(WORDS)]
    channel = GumbelSoftmaxST(0.5, seed=0)
    channel.build((None, VOCABULARY))

    def caller(function):
        compiled = jax.jit(function)
        return lambda: jax.block_until_ready(compiled(*data))

    floats = 3 * WORDS * VOCABULARY + 2 * VOCABULARY * UNITS
    half = jnp.zeros(floats // 2)
    twice = jax.jit(lambda x: x + 1.0)
    found = {
        "ours": caller(embedded(channel)),
        "plain": caller(embedded(channel, plain=True)),
        "traffic": lambda: jax.block_until_ready(twice(half)),
    }
    if importlib.util.find_spec("torch") is not None:
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        found |= straight_through.of_torch(WORDS, device)
    return found


ITEM = f"{WORDS:,} x {VOCABULARY:,} x {UNITS}"
ROWS = [
    Row(ITEM, "ours", peer, "traffic")
    for peer in ("torch", "strong torch", "plain", "traffic")
]


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--check", action="store_true")
    options, _ = parser.parse_known_args()
    if options.check:
        sys.exit(not check())
    compare(contestants, ROWS)


if __name__ == "__main__":
    main()

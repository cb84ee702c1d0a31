"""Straight-through words, embedded: forward, and backward to the logits.

python benchmarks/straight_through.py

1,024 words of a vocabulary of 9,488, drawn by Gumbel-softmax, embedded in 512
numbers, and a gradient to the logits and to the table. "ours" are the layers
as anyone calls them, inside of a graph; "plain" is the same in TensorFlow, from
the equations, with a product. "torch" is `gumbel_softmax(hard=True) @ table`,
"strong torch" the words of `torch_steps.py`. The limit is one such product and
the random numbers.

The other word channels have "ours" for their peer: at most 1.3 times the
Gumbel channel, but for Gumbel-Rao, ReinMax-Rao and ReinMax-CV, whose time
grows with their draws.
"""

import functools

from paired import Row
from paired import main as compare

WORDS, VOCABULARY, UNITS = 1024, 9488, 512


def arrays(words):
    import numpy as np

    rng = np.random.default_rng(0)
    shapes = (words, VOCABULARY), (VOCABULARY, UNITS), (words, UNITS)
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


def caller(size, embedding):
    """A step; `embedding` makes what embeds logits, and its variables."""
    import tensorflow as tf

    logits, table, slope = map(tf.constant, arrays(size))
    embedded, variables = embedding(table)

    @tf.function(autograph=False)
    def graph(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            value = tf.reduce_sum(embedded(logits) * slope)
        return value, tape.gradient(value, [logits, *variables])

    return lambda: graph(logits)[0].numpy()


#: Other word channels: a class of `tfcap.layers`, and its arguments.
CHANNELS = {
    "multinomial": ("PartialSamplingST", {"rho": 0.0}),
    "partial sampling": ("PartialSamplingST", {"rho": 0.25}),
    "Gumbel, rho": ("GumbelSoftmaxST", {"temperature": 0.5, "rho": 0.25}),
    "decoupled": ("GumbelSoftmaxST", {"backward_temperature": 1.0}),
    "decoupled, rho": (
        "GumbelSoftmaxST",
        {"temperature": 0.5, "backward_temperature": 1.0, "rho": 0.25},
    ),
    "ReinMax": ("ReinMax", {}),
    "ReinMax, rho": ("ReinMax", {"rho": 0.25}),
    "ReinMax, tau": ("ReinMax", {"temperature": 1.5}),
    "Gumbel-Rao, 1": ("GumbelRao", {"num_samples": 1}),
    "Gumbel-Rao, 4": ("GumbelRao", {"num_samples": 4}),
    "Gumbel-Rao, 10": ("GumbelRao", {"num_samples": 10}),
    "Gumbel-Rao, rho, 10": ("GumbelRao", {"num_samples": 10, "rho": 0.25}),
    **{
        f"{name}, {draws}": (kind, {"num_samples": draws})
        for name, kind in (
            ("ReinMax-Rao", "ReinMaxRao"),
            ("ReinMax-CV", "ReinMaxCV"),
        )
        for draws in (1, 4, 10)
    },
}


def ours(size, kind="GumbelSoftmaxST", arguments=None):
    from tfcap import layers

    def embedding(table):
        channel = getattr(layers, kind)(**(arguments or {"temperature": 0.5}))
        embed = layers.SoftEmbedding(VOCABULARY, UNITS)
        embed.build((None, VOCABULARY))
        embed.embeddings.assign(table)

        def embedded(logits):
            return embed(channel(logits, training=True))

        return embedded, embed.trainable_variables

    return caller(size, embedding)


def plain(size):
    """The equations as they stand, in TensorFlow."""
    import tensorflow as tf

    def embedding(table):
        table = tf.Variable(table)

        def embedded(logits):
            noise = tf.random.uniform(tf.shape(logits), 1e-20)
            scores = logits - tf.math.log(-tf.math.log(noise))
            soft = tf.nn.softmax(scores / 0.5)
            hard = tf.one_hot(tf.argmax(soft, axis=-1), VOCABULARY)
            return tf.matmul(hard + soft - tf.stop_gradient(soft), table)

        return embedded, [table]

    return caller(size, embedding)


def of_torch(size, device="cpu"):
    """The channel of PyTorch and a product; and with gradients by hand."""
    import torch
    import torch_steps

    data = [torch.from_numpy(array).to(device) for array in arrays(size)]
    logits, table, slope = data
    uniform = functools.partial(torch.rand, device=device)
    soft = torch.empty_like(logits)

    def plain():
        leaves = [x.detach().requires_grad_() for x in (logits, table)]
        words = torch.nn.functional.gumbel_softmax(leaves[0], 0.5, hard=True)
        value = ((words @ leaves[1]) * slope).sum()
        value.backward()
        return float(value.detach())

    def strong():
        words, _ = torch_steps.gumbel(logits, uniform, soft)
        value = (table[words] * slope).sum()
        torch_steps.softmax_backward(slope @ table.T, soft, 0.5)
        torch.zeros_like(table).index_add_(0, words, slope)
        return float(value)

    return {"torch": plain, "strong torch": strong}


def limit(size):
    import tensorflow as tf

    _, table, slope = map(tf.constant, arrays(size))

    @tf.function(autograph=False)
    def graph():
        noise = tf.random.uniform((size, VOCABULARY))
        return tf.matmul(slope, table, transpose_b=True)[0, 0], noise[0, 0]

    return lambda: graph()[0].numpy()


def contestants():
    import importlib.util

    made = {
        name: ours(WORDS, kind, arguments)
        for name, (kind, arguments) in CHANNELS.items()
    }
    made |= {"ours": ours(WORDS), "plain": plain(WORDS)}
    made |= {"one product": limit(WORDS)}
    if importlib.util.find_spec("torch") is not None:
        made |= of_torch(WORDS)
    return made


def _peer(name):
    """The Gumbel channel, with the same rho."""
    mixed = ", rho" in name and name != "Gumbel, rho"
    return "Gumbel, rho" if mixed else "ours"


def _floor(name):
    """At most 1.3 times its peer; none for those that draw noise K times."""
    free = name[-1].isdigit() or name == "Gumbel, rho"
    return None if free else 1 / 1.3


ITEM = f"{WORDS:,} x {VOCABULARY:,} x {UNITS}"
ROWS = [
    Row(ITEM, "ours", "torch", "one product", floor=3.5, goal=5.5),
    Row(ITEM, "ours", "strong torch", "one product", floor=1.5),
    Row(ITEM, "ours", "plain", "one product", floor=1.5),
    *(
        Row(f"{name} by Gumbel", name, _peer(name), floor=_floor(name))
        for name in CHANNELS
    ),
]


if __name__ == "__main__":
    compare(contestants, ROWS)

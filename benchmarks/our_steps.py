"""Training steps of tfcap: `train_on_batch()` of its methods."""

import contextlib

import tasks

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


@contextlib.contextmanager
def policy(name):
    """Networks made inside compute as this policy says."""
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def versions():
    import keras
    import tensorflow as tf

    return {"tensorflow": tf.__version__, "keras": keras.__version__}


def step(name, dtype="float32", first=False, check=None):
    """A step of a task.

    Args:
        name: Its name, or "limit of" it, or a method with `first`.
        dtype: Type of products.
        first: Whether the networks are small, and the first step is all.
        check: File to write weights, random numbers and gradients to.
    """
    if name.startswith("limit of "):
        return limit(name.removeprefix("limit of "), dtype)
    sizes = tasks.sizes_of(name, small=check)
    if first:
        sizes = tasks.Sizes(8, 16, 1000, 64, 128, 64)
    if name in ("G-DIS", "gdis"):
        if first:
            sizes = tasks.DialogSizes(4, 10, 1000, 64, 64, 128)
        networks = dialog_networks(sizes)
    else:
        networks = caption_networks(sizes, dtype)
    batch = tasks.batch_of(sizes)
    model = (METHODS if first else STEPS)[name](sizes, *networks)
    if check:
        return recorded(model, networks, batch, check)
    return trained(model, batch)


def trained(model, batch):
    import keras
    import tensorflow as tf

    model.compile(
        {name: keras.optimizers.Adam(1e-7) for name in model.learners}
    )
    batch = {key: tf.constant(value) for key, value in batch.items()}
    return lambda: model.train_on_batch(batch)


def never_ends(network):
    """Random weights say words to the last: nobody ends."""
    bias = network.head.bias.numpy()
    bias[network.eos] = -1e4
    network.head.bias.assign(bias)


def caption_networks(sizes, dtype="float32"):
    from tfcap.models import RetrievalListener
    from tfcap.models import ShowTellSpeaker

    size, batch = sizes.vocabulary, tasks.batch_of(sizes)
    with policy(POLICIES[dtype]):
        speaker = ShowTellSpeaker(size, sizes.units, image_at="start")
        listener = RetrievalListener(size, sizes.listener, sizes.units)
    speaker(batch), listener(batch)
    never_ends(speaker)
    return speaker, listener


def dialog_networks(sizes):
    from tfcap.layers import AnswerEncoder
    from tfcap.layers import HCIAEEncoder
    from tfcap.models import DialogDiscriminator
    from tfcap.models import DialogGenerator

    units, width = sizes.units, sizes.embedding
    batch = tasks.batch_of(sizes)

    def encoder(**options):
        return HCIAEEncoder(units, output_units=width, **options)

    generator = DialogGenerator(
        sizes.vocabulary, encoder(return_state=True), width
    )
    critic = DialogDiscriminator(
        sizes.vocabulary, encoder(), AnswerEncoder(units, width), width
    )
    generator(batch), critic({**batch, "options": batch["answer"][:, :, None]})
    never_ends(generator)
    return generator, critic


def _method(name, *given, rewarded=False, pair=False, **options):
    """A function from sizes and networks to the model of a method."""

    def make(sizes, speaker, other):
        from tfcap import methods
        from tfcap.rewards import CIDErD

        networks = [speaker, other] if pair else [speaker]
        if rewarded:
            networks.append(CIDErD(tasks.frequencies_of(sizes)))
        more = {} if name == "mle" else {"max_length": sizes.length}
        return getattr(methods, name)(*networks, *given, **more, **options)

    return make


PAIR = {"pair": True, "lambda_": 1.0}
#: Those that PyTorch has, too.
STEPS = {
    "XE": _method("mle"),
    "SCST": _method("scst", rewarded=True),
    "SLL": lambda sizes, *networks: _method(
        "sll", rewarded=True, num_samples=sizes.samples
    )(sizes, *networks),
    "ST-Gumbel": _method(
        "psst", rho=0.0, channel="gumbel", temperature=0.5, **PAIR
    ),
    "PSST": _method("psst", rho=0.25, **PAIR),
    "G-DIS": _method("gdis", pair=True),
}
#: Those whose first step is timed.
METHODS = {
    "mle": _method("mle"),
    **{
        name: _method(name, rewarded=True)
        for name in ("scst", "sll_sle", "grpo")
    },
    "psst": _method("psst", **PAIR),
    "straight_through": _method("straight_through", **PAIR),
    "wtf_rl": _method("wtf_rl", pair=True, alpha=1.0),
    "gdis": _method("gdis", pair=True),
}


def limit(name, dtype):
    """Nothing but so many floating-point operations, of large products."""
    import tensorflow as tf

    rows, units, size = 1024, 512, 9488
    words = tf.cast(tf.random.normal((rows, units)), dtype)
    kernel = tf.cast(tf.random.normal((units, size)), dtype)
    needed = tasks.work(name, tasks.sizes_of(name))
    times = needed / (2 * rows * units * size)
    rest = words[: round((times % 1) * rows)]

    def call():
        for _ in range(int(times)):
            tf.matmul(words, kernel)
        return tf.matmul(rest, kernel)[0, 0].numpy()

    return call


def recorded(model, networks, batch, path):
    """Takes a step; writes what it began with, drew, and its gradients."""
    import keras
    import numpy as np

    rng, drawn = np.random.default_rng(2), []

    def uniform(shape, minval=0.0, maxval=1.0, dtype=None, seed=None):
        drawn.append(rng.uniform(size=[int(n) for n in shape]))
        return keras.ops.convert_to_tensor(drawn[-1], "float32")

    def weights():
        return {
            f"{i}/{v.path.partition('/')[2]}": v.numpy()
            for i, network in enumerate(networks)
            for v in network.variables
        }

    # So much that weights round away nothing of a gradient.
    rate = 1024.0
    model.compile(
        {name: keras.optimizers.SGD(rate) for name in model.learners},
        run_eagerly=True,
    )
    before, keras.random.uniform = weights(), uniform
    model.train_on_batch(batch)
    after = weights()
    found = {f"weight {name}": x for name, x in before.items()}
    found |= {f"slope {n}": (x - after[n]) / rate for n, x in before.items()}
    found |= {f"drawn {i}": x for i, x in enumerate(drawn)}
    np.savez(path, **found)
    return lambda: None

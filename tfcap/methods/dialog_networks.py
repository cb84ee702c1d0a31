"""Requirements of the visual dialog methods on the networks they are given."""

import keras

from tfcap.decoding import Speaker


def check_generator(generator):
    """Refuses a generator that decoders cannot call.

    Args:
        generator: Anything.

    Raises:
        TypeError: If it is no `tfcap.decoding.Speaker`.
    """
    if not isinstance(generator, Speaker):
        raise TypeError(
            "`generator` must be a `tfcap.decoding.Speaker`, with `begin()`, "
            "`step()`, `log_probs()`, `references()`, `vocabulary_size`, `bos` "
            f"and `eos`. Received: generator={generator!r}. See "
            "`tfcap.models.DialogGenerator`."
        )


def check_discriminator(discriminator, methods=("encode", "embed")):
    """Refuses a discriminator that lacks what a method calls.

    Args:
        discriminator: Anything.
        methods: Tuple of strings, the names of the methods that are called.

    Raises:
        TypeError: If it is no `keras.Model` or lacks a method.
        ValueError: If it is not built.
    """
    lacking = [name for name in methods if not hasattr(discriminator, name)]
    if lacking or not isinstance(discriminator, keras.Model):
        wanted = ", ".join(f"`{name}()`" for name in methods)
        raise TypeError(
            "`discriminator` must be a `keras.Model`"
            + (f" with the methods {wanted}" if methods else "")
            + f". Received: discriminator={discriminator!r}. See "
            "`tfcap.models.DialogDiscriminator`."
        )
    if not discriminator.built:
        raise ValueError(
            "`discriminator` must be built. Received: "
            f"discriminator={discriminator!r} without weights. Call it on a "
            "batch first."
        )

"""Requirements of visual dialog methods on a discriminator."""

import keras


def check_discriminator(
    discriminator, methods: tuple[str, ...] = ("encode", "embed")
):
    """Refuses a discriminator that lacks what a method calls.

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

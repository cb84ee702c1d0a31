"""Checks of tensors and batches that run once, while a graph is traced."""


def check_shape(tensor, axes, name):
    """Refuses a tensor whose static shape does not fit a legend.

    Costs nothing when a graph runs: only static shapes are looked at, and an
    axis of unknown size fits everything.

    Args:
        tensor: Tensor, array or `KerasTensor`.
        axes: String, one word an axis, such as `"B S T"`. A number must be
            met exactly; a letter that is repeated must have one size. A
            leading `"..."` stands for any number of axes.
        name: String, the argument's name, for the message.

    Raises:
        ValueError: If the shape does not fit.

    Example:

    >>> tfcap.ops.check_shape(np.zeros((2, 5, 7)), "B S T", "log_probs")
    >>> tfcap.ops.check_shape(np.zeros((2, 7)), "B S T", "log_probs")
    Traceback (most recent call last):
    ValueError: `log_probs` must have shape (B, S, T). Received: shape=(2, 7).
    """
    shape = tuple(tensor.shape)
    letters = axes.split()
    tail = letters[1:] if letters[0] == "..." else letters
    fits = len(shape) >= len(tail) and (
        letters[0] == "..." or len(shape) == len(tail)
    )
    sizes = {}
    for letter, size in zip(tail, shape[len(shape) - len(tail) :]):
        wanted = int(letter) if letter.isdigit() else sizes.get(letter, size)
        fits = fits and (size is None or wanted is None or wanted == size)
        sizes[letter] = wanted
    if not fits:
        raise ValueError(
            f"`{name}` must have shape ({', '.join(letters)}). "
            f"Received: shape={shape}."
        )


def batch_entry(inputs, key, what, remedy=""):
    """What a batch holds under a key.

    Args:
        inputs: Dict of tensors, or of their shapes.
        key: String.
        what: String, what the entry is, for the message.
        remedy: String, optional, what to do where it is missing.

    Returns:
        The entry.

    Raises:
        ValueError: If there is none.
    """
    if isinstance(inputs, dict) and key in inputs:
        return inputs[key]
    held = type(inputs).__name__
    if isinstance(inputs, dict):
        held = f"inputs with {', '.join(sorted(inputs))}"
    message = f"`inputs` must hold {key!r}, {what}. Received: {held}. {remedy}"
    raise ValueError(message.rstrip())

"""Checks of tensors and batches that run once, while a graph is traced."""

from keras import ops


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


def check_labels(labels, scores, name, scores_name):
    """Refuses labels that are not one for every score.

    Args:
        labels: Tensor of shape `(..., N)`.
        scores: Tensor of shape `(..., N)`.
        name: String, the argument that holds the labels, for the message.
        scores_name: String, the argument that holds the scores.

    Raises:
        ValueError: If shapes differ.
    """
    shapes = tuple(labels.shape), tuple(scores.shape)
    if len(shapes[0]) != len(shapes[1]) or any(
        None not in pair and pair[0] != pair[1] for pair in zip(*shapes)
    ):
        raise ValueError(
            f"`{name}` must have the shape of `{scores_name}`, with 1 for the "
            f"truth of every row. Received: {name}.shape={shapes[0]}, "
            f"{scores_name}.shape={shapes[1]}. Make labels of class indices "
            "with `keras.ops.one_hot()`."
        )


def check_shapes(**tensors):
    """Refuses tensors that do not fit each other, and so would broadcast.

    A letter, and what `"..."` stands for, must have one size in all of them.

    Args:
        **tensors: Pairs `(tensor, axes)` by name, axes as in `check_shape()`.

    Raises:
        ValueError: If a shape does not fit its axes, or those before it.

    Example:

    >>> from tfcap.ops.shapes import check_shapes
    >>> labels, scores = np.zeros((4, 1)), np.zeros((4, 5))
    >>> check_shapes(labels=(labels, "B N"), scores=(scores, "B N"))
    Traceback (most recent call last):
    ValueError: `scores` must have the N of `labels`. Received: \
labels.shape=(4, 1), scores.shape=(4, 5).
    """
    known = {}
    for name, (tensor, axes) in tensors.items():
        check_shape(tensor, axes, name)
        for letter, size in _sizes(tensor.shape, axes.split()):
            if size is None:
                continue
            wanted, first = known.setdefault(letter, (size, name))
            if size != wanted:
                what = "axes" if letter.startswith(".") else letter
                shown = ", ".join(
                    f"{key}.shape={tuple(tensors[key][0].shape)}"
                    for key in (first, name)
                )
                raise ValueError(
                    f"`{name}` must have the {what} of `{first}`. "
                    f"Received: {shown}."
                )


def _sizes(shape, letters):
    """Axes by letter; those of `"..."`, and their number, by dots."""
    if letters[0] != "...":
        return list(zip(letters, shape))
    lead = len(shape) - len(letters) + 1
    dots = [f"...{i}" for i in range(lead)]
    return [("...", lead), *zip([*dots, *letters[1:]], shape)]


def row_weights(weights, values, name="sample_weight"):
    """Weights of values, or of their rows.

    Args:
        weights: Tensor of the shape of the values, of leading axes of it, or
            with one more axis of size 1.
        values: Float tensor of shape `(B, ...)`.
        name: String, the argument's name, for the message.

    Returns:
        Tensor that broadcasts to the values, of their dtype and rank.

    Raises:
        ValueError: If there is not a weight for every row.

    Example:

    >>> from tfcap.ops.shapes import row_weights
    >>> row_weights(np.ones(4), np.zeros((4, 3))).shape
    TensorShape([4, 1])
    """
    weights = ops.cast(ops.convert_to_tensor(weights), values.dtype)
    shape, wanted = tuple(weights.shape), tuple(values.shape)
    if len(shape) == len(wanted) + 1 and shape[-1] == 1:
        weights = ops.squeeze(weights, axis=-1)
    given = tuple(weights.shape)
    # One weight of the last axes is that of all; one of a batch is not.
    known = [
        size == want or size is None or want is None or (i and size == 1)
        for i, (size, want) in enumerate(zip(given, wanted))
    ]
    if len(given) > len(wanted) or not all(known):
        raise ValueError(
            f"`{name}` must be of shape {wanted}, or of its leading axes. "
            f"Received: {name}.shape={shape}."
        )
    for _ in range(len(wanted) - len(given)):
        weights = ops.expand_dims(weights, axis=-1)
    return weights


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

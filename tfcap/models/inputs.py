"""Reading a batch of dialogs or captions."""

from keras import ops

from tfcap.ops import check_shape
from tfcap.ops.arguments import batch_entry


def entry(inputs, key, axes):
    """One entry of a batch, checked.

    Args:
        inputs: Dict of tensors, or of their shapes.
        key: String.
        axes: String, legend of the shape.

    Returns:
        The tensor or shape.

    Raises:
        ValueError: If the batch has no such entry, or one of another shape.
    """
    found = batch_entry(inputs, key, f"of shape ({', '.join(axes.split())})")
    if hasattr(found, "dtype"):
        check_shape(found, axes, key)
    return found


def word_ids(inputs, key, axes="B R T"):
    """Word ids of a batch, checked.

    Args:
        inputs: Dict of tensors.
        key: String.
        axes: String, legend of the shape. Defaults to `"B R T"`.

    Returns:
        Int32 tensor.
    """
    # Keras averages a batch over replicas when it builds a model under a
    # strategy, which makes floats of integers.
    return ops.cast(entry(inputs, key, axes), "int32")


def image_features(inputs):
    """Image features of a dialog batch, `(B, P, D)`, checked."""
    return entry(inputs, "image", "B P D")


def dialog_shapes(input_shape):
    """Shapes of what an encoder reads, from those of a batch.

    Returns:
        Tuples of the shapes of questions, histories and images.
    """
    axes = {"question": "B R T", "history": "B R T", "image": "B P D"}
    return [tuple(entry(input_shape, key, axes[key])) for key in axes]

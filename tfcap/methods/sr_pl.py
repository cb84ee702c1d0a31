"""Self-retrieval with unlabeled distractors."""

from typing import Any

from tfcap.methods.frozen_listener import frozen_listener
from tfcap.training import JointTraining


def sr_pl(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    distractors: str = "distractor_image",
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a listener, with unlabeled images to tell apart.

    As `frozen_listener()` by REINFORCE; the images that a caption must not be
    taken for are those of the batch, and others that no caption describes.

    Args:
        speaker, listener, lambda_: As those of `frozen_listener()`.
        distractors: String, the key in the batch of the other images, of the
            shape of the captioned ones.
        **options: Further arguments of `frozen_listener()`, such as
            `naturalness` and `max_length`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ...     "distractor_image": np.ones((2, 1, 3), "float32"),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.sr_pl(speaker, listener, lambda_=1.0)
    >>> training.compile("adam")

    Reference:

    - Liu et al., Show, Tell and Discriminate: Image Captioning by
      Self-retrieval with Partially Labeled Data, ECCV 2018
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "SR-PL"
    """
    return frozen_listener(
        speaker, listener, lambda_=lambda_, distractors=distractors, **options
    )

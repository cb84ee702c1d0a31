"""Networks and vocabularies that an `Evaluator` refuses."""

from typing import Any

from tfcap.rewards.retrieval import check_embedder
from tfcap.rewards.reward import check_vocabulary

#: How names of scores begin that are not another listener's.
_TAKEN = ("human", "image_to_text")


def check_listeners(listeners: dict[str, Any], evaluator: Any):
    """Refuses what embeds nothing, or the words of another vocabulary.

    Args:
        listeners: Dict of name to listener, `""` for the `listener`.
        evaluator: Object with a `speaker`.

    Raises:
        TypeError: If one embeds nothing.
        ValueError: If vocabularies differ in size, or a name is taken.
    """
    for name, listener in listeners.items():
        argument = f"other_listeners[{name!r}]" if name else "listener"
        check_embedder(listener, argument)
        check_vocabulary(listener, evaluator, argument)
        if name.startswith(_TAKEN):
            raise ValueError(
                "`other_listeners` must have names that are no other "
                f"scores'. Received: {name!r}. Call it fixed_{name}."
            )


def check_words(vocabulary: Any, speaker: Any, pad: int):
    """Refuses a vocabulary that is not the speaker's.

    Args:
        vocabulary: Object with `decode(ids)`, or `None`.
        speaker: `tfcap.decoding.Speaker`.
        pad: Integer, the speaker's.

    Raises:
        ValueError: If there is none, or their sizes or paddings differ.
    """
    if vocabulary is None:
        raise ValueError(
            "`vocabulary` must be given where neither the data set nor the "
            "speaker has one. Received: vocabulary=None. Pass the "
            "`tfcap.text.Vocabulary` or the tokenizer of the captions."
        )
    size = getattr(vocabulary, "size", None)
    wanted = speaker.vocabulary_size
    if size not in (None, wanted):
        raise ValueError(
            "`vocabulary` must be the speaker's. Received: a vocabulary "
            f"of {size} ids for a speaker of {wanted}. Load the one that "
            "was saved with the speaker."
        )
    known = getattr(vocabulary, "pad", None)
    if known not in (None, pad):
        raise ValueError(
            "`vocabulary` must pad as the speaker does, or captions end where "
            f"they do not. Received: vocabulary.pad={known} for a speaker of "
            f"{pad}, 0 where it has no `pad`. Make the speaker with "
            f"`pad={known}`."
        )

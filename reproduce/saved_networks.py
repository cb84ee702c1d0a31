"""Saved networks of captioning, as commands load them."""

import re

from reproduce.captioning.caption_data import OUTSIDE
from tfcap.training import load_network

#: How Keras sets off what a layer said from what it was called with.
_SAID = re.compile(r"\x1b\[1m(.*?)\x1b\[0m", re.DOTALL)
#: What `--standardize` is told for features as they are in their file.
AS_THEY_ARE = "none"
#: What to do about an older network where captions are at hand.
TRAIN = (
    "For a network of the recipes add --standardize train, and --pooled where "
    "the speaker is a ShowTellSpeaker."
)


def load_named(path: str, name: str):
    """Loads a network that a command was given.

    Raises:
        ValueError: If Keras cannot load it; says which, and what to do.
        OSError: If there is no such file.
    """
    try:
        return load_network(path, compile=False, hint="")
    except ValueError as error:
        raise ValueError(
            f"{name} must be a network that Keras can load. Received: "
            f"{path!r}. {error} Give a file that `save()` wrote; for a "
            "network of your own, name its module: --import MODULE."
        ) from error


def check_preparation(networks, standardize: str | None, hint: str = TRAIN):
    """Refuses features that a network would get as it never saw them.

    Raises:
        ValueError: If a network prepares images and the features are to be
            prepared, too; or if one leaves it to others, and nothing is said.
    """
    for path, network in networks.items():
        how = getattr(network, "image_preprocessing", None)
        if how == OUTSIDE and standardize is None:
            raise ValueError(
                "`--standardize` must be given for a network that was saved "
                "without the mean and deviation of its features. Received: "
                f"{path!r} and no --standardize. {hint} For one that learned "
                f"from features as they are, add --standardize {AS_THEY_ARE}."
            )
        if how in (None, OUTSIDE) or standardize in (None, AS_THEY_ARE):
            continue
        raise ValueError(
            "`--standardize` must be left out for networks that hold the mean "
            f"and deviation of their features. Received: --standardize "
            f"{standardize} for {path!r}, which would be standardized twice. "
            "Evaluate it apart from networks that need the option."
        )


def reason_of(error) -> str:
    """The sentence of an error, without what Keras writes around it."""
    messages = _SAID.findall(str(error)) or [str(error)]
    return messages[-1].strip().splitlines()[-1]

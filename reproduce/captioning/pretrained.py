"""The speaker of maximum likelihood of another study."""

import dataclasses
import os
import shutil

from reproduce.captioning.settings import SpeakerSettings
from reproduce.study import read_study
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.training import is_chief

#: Name of the speaker of maximum likelihood in a study.
SPEAKER = "speaker_mle"
#: Settings that this phase does not read.
_LATER = ("warm_up_steps", "clipnorm", "evaluation_batch_size")
_ABOUT = ("digest", "image_preprocessing", "seed")


def check_pretrained(folder, about: dict):
    """Rejects a study whose speaker differs from the one to be trained.

    Raises:
        ValueError: If it is of other data, another seed or other settings of
            the speaker, or has not trained a speaker yet.
    """
    try:
        other = read_study(folder)
    except FileNotFoundError as error:
        raise _refusal(folder, "which holds no study.json") from error
    wrong = [name for name in _ABOUT if other.get(name) != about.get(name)]
    for field in dataclasses.fields(SpeakerSettings):
        name = field.name
        values = [x["settings"].get(name) for x in (other, about)]
        if name not in _LATER and values[0] != values[1]:
            wrong.append(f"{name} ({values[0]!r}, here {values[1]!r})")
    if wrong:
        raise _refusal(folder, f"a study with another {', '.join(wrong)}")
    if not os.path.exists(_networks(folder)):
        raise _refusal(folder, f"which has no {SPEAKER} yet")


def take_pretrained(folder, target: str):
    """Copies the speaker of another study."""
    roles = read_written(_networks(folder))
    source = os.path.dirname(_networks(folder))
    for name in [f"{role}.keras" for role in roles] if is_chief() else ():
        shutil.copyfile(os.path.join(source, name), os.path.join(target, name))
    # Last, so that it tells that all are there, and whole.
    write_json(os.path.join(target, "networks.json"), roles)


def _networks(folder):
    return os.path.join(str(folder), SPEAKER, "networks.json")


def _refusal(folder, why):
    return ValueError(
        "`pretrained` must be the folder of a study with the same data, seed "
        f"and speaker. Received: pretrained={str(folder)!r}, {why}. Leave it "
        "out, and the speaker is trained."
    )

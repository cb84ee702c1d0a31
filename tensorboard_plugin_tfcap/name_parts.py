"""Settings in the names of runs: `psst/k=0.1,seed=2`."""

import re

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(NUMBER, re.ASCII)
#: A number, a separator, and what follows.
_NUMBER_THEN = re.compile(rf"({NUMBER})[_-]+(?=[A-Za-z])(.*)", re.ASCII)
#: Longest number: beyond, Python rejects it, or it overflows.
_LONGEST = 250
_APART = re.compile(r"[,;&\s]+")
_LAST_WORD = re.compile(r"(?:(.*?)[_-]+)?([^_-]+)")
_PLAIN_SEED = re.compile(r"(?:(.*?)[_-])?seed[_-]?(\d+)", re.ASCII)
#: Words that form a key together with the word before them.
_NOUNS = frozenset(
    "rate size decay steps layers layer dim dims dimension heads epochs length "
    "samples units weight width depth coef coefficient factor ratio scale norm "
    "smoothing".split()
)
#: Words that belong to the next word.
_BEFORE = frozenset("num n max min top init initial final random rng".split())


def plain_value(text):
    """Reads a text as a number if it is one.

    Example:

    >>> from tensorboard_plugin_tfcap.name_parts import plain_value
    >>> [plain_value(text) for text in ("3", "1e-4", "adam", "nan")]
    [3, 0.0001, 'adam', 'nan']
    """
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return text
    return float(text) if set(text) & set(".eE") else int(text)


def name_settings(name: str):
    """Settings in a run's name, and the rest of the name.

    Settings are separated by `/`, commas, spaces or semicolons, and also by
    `_` and `-`, where a key is the last word before its `=`.

    Returns:
        Dict of numbers and strings by key, and a string.

    Example:

    >>> from tensorboard_plugin_tfcap.name_parts import name_settings
    >>> name_settings("psst/k=0.1,seed=2")
    ({'k': 0.1, 'seed': 2}, 'psst')
    >>> name_settings("resnet_weight_decay=1e-4-opt=adam_seed=3")
    ({'weight_decay': 0.0001, 'opt': 'adam', 'seed': 3}, 'resnet')
    """
    settings, left = {}, []
    for folder in name.split("/"):
        chunks = _APART.split(folder) if "=" in folder else [folder]
        rest = [
            _read(chunk, settings, alone=place > 0)
            for place, chunk in enumerate(chunks)
        ]
        left.append(",".join(filter(None, rest)))
    return settings, "/".join(filter(None, left))


def _read(chunk, settings, alone):
    """Reads a text with no separators other than `_` and `-`."""
    head, *texts = chunk.split("=")
    if not texts or not head:
        return _without_seed(chunk, settings)
    left, key = ("", head) if alone else _split_key(head)
    for text in texts[:-1]:
        match = _NUMBER_THEN.fullmatch(text)
        value, following = match.groups() if match else _split_key(text)
        settings[key] = plain_value(value or following)
        key = following
    match = _NUMBER_THEN.fullmatch(texts[-1])
    value, rest = match.groups() if match else (texts[-1], "")
    settings[key] = plain_value(value)
    rest = _without_seed(rest, settings)
    return "_".join(filter(None, (_without_seed(left, settings), rest)))


def _without_seed(text, settings):
    """A text without `seed_3` at its end, which becomes the seed."""
    match = _PLAIN_SEED.fullmatch(text)
    if match is None:
        return text
    settings["seed"] = int(match[2])
    return match[1] or ""


def _split_key(text):
    """Text before a key, and the key: the last word, or the last two."""
    match = _LAST_WORD.fullmatch(text)
    if match is None:
        return "", text
    left, key = match[1] or "", text[match.start(2) :]
    while left:
        before = _LAST_WORD.fullmatch(left)
        word = before and before[2].lower()
        noun = key == match[2] and key.lower() in _NOUNS
        if before is None or not (noun or word in _BEFORE):
            break
        left, key = before[1] or "", text[before.start(2) :]
    return left, key

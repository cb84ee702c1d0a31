"""The reason why a metric is missing."""

from typing import NamedTuple


class MissingScore(NamedTuple):
    """A score that could not be had, by name, and what to do about it."""

    name: str  # as papers print it
    reason: str  # a clause
    hint: str  # a sentence

    def __str__(self):
        return f"{self.name} is absent: {self.reason}. {self.hint}"

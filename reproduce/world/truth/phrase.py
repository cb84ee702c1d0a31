"""A noun phrase while it is read."""

import dataclasses


@dataclasses.dataclass
class Phrase:
    """A noun phrase that waits for its noun, and the words it has taken."""

    looks: set = dataclasses.field(default_factory=set)
    count: int | None = None
    least: int | None = None
    other: bool = False
    article: bool = False
    partitive: bool = False
    words: list = dataclasses.field(default_factory=list)
    numbers: list = dataclasses.field(default_factory=list)
    places: dict = dataclasses.field(default_factory=dict)

    def take(self, kind, value, taken):
        """Takes words, which claim something of what the noun will be."""
        self.words += taken
        self.places.setdefault((kind, value), taken)

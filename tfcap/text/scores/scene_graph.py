"""Scene graphs, which captions are compared by."""

from collections.abc import Iterable
from typing import NamedTuple

NAME = "SPICE (spaCy)"
COLORS = frozenset(
    "beige black blond blonde blue bronze brown copper cream crimson dark gold "
    "golden gray green grey indigo ivory khaki lavender lilac magenta maroon "
    "navy olive orange peach pink purple red scarlet silver tan teal turquoise "
    "violet white yellow".split()
)


class SceneGraph(NamedTuple):
    """The objects of a caption, their attributes and relations, by lemmas.

    Example:

    >>> graph = tfcap.text.SceneGraph(
    ...     objects=("girl", "court"),
    ...     attributes=(("girl", "young"),),
    ...     relations=(("girl", "stand on", "court"),),
    ... )
    >>> print(*graph.tuples())
    ('girl',) ('court',) ('girl', 'young') ('girl', 'stand on', 'court')
    """

    objects: tuple[str, ...] = ()
    #: Pairs of an object and its attribute.
    attributes: tuple[tuple[str, str], ...] = ()
    #: Triples of an object, a relation and another object.
    relations: tuple[tuple[str, str, str], ...] = ()

    def tuples(self) -> list[tuple[str, ...]]:
        """Returns all there is, as tuples of one to three words."""
        objects = [(name,) for name in self.objects]
        return [*objects, *self.attributes, *self.relations]

    @classmethod
    def union(cls, graphs: Iterable["SceneGraph"]) -> "SceneGraph":
        """Returns the graph of all that graphs hold, each tuple once."""
        graphs = list(graphs)
        return cls(
            *(
                tuple(dict.fromkeys(x for graph in graphs for x in graph[k]))
                for k in range(3)
            )
        )

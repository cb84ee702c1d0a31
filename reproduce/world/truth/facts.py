"""Truth of a scene or a video, in the form that claims ask for."""

import functools
import itertools

from reproduce.world.scenes import FAR_APART
from reproduce.world.scenes import Scene
from reproduce.world.truth.lexicon import CORNER
from reproduce.world.words import VALUES

#: Slots of a look that people name where there is something to name.
LOOK_SLOTS = ("color", "size", "texture")
_ROWS, _COLUMNS = {"top", "bottom"}, {"left", "right"}


class Facts:
    """Looks, places and relations of the things of a scene or a video.

    Of a video, what is true in the beginning or in the end is true: "a red
    ball turns blue" and "a blue ball" are both.

    Args:
        shown: `reproduce.world.Scene` or `Video`.

    Attributes:
        video: `Video`, or `None`.
        scenes: List of `Scene`, one, or that of the beginning and the end.
        things: Tuple of `Thing`, as they are in the beginning.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> facts = Facts(Scene("grass", (ball,)))
    >>> sorted(facts.sayable)[:3]
    [('color', 0), ('ground',), ('number',)]
    """

    def __init__(self, shown):
        self.video = None if isinstance(shown, Scene) else shown
        begin = shown if self.video is None else shown.scene
        self.scenes = [begin]
        if self.video is not None:
            things = list(begin.things)
            things[self.video.mover] = self.video.end
            self.scenes.append(Scene(begin.background, tuple(things)))
        self.things = begin.things
        self.ground = begin.background
        self.looks = [
            frozenset().union(*(scene.things[i].looks for scene in self.scenes))
            for i in range(len(self.things))
        ]
        self._relations = {}

    def of_shape(self, shape):
        """Indices of the things of a shape, of all for `None`."""
        return [
            i
            for i, thing in enumerate(self.things)
            if shape in (None, thing.shape)
        ]

    def number(self, shape, looks):
        """Number of things of a shape that look so."""
        return sum(looks <= self.looks[i] for i in self.of_shape(shape))

    def is_at(self, i, place):
        """Check whether a thing is at a place."""
        regions = [{*scene.region(i)} for scene in self.scenes]
        if place == CORNER:
            return any(x & _ROWS and x & _COLUMNS for x in regions)
        return any(place <= region for region in regions)

    def related(self, i, name, j):
        """Check whether a relation holds between two things."""
        if (i, j) not in self._relations:
            names = {x for scene in self.scenes for x in scene.relation(i, j)}
            for scene in self.scenes:
                one, other = scene.things[i], scene.things[j]
                if one.distance(other) > FAR_APART:
                    names.add("far")
            self._relations[i, j] = names
        return name in self._relations[i, j]

    def happens(self, happening, things):
        """Check whether it happens, to one of some things.

        Args:
            things: Collection of indices, or `None` where none was named.
        """
        video = self.video
        if video is None or video.motion != happening.motion:
            return False
        if video.motion == "still":
            return True
        colors = ((happening.old, video.start), (happening.new, video.end))
        if any(name not in (None, thing.color) for name, thing in colors):
            return False
        return things is None or video.mover in things

    @functools.cached_property
    def sayable(self):
        """All that could be said: keys, and the kinds that weigh alike.

        Keys are `("object", i)`, `("color", i)`, `("size", i)`,
        `("texture", i)`, `("place", i)`, `("relation", i, j)` with the lower
        index first, `("ground",)` and `("number",)`; of a video `("motion",)`
        and `("way", j)`.

        Returns:
            Dict of kinds, tuples of strings, by key.
        """
        facts = {("ground",): ("ground",), ("number",): ("number",)}
        for i, thing in enumerate(self.things):
            facts["object", i] = "object", thing.size
            facts["color", i] = "color", thing.size
            facts["size", i] = "size", thing.size
            facts["texture", i] = "texture", thing.texture
            facts["place", i] = ("place",)
        for i, j in itertools.combinations(range(len(self.things)), 2):
            near = self.related(i, "near", j)
            facts["relation", i, j] = "relation", "near" if near else "apart"
        if self.video is not None:
            facts["motion",] = ("motion",)
            for j in range(len(self.things)):
                if self.video.ways(j):
                    facts["way", j] = ("way",)
        return facts


def slot_of(value):
    """The slot of a look."""
    return next(slot for slot in LOOK_SLOTS if value in VALUES[slot])

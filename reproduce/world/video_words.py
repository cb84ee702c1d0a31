"""What annotators say happens in a video: verbs, and what goes with them."""

_GO = {
    "left": ("to the left", "left", "leftwards"),
    "right": ("to the right", "right", "rightwards"),
    "up": ("up", "upwards", "to the top"),
    "down": ("down", "downwards", "to the bottom"),
}
_VERBS = (
    ("moves", "moving"),
    ("slides", "sliding"),
    ("goes", "going"),
    ("drifts", "drifting"),
    ("rolls", "rolling"),
)
_OTHERS = {
    "up": (("rises", "rising"), ("floats up", "floating up")),
    "down": (("falls", "falling"), ("sinks", "sinking")),
}


def _moves(motion):
    """Verbs of a direction, the usual ones first."""
    forms = [
        (i + 2 * j, tuple(f"{verb} {way}" for verb in verbs))
        for i, verbs in enumerate(_VERBS)
        for j, way in enumerate(_GO[motion])
    ]
    forms += [(1, verbs) for verbs in _OTHERS.get(motion, ())]
    return tuple(form for _, form in sorted(forms))


#: For each motion, verbs as they stand in a sentence ("moves") and beside a
#: noun ("moving"), the usual ones first.
VERBS = {motion: _moves(motion) for motion in _GO} | {
    "grows": (
        ("grows", "growing"),
        ("gets bigger", "getting bigger"),
        ("becomes larger", "becoming larger"),
        ("expands", "expanding"),
    ),
    "shrinks": (
        ("shrinks", "shrinking"),
        ("gets smaller", "getting smaller"),
        ("becomes smaller", "becoming smaller"),
    ),
    "turns": (
        ("turns {new}", "turning {new}"),
        ("becomes {new}", "becoming {new}"),
        ("changes to {new}", "changing to {new}"),
        ("turns from {old} to {new}", "turning from {old} to {new}"),
        ("changes its color to {new}", "changing its color to {new}"),
    ),
    "appears": (
        ("appears", "appearing"),
        ("shows up", "showing up"),
        ("pops up", "popping up"),
        ("comes into view", "coming into view"),
    ),
    "disappears": (
        ("disappears", "disappearing"),
        ("vanishes", "vanishing"),
        ("goes away", "going away"),
    ),
    "still": (
        ("stays still", "staying still"),
        ("does not move", "not moving"),
        ("stays in place", "staying in place"),
    ),
}
#: Said beside things where nothing happens to any.
NOTHING = ("nothing moves", "nothing happens", "nothing changes")
ADVERBS = {"slow": ("slowly",), "fast": ("quickly",)}
OPENERS = (
    "",
    "there is",
    "a video of",
    "we see",
    "a clip of",
    "a short video of",
    "an animation of",
)
#: How a thing that moves goes by another, as it ends up.
WAYS = {
    "past": ("past",),
    "toward": ("toward", "towards"),
    "away": ("away from",),
}

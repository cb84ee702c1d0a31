"""The words that the synthetic world's annotators caption scenes with."""

# The first of each is the usual word, the last a rare one.
# fmt: off
NOUNS = {
    "ball": ("ball", "ball", "ball", "sphere", "circle"),
    "box": ("box", "box", "square", "block", "cube"),
    "cone": ("cone", "cone", "triangle", "pyramid"),
    "star": ("star",),
    "heart": ("heart",),
    "cross": ("cross", "cross", "plus"),
    "ring": ("ring", "ring", "hoop", "donut"),
    "moon": ("moon", "moon", "crescent"),
}
ADJECTIVES = {
    "small": ("small", "small", "little", "tiny"),
    "medium": ("medium", "medium sized"),
    "large": ("big", "large", "big", "huge", "giant"),
    "plain": ("plain", "solid"),
    "striped": ("striped", "striped", "stripy"),
    "dotted": ("dotted", "spotted", "dotted", "polka dot"),
}
PATTERNS = {
    "striped": ("with stripes", "with diagonal stripes"),
    "dotted": ("with dots", "with spots", "with polka dots"),
}
PLACES = {
    "grass": ("on the grass", "on grass", "on the grass", "in the grass",
              "on a lawn", "in a green field", "in a meadow"),
    "sand": ("on the sand", "on the beach", "in the sand", "on sand",
             "on a sandy beach", "in the desert"),
    "snow": ("in the snow", "on the snow", "on snow", "on the snowy ground",
             "on a snowy day"),
    "water": ("in the water", "on the water", "floating in the water",
              "in the sea", "floating on the waves"),
    "brick": ("on a brick wall", "in front of a brick wall", "on the wall",
              "against a brick wall", "in front of some bricks"),
    "night": ("in the night sky", "in the sky at night", "in the dark sky",
              "at night", "under the stars"),
}
SCENERY = {
    "grass": ("a green lawn", "a field of grass", "a grassy field"),
    "sand": ("a sandy beach", "a beach", "a patch of sand"),
    "snow": ("a snowy field", "a snowy scene"),
    "water": ("blue water", "the sea", "a calm sea"),
    "brick": ("a brick wall", "an old brick wall"),
    "night": ("a night sky", "a dark sky", "a starry sky"),
}
CROWDS = ("shapes", "shapes", "things", "objects", "toys", "colorful shapes")
# How an unnamed number of things is put, by the least number it fits.
AMOUNTS = {
    3: ("some", "a few", "three", "some different"),
    4: ("some", "a few", "four", "various"),
    5: ("some", "several", "five", "different", "a bunch of"),
    6: ("many", "several", "six", "lots of", "a lot of"),
    7: ("many", "lots of", "seven", "a lot of", "a group of"),
}
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven")
RELATIONS = {
    "in_front": ("in front of", "in front of", "overlapping", "covering"),
    "behind": ("behind", "behind", "partly hidden by", "peeking out behind"),
    "near": ("next to", "next to", "beside", "near", "close to", "by"),
    "above": ("above", "above", "over", "higher than"),
    "below": ("below", "under", "beneath", "underneath"),
    "left": ("to the left of", "left of", "on the left of"),
    "right": ("to the right of", "right of", "on the right of"),
    "far": ("far from", "away from", "across from"),
}
ROWS = {
    "top": ("at the top", "near the top", "high up"),
    "bottom": ("at the bottom", "near the bottom", "down low"),
}
COLUMNS = {
    "left": ("on the left", "on the left side"),
    "right": ("on the right", "on the right side"),
}
CENTERS = ("in the middle", "in the center")
CORNERS = ("in the {row} {column} corner", "in the corner", "in a corner")
ONE_OPENERS = (
    "", "there is", "a picture of", "this is", "an image of", "a photo of",
    "i can see",
)
MANY_OPENERS = (
    "", "there are", "a picture of", "we see", "an image with", "a scene with",
    "i can see",
)
EXTRAS = (
    "and other things", "and some other shapes", "with other shapes around it",
    "among other things", "surrounded by other shapes",
)
_GO = {
    "left": ("to the left", "left", "leftwards"),
    "right": ("to the right", "right", "rightwards"),
    "up": ("up", "upwards", "to the top"),
    "down": ("down", "downwards", "to the bottom"),
}
_VERBS = (
    ("moves", "moving"), ("slides", "sliding"), ("goes", "going"),
    ("drifts", "drifting"), ("rolls", "rolling"),
)
_OTHERS = {
    "up": (("rises", "rising"), ("floats up", "floating up")),
    "down": (("falls", "falling"), ("sinks", "sinking")),
}
# fmt: on


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
# fmt: off
VERBS = {motion: _moves(motion) for motion in _GO} | {
    "grows": (
        ("grows", "growing"), ("gets bigger", "getting bigger"),
        ("becomes larger", "becoming larger"), ("expands", "expanding"),
    ),
    "shrinks": (
        ("shrinks", "shrinking"), ("gets smaller", "getting smaller"),
        ("becomes smaller", "becoming smaller"),
    ),
    "turns": (
        ("turns {new}", "turning {new}"), ("becomes {new}", "becoming {new}"),
        ("changes to {new}", "changing to {new}"),
        ("turns from {old} to {new}", "turning from {old} to {new}"),
        ("changes its color to {new}", "changing its color to {new}"),
    ),
    "appears": (
        ("appears", "appearing"), ("shows up", "showing up"),
        ("pops up", "popping up"), ("comes into view", "coming into view"),
    ),
    "disappears": (
        ("disappears", "disappearing"), ("vanishes", "vanishing"),
        ("goes away", "going away"),
    ),
    "still": (
        ("stays still", "staying still"), ("does not move", "not moving"),
        ("stays in place", "staying in place"),
    ),
}
#: Said beside things where nothing happens to any.
NOTHING = ("nothing moves", "nothing happens", "nothing changes")
ADVERBS = {"slow": ("slowly",), "fast": ("quickly",)}
VIDEO_OPENERS = (
    "", "there is", "a video of", "we see", "a clip of", "a short video of",
    "an animation of",
)
#: How a thing that moves goes by another, as it ends up.
WAYS = {
    "past": ("past",), "toward": ("toward", "towards"), "away": ("away from",),
}
# fmt: on

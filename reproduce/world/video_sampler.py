"""Random videos: a few things, one of which moves, changes, comes or goes."""

import dataclasses

from reproduce.world.scene import Scene
from reproduce.world.scene_sampler import APART
from reproduce.world.scene_sampler import COLOR_ODDS
from reproduce.world.scene_sampler import LEAST_VISIBLE
from reproduce.world.scene_sampler import RADII
from reproduce.world.scene_sampler import allowed
from reproduce.world.scene_sampler import draw
from reproduce.world.scene_sampler import sample_scene
from reproduce.world.videos import MOTIONS
from reproduce.world.videos import MOVES
from reproduce.world.videos import Video

MOTION_ODDS = {
    "left": 0.16,
    "right": 0.14,
    "up": 0.12,
    "down": 0.12,
    "grows": 0.10,
    "shrinks": 0.08,
    "turns": 0.10,
    "appears": 0.07,
    "disappears": 0.06,
    "still": 0.05,
}
_COUNT_ODDS = {2: 0.45, 3: 0.35, 4: 0.20}
# Pixels that a thing travels, and at most strays to the side.
_LEAST_WAY, _MOST_WAY, _STRAY = 18.0, 44.0, 3.0
# In each frame. What is passed by may be hidden more than what lies there.
_LEAST_VISIBLE_AT = (LEAST_VISIBLE, *[0.45] * 6, LEAST_VISIBLE)
_DIRECTIONS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}


def sample_video(rng):
    """Draws a video: two to four things, and what happens to one of them.

    Args:
        rng: `np.random.Generator`, advanced by the draw.

    Returns:
        A `Video`. A thing that moves travels 18 to 44 pixels, all things can
        be seen all the while, and in the end they lie apart as in the
        beginning.

    Example:

    >>> from reproduce.world import MOTIONS, sample_video
    >>> sample_video(np.random.default_rng(0)).motion in MOTIONS
    True
    """
    motion = draw(rng, MOTION_ODDS)
    while True:
        scene = sample_scene(rng)
        things = scene.things[: draw(rng, _COUNT_ODDS)]
        mover = int(rng.integers(len(things)))
        if motion in ("grows", "shrinks"):
            size = "small" if motion == "grows" else "large"
            begin = _resized(things[mover], size, rng)
            things = (*things[:mover], begin, *things[mover + 1 :])
        scene = Scene(scene.background, things)
        end = _end(motion, things[mover], rng)
        when = round(float(rng.uniform(0.3, 0.7)), 2)
        video = Video(scene, motion, mover, end, when)
        if _can_be_seen(video):
            return video


def _end(motion, begin, rng):
    if motion in MOVES:
        across, down = _DIRECTIONS[motion]
        way, stray = rng.uniform(_LEAST_WAY, _MOST_WAY), rng.normal(0, _STRAY)
        stray = min(max(stray, -_STRAY), _STRAY)
        x = begin.x + across * way + abs(down) * stray
        y = begin.y + down * way + abs(across) * stray
        return dataclasses.replace(begin, x=_round(x), y=_round(y))
    if motion == "grows":
        return _resized(begin, "large", rng)
    if motion == "shrinks":
        return _resized(begin, "small", rng)
    if motion == "turns":
        odds = {k: v for k, v in COLOR_ODDS.items() if k != begin.color}
        return dataclasses.replace(begin, color=draw(rng, odds))
    return begin


def _resized(thing, size, rng):
    radius = _round(rng.uniform(*RADII[size]))
    return dataclasses.replace(thing, size=size, radius=radius)


def _can_be_seen(video):
    """Whether it happens inside the picture, and hides nothing for long."""
    end, others = video.end, list(video.scene.things)
    del others[video.mover]
    looks = [(t.shape, t.color, t.size, t.texture) for t in [end, *others]]
    return (
        allowed(end.x)
        and allowed(end.y)
        and len(set(looks)) == len(looks)
        and all(end.distance(other) > APART for other in others)
        and all(
            _least_visible(scene) >= least
            for scene, least in zip(video.frames(), _LEAST_VISIBLE_AT)
        )
    )


def _least_visible(scene):
    return min(map(scene.visible, range(len(scene.things))))


def _round(value):
    return round(float(value), 2)


# Kept in step by hand; a mistake shows at import.
if set(MOTION_ODDS) != set(MOTIONS):
    raise ValueError("`MOTIONS` must each have odds.")

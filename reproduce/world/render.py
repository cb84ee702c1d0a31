"""Drawing of scenes: anti-aliased, shaded, textured, in NumPy alone."""

import dataclasses
import json
import zlib

import numpy as np
from numpy.typing import NDArray

from reproduce.world.scenes import IMAGE_SIZE
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import TEXTURES
from reproduce.world.scenes import signed_distance

# Paint of each color, and ink of its stripes and dots: light on dark paint,
# dark on light paint.
_PAINT = {
    "red": ((214, 48, 44), (255, 214, 196)),
    "orange": ((243, 138, 30), (140, 62, 8)),
    "yellow": ((247, 213, 52), (168, 116, 10)),
    "green": ((40, 150, 72), (196, 238, 176)),
    "blue": ((44, 92, 208), (190, 216, 255)),
    "purple": ((138, 62, 172), (232, 200, 246)),
    "white": ((246, 246, 244), (128, 136, 152)),
    "black": ((38, 38, 42), (196, 196, 202)),
}
_OUTLINE = {"white": (112, 118, 132), "black": (150, 150, 158)}
# Half the side of the square that is painted for a thing: the largest radius,
# its outline and its shadow.
_REACH = 13
_PATCH = 2 * _REACH + 1
_CHUNK = 200
_DOWN, _ACROSS = np.mgrid[:IMAGE_SIZE, :IMAGE_SIZE].astype(np.float32)


def render(scenes, grounds=None) -> NDArray:
    """Draws scenes as photographs would show them.

    The picture is a function of the scene alone: grain and tint of the
    background come from a checksum of its description.

    Args:
        grounds: Sequence of `Scene`, as long, whose descriptions count for
            grain and tint, where several pictures are to have one background.
            Defaults to `scenes`.

    Returns:
        Uint8 array of shape `(B, 64, 64, 3)`, RGB.

    Example:

    >>> from reproduce.world import render, sample_scene
    >>> rng = np.random.default_rng(0)
    >>> render([sample_scene(rng) for _ in range(2)]).shape
    (2, 64, 64, 3)
    """
    images = np.empty((len(scenes), IMAGE_SIZE, IMAGE_SIZE, 3), np.uint8)
    grounds = scenes if grounds is None else grounds
    for start in range(0, len(scenes), _CHUNK):
        part = slice(start, start + _CHUNK)
        images[part] = _render_chunk(scenes[part], grounds[part])
    return images


def _render_chunk(scenes, grounds):
    # A rim as wide as a patch's reach saves clipping patches at the border.
    side = IMAGE_SIZE + 2 * _REACH
    canvas = np.zeros((len(scenes), side, side, 3), np.float32)
    inner = slice(_REACH, _REACH + IMAGE_SIZE)
    for row, scene in enumerate(grounds):
        # The frames of a video follow each other on one ground.
        if not row or scene is not grounds[row - 1]:
            ground = _backdrop(scene)
        canvas[row, inner, inner] = ground
    owner = [r for r, s in enumerate(scenes) for _ in s.things]
    things = [thing for scene in scenes for thing in scene.things]
    if things:
        color, cover, shade = _patches(things)
        for row, thing, *patch in zip(owner, things, color, cover, shade):
            _composite(canvas[row], thing, *patch)
    return np.clip(canvas[:, inner, inner] + 0.5, 0, 255).astype(np.uint8)


def _composite(canvas, thing, color, cover, shade):
    top, left = int(thing.y), int(thing.x)
    spot = canvas[top : top + _PATCH, left : left + _PATCH]
    spot *= shade
    spot += (color - spot) * cover


def _patches(things):
    """Paint `(n, p, p, 3)`, coverage and shadow `(n, p, p, 1)` of things."""
    ticks = np.arange(_PATCH, dtype=np.float32) - _REACH
    x = ticks - _column([t.x % 1 - 0.5 for t in things])
    y = ticks - _column([t.y % 1 - 0.5 for t in things])
    radius = _column([t.radius for t in things])[..., None]
    u = np.broadcast_to(x[:, None, :] / radius, (len(things), _PATCH, _PATCH))
    v = np.broadcast_to(y[:, :, None] / radius, u.shape)
    shapes = np.array([SHAPES.index(t.shape) for t in things])
    inside = _distances(shapes, u, v) * radius
    # Light falls from the upper left, so the shadow lies to the lower right.
    shadow = _distances(shapes, u - 1.6 / radius, v - 2.2 / radius) * radius
    shade = 1 - 0.34 * np.clip(0.5 - shadow / 3.2, 0, 1)
    cover = np.clip(0.5 - inside, 0, 1)
    paint = _paint(things, u, v, radius)
    # The outline is the outermost pixel: what keeps white things on snow
    # apart from it.
    edge = np.clip(1.25 + inside, 0, 1)[..., None]
    paint += (_outlines(things) - paint) * edge * 0.85
    return paint, cover[..., None], shade[..., None].astype(np.float32)


def _distances(shapes, u, v):
    distances = np.empty(u.shape, np.float32)
    for index, name in enumerate(SHAPES):
        rows = np.flatnonzero(shapes == index)
        distances[rows] = signed_distance(name, u[rows], v[rows])
    return distances


def _paint(things, u, v, radius):
    paint, ink = (
        _rows([_PAINT[thing.color][kind] for thing in things])
        for kind in (0, 1)
    )
    light = 1.0 - 0.14 * (u + v)
    gloss = np.exp(-((u + 0.36) ** 2 + (v + 0.4) ** 2) / 0.09) * 34
    share = _texture(things, u * radius, v * radius, radius)[..., None]
    color = paint + (ink - paint) * share
    # Black paint would hide shading that only multiplies.
    return color * light[..., None] + gloss[..., None]


def _texture(things, x, y, radius):
    """Share of ink, in `[0, 1]`, at pixel offsets from the centers."""
    kinds = np.array([TEXTURES.index(t.texture) for t in things])
    kinds = kinds[:, None, None]
    period = np.maximum(4.2, 0.52 * radius)
    across = np.abs((x + y) / np.sqrt(2) / period % 1 - 0.5) * period
    stripes = np.clip(0.5 + across - 0.27 * period, 0, 1)
    gap = np.maximum(4.0, 0.56 * radius)
    row = np.floor(y / gap + 0.5)
    dx = ((x / gap + 0.5 * (row % 2) + 0.5) % 1 - 0.5) * gap
    dy = y - row * gap
    dots = np.clip(0.5 + 0.31 * gap - np.hypot(dx, dy), 0, 1)
    return np.where(kinds == 1, stripes, np.where(kinds == 2, dots, 0.0))


def _outlines(things):
    darker = {c: np.multiply(paint, 0.5) for c, (paint, _) in _PAINT.items()}
    return _rows([{**darker, **_OUTLINE}[thing.color] for thing in things])


def _column(values):
    return np.asarray(values, np.float32)[:, None]


def _rows(colors):
    return np.asarray(colors, np.float32)[:, None, None, :]


def _backdrop(scene):
    """The background of a scene, float32 `(64, 64, 3)` of about 0 to 255."""
    text = json.dumps(dataclasses.asdict(scene), sort_keys=True)
    rng = np.random.default_rng(zlib.crc32(text.encode()))
    light, tint = rng.normal(0, 0.035), rng.normal(0, 4, 3)
    picture = _BACKDROPS[scene.background](rng) * np.float32(1 + light)
    return picture + tint.astype(np.float32)


def _mix(low, high, share):
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return low + (high - low) * share[..., None]


def _noise(rng, across=1, down=1):
    """Smooth noise of unit variance, wider than it is high if `across` is."""
    grain = rng.standard_normal((IMAGE_SIZE, IMAGE_SIZE), np.float32)
    for axis, width in ((1, across), (0, down)):
        if width > 1:
            total = np.cumsum(grain, axis).swapaxes(axis, 0)
            lines = total - np.roll(total, width, 0)
            # The cumulative sum does not wrap around: mirror its start.
            lines[:width] = lines[2 * width - 1 : width - 1 : -1].copy()
            grain = lines.swapaxes(axis, 0)
    return grain / np.float32(np.sqrt(across * down))


def _grass(rng):
    blades = _noise(rng, 1, 5)
    patches = _noise(rng, 13, 13)
    share = 0.42 + 0.11 * blades + 0.07 * patches + 0.003 * (_DOWN - 32)
    return _mix((66, 112, 52), (140, 190, 92), share)


def _sand(rng):
    phase, slope = rng.uniform(0, 6.3), rng.normal(0, 0.03)
    bend = 1.6 * np.sin(_ACROSS / 9 + rng.uniform(0, 6.3))
    ripple = np.sin((_DOWN + slope * _ACROSS + bend) * 0.75 + phase)
    share = 0.5 + 0.12 * ripple + 0.12 * _noise(rng)
    return _mix((208, 180, 132), (240, 218, 174), share)


def _snow(rng):
    drifts = np.clip(_noise(rng, 17, 7), -2, 2)
    sparkle = 0.10 * _noise(rng)
    share = 0.55 + 0.2 * drifts + sparkle
    return _mix((206, 218, 234), (244, 248, 253), share)


def _water(rng):
    phase = rng.uniform(0, 6.3, 3)
    bend = np.sin(_ACROSS / 5.5 + phase[0]) + np.sin(_ACROSS / 11 + phase[1])
    wave = np.sin(_DOWN * 0.85 + 0.9 * bend + phase[2])
    crest = np.clip(wave - 0.55, 0, 1) * 1.2
    share = 0.3 + 0.05 * _noise(rng, 7, 1) + crest + 0.002 * _DOWN
    return _mix((64, 132, 168), (150, 206, 222), share)


def _brick(rng):
    height, width = 9, 16
    top, left = rng.integers(height), rng.integers(width)
    row = (_DOWN + top) // height
    x = _ACROSS + left + (row % 2) * (width // 2)
    mortar = ((_DOWN + top) % height < 1.5) | (x % width < 1.5)
    column = (x // width).astype(int)
    shades = rng.uniform(0.2, 0.8, (12, 8)).astype(np.float32)
    share = shades[row.astype(int) % 12, column % 8] + 0.1 * _noise(rng)
    picture = _mix((138, 84, 70), (176, 116, 96), share)
    picture[mortar] = np.float32((198, 186, 174))
    return picture


def _night(rng):
    haze = _noise(rng, 15, 15)
    share = 0.2 + 0.009 * _DOWN + 0.06 * haze
    picture = _mix((16, 18, 46), (46, 48, 98), share)
    count = int(rng.integers(16, 28))
    x, y = rng.integers(0, IMAGE_SIZE, (2, count))
    glow = rng.uniform(120, 230, (count, 1)).astype(np.float32)
    picture[y, x] = glow * np.float32((1.0, 0.98, 0.85))
    return picture


_BACKDROPS = {
    "grass": _grass,
    "sand": _sand,
    "snow": _snow,
    "water": _water,
    "brick": _brick,
    "night": _night,
}

"""Procedural backgrounds of the synthetic world."""

import numpy as np

from reproduce.world.scene import IMAGE_SIZE

_DOWN, _ACROSS = np.mgrid[:IMAGE_SIZE, :IMAGE_SIZE].astype(np.float32)


def backdrop(name, rng):
    """Draws one background.

    Args:
        name: String, one of `reproduce.world.BACKGROUNDS`.
        rng: `np.random.Generator` that decides on grain, tint and phase.

    Returns:
        Float32 array of shape `(64, 64, 3)`, RGB of about 0 to 255.
    """
    if name not in _BACKDROPS:
        raise ValueError(
            f"`name` must be one of {tuple(_BACKDROPS)}. "
            f"Received: name={name!r}"
        )
    light, tint = rng.normal(0, 0.035), rng.normal(0, 4, 3)
    picture = _BACKDROPS[name](rng) * np.float32(1 + light)
    return picture + tint.astype(np.float32)


def _mix(low, high, share):
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    return low + (high - low) * share[..., None]


def _noise(rng, across=1, down=1):
    """Smooth noise of unit variance, wider than it is high if `across` is."""
    grain = rng.standard_normal((IMAGE_SIZE, IMAGE_SIZE), np.float32)
    for axis, width in ((1, across), (0, down)):
        if width > 1:
            total = np.cumsum(grain, axis)
            grain = total - np.roll(total, width, axis)
            head = [slice(None), slice(None)]
            head[axis] = slice(0, width)
            # The cumulative sum does not wrap around: mirror its start.
            body = [slice(None), slice(None)]
            body[axis] = slice(2 * width - 1, width - 1, -1)
            grain[tuple(head)] = grain[tuple(body)]
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

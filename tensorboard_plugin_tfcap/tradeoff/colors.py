"""Colors as numbers: contrast, shades, and colors that are far apart."""

import functools
import math

import numpy as np

#: From linear red, green and blue to the long, medium and short cones, and
#: from those to lightness and two opponent colors.
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OPPONENTS = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
#: Hues, lightness and chroma of the pool of further colors.
_HUES, _LIGHTNESS, _CHROMA = 24, (0.42, 0.55, 0.68), 0.13


def contrast(color: str, paper: str) -> float:
    """Ratio of the luminances of two colors, 1 to 21.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.colors import contrast
    >>> round(contrast("#000000", "#ffffff"), 6)
    21.0

    Reference:

    - Web Content Accessibility Guidelines 2.2, "contrast ratio"
    """
    weights = np.array([0.2126, 0.7152, 0.0722])
    one, two = (float(weights @ _linear(c)) for c in (color, paper))
    return (max(one, two) + 0.05) / (min(one, two) + 0.05)


def readable(color: str, paper: str, least: float = 4.5) -> str:
    """A color, darker or lighter where its contrast is too low.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.colors import readable
    >>> readable("#E69F00", "#ffffff"), readable("#333333", "#ffffff")
    ('#9c6c00', '#333333')
    """
    end = max(("#000000", "#ffffff"), key=lambda c: contrast(c, paper))
    ends = [np.array(_bytes(c)) for c in (color, end)]
    for share in np.linspace(0.0, 1.0, 51):
        found = _hex((1 - share) * ends[0] + share * ends[1])
        if contrast(found, paper) >= least:
            break
    return color if share == 0 else found


def shade(color: str, turn: int) -> str:
    """A color's shades: lighter and darker by turns, then of another hue."""
    if turn == 0:
        return color
    light, green, blue = _lab(color)
    chroma, hue = math.hypot(green, blue), math.atan2(blue, green)
    steps = (0.0, -0.13, 0.13, -0.22, 0.22)
    light = min(max(light + steps[turn % 5], 0.25), 0.85)
    return _from_lch(light, chroma, hue + math.radians(25) * (turn // 5))


@functools.cache
def far_colors(first: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Chooses colors, each as far as possible from all before it.

    Args:
        first: Tuple of colors to begin with.
        count: Integer, how many; 72 more than the first at most.

    Returns:
        Tuple of `count` colors, no two of them alike.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.colors import far_colors
    >>> found = far_colors(("#0072B2", "#D55E00"), 40)
    >>> found[:2], len(set(found))
    (('#0072B2', '#D55E00'), 40)
    """
    hues = 2 * math.pi * np.arange(_HUES) / _HUES
    pool = [_from_lch(L, _CHROMA, h) for h in hues for L in _LIGHTNESS]
    pool = [c for c in dict.fromkeys(pool) if c not in first]
    places = np.array([_lab(c) for c in pool])
    gaps = np.full(len(pool), np.inf)
    for color in first:
        gaps = np.minimum(gaps, np.linalg.norm(places - _lab(color), axis=1))
    chosen = list(first)
    while len(chosen) < count:
        best = int(gaps.argmax())
        chosen.append(pool[best])
        away = np.linalg.norm(places - places[best], axis=1)
        gaps = np.minimum(gaps, away)
        gaps[best] = -1.0
    return tuple(chosen[:count])


def _bytes(color):
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def _hex(values):
    values = np.clip(np.rint(values), 0, 255).astype(int)
    return "#" + "".join(f"{v:02x}" for v in values.tolist())


def _linear(color):
    v = np.array(_bytes(color)) / 255
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def _lab(color):
    return _OPPONENTS @ np.cbrt(_CONES @ _linear(color))


def _from_lch(light, chroma, hue):
    lab = [light, chroma * math.cos(hue), chroma * math.sin(hue)]
    cones = np.linalg.solve(_OPPONENTS, lab) ** 3
    v = np.clip(np.linalg.solve(_CONES, cones), 0.0, 1.0)
    v = np.where(v <= 0.0031308, 12.92 * v, 1.055 * v ** (1 / 2.4) - 0.055)
    return _hex(255 * v)

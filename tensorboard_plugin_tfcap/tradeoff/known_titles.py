"""Titles whose places give their looks, and what a person chose of them."""


class KnownTitles(tuple):
    """Titles of methods in the order of their looks.

    Args:
        titles: Iterable of strings.
        chosen: Dict, by title, of pairs of a color (`"#0072b2"`) and a marker
            as Plotly calls it, `""` where it is not chosen.
        focus: Titles of methods that keep their colors, while all others are
            gray. Defaults to none: all keep them.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.known_titles import KnownTitles
    >>> from tensorboard_plugin_tfcap.tradeoff.style import style
    >>> known = KnownTitles(["mine", "yours"], {"mine": ("#aa0000", "")})
    >>> style("mine", known)[0], style("yours", known)[0]
    ('#aa0000', '#56B4E9')
    """

    def __new__(cls, titles=(), chosen=None, focus=()):
        self = super().__new__(cls, titles)
        self.chosen, self.focus = dict(chosen or {}), frozenset(focus)
        return self

"""Links from names in backquotes to the reference."""

import re

from public_names import ROOT
from public_names import by_short_name
from public_names import public_names

_FENCE = re.compile(r"^( *)(```|~~~)")
_CODE = re.compile(r"(?<![`\[])`([A-Za-z_][\w.]*)(\(\))?`(?![`\]])")


def target_of(name: str) -> str | None:
    """Anchor of the package or public name in backquotes, or `None`.

    A method or an attribute of a public class leads to the class.
    """
    if not name.startswith(("tfcap.", "tensorboard_plugin_tfcap.")):
        return by_short_name().get(name)
    for package, names in public_names().items():
        if name == package:
            return package
        if name.startswith(f"{package}."):
            rest = name.removeprefix(f"{package}.").split(".")
            if rest[0] in names:
                return names[rest[0]].anchor
    return None


def outside_fences(text: str):
    """Pairs of line and whether it is text, not code."""
    fence = None
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence is None and mark:
            fence = mark[2]
            yield line, False
        elif fence is not None:
            yield line, False
            fence = None if mark and mark[2] == fence else fence
        else:
            yield line, True


def linked(text: str) -> str:
    """Text whose public names in backquotes lead to their documentation."""

    def link(match):
        path = target_of(match[1])
        return match[0] if path is None else f"[{match[0]}][{path}]"

    return "\n".join(
        _CODE.sub(link, line) if is_text and line[:1] != "#" else line
        for line, is_text in outside_fences(text)
    )


def unknown_names(text: str) -> list[str]:
    """Names of ours in the backquotes of a text that nothing exports."""
    found = set()
    for line, is_text in outside_fences(text):
        for name, _ in _CODE.findall(line) if is_text else ():
            private = "._" in name
            if name.startswith("tfcap.") and not (private or _is_public(name)):
                found.add(name)
    return sorted(found)


def _is_public(name):
    if name.count(".") == 1:
        path = ROOT / name.replace(".", "/")
        top = {public.path for public in public_names()["tfcap"].values()}
        return path.is_dir() or path.with_suffix(".py").exists() or name in top
    return target_of(name) is not None

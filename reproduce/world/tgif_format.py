"""The synthetic world's videos in the layout of TGIF's release."""

import pathlib

#: The host is reserved to be nowhere: there is nothing to download.
_URL = "https://tfcap.invalid/clips/{}.gif"


def write_tgif(folder, splits):
    """Writes `tgif-v1.0.tsv` and `splits/` as TGIF is laid out.

    Args:
        folder: Path of the directory to write into.
        splits: Dict of split name to `(names, captions)`, a sequence of
            strings and one list of strings for each.

    Example:

    >>> import tempfile
    >>> from reproduce.world.tgif_format import write_tgif
    >>> folder = tempfile.mkdtemp()
    >>> write_tgif(folder, {"val": (["video_7"], [["a red ball grows"]])})
    >>> tfcap.data.load_tgif_captions(f"{folder}/tgif-v1.0.tsv", "val").captions
    [['a red ball grows.']]
    """
    folder = pathlib.Path(folder)
    (folder / "splits").mkdir()
    lines = []
    for split, (names, captions) in splits.items():
        urls = [_URL.format(name) for name in names]
        text = "".join(f"{url}\n" for url in urls)
        (folder / "splits" / f"{split}.txt").write_text(text)
        for url, sentences in zip(urls, captions):
            lines += [f"{url}\t{caption}.\n" for caption in sentences]
    (folder / "tgif-v1.0.tsv").write_text("".join(lines), encoding="utf-8")

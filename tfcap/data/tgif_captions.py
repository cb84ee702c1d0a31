"""Reading the descriptions of TGIF's animated GIFs as they were published."""

import os
import posixpath

from tfcap.data.caption_split import CaptionSplit
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.split_lists import take_splits
from tfcap.io import malformed
from tfcap.io import read_lines
from tfcap.io.text_file import warn_if_cut

#: The lists of TGIF's release, from the folder of the descriptions.
_LISTS = {name: f"splits/{name}.txt" for name in ("train", "val", "test")}
_LAYOUT = (
    "Give `tgif-v1.0.tsv` or a file like it: in each line the URL of a GIF, a "
    "tab, a description."
)


def load_tgif_captions(
    path: str | os.PathLike,
    split: str | list[str] | None = None,
    split_files: dict | None = None,
) -> CaptionSplit:
    """Reads what people say of animated GIFs, in the layout of TGIF.

    Every line is checked, and what is wrong is named with the lines, since a
    caption too few shows in no score. A GIF has as many captions as it has
    lines: in TGIF mostly one, and three in the test split.

    Args:
        path: String or path, `tgif-v1.0.tsv` and files like it, gzipped or
            not.
        split: String or list of strings, optional, which of the splits to
            read; several may be joined by a plus, `"train+val"`. Must be
            given if `split_files` names several. Without either, all GIFs of
            the file are read.
        split_files: Dict of split name to the path of a list of its GIFs (see
            `read_image_ids()`), by URL or by name, optional. Defaults to the
            release's own lists, those that lie in `splits/` beside `path`, as
            `"train"`, `"val"` and `"test"`.

    Returns:
        A `CaptionSplit`, in the order of the GIFs in the file. Image ids are
        the names of the GIFs, the last part of a URL without its ending, such
        as `"tumblr_nok4eeONTv1s2yegdo1_400"`; file names are the URLs.

    Raises:
        ValueError: If a file is cut off or malformed, if there is no such
            split, or if a GIF is in two of them. Names the file, the first
            few lines and their number, and what to do.

    Example:

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "tgif-v1.0.tsv"
    >>> url = "https://38.media.tumblr.com/9ea/tumblr_nok4eo1_400.gif"
    >>> _ = path.write_text(f"{url}\\ta cat tries to catch a mouse\\n")
    >>> tfcap.data.load_tgif_captions(path).references()
    {'tumblr_nok4eo1_400': ['a cat tries to catch a mouse']}

    Reference:

    - Li et al., TGIF: A New Dataset and Benchmark on Animated GIF
      Description, CVPR 2016
    """
    return take_splits(_read_captions(path), split, split_files, _LISTS)


def _read_captions(path):
    problems = EntryProblems(path)
    captions = {}
    lines = read_lines(path)
    warn_if_cut(path, lines)
    for i, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        url, _, caption = line.partition("\t")
        url, caption = url.strip(), caption.strip()
        if "://" not in url or " " in url or not _name(url):
            problem = "there is no URL of a GIF, a tab and a description"
            problems.add(problem, f"line {i}", _LAYOUT)
        elif not caption:
            hint = "Leave such lines out."
            problems.add("the description is empty", f"line {i}", hint)
        else:
            captions.setdefault(url, []).append(caption)
    problems.check()
    if not captions:
        raise malformed(path, "", "there is no description", _LAYOUT)
    names = _distinct_names(captions, problems)
    return CaptionSplit(
        image_ids=names,
        captions=list(captions.values()),
        filenames=list(captions),
        splits=[""] * len(names),
        source=str(path),
    )


def _name(url):
    return posixpath.splitext(posixpath.basename(url))[0]


def _distinct_names(urls, problems):
    """Names of the GIFs, which features and results are filed under."""
    first_url = {}
    for url in urls:
        other = first_url.setdefault(_name(url), url)
        if other != url:
            hint = "Keep one URL for each GIF."
            where = f"{other!r} and {url!r}"
            problems.add("a GIF is there under two URLs", where, hint)
    problems.check()
    return list(first_url)

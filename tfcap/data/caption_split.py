"""Images and what people say of them."""

import dataclasses
from collections import Counter
from collections.abc import Sequence

from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import EntryProblems
from tfcap.data.entry_problems import listed
from tfcap.data.entry_problems import warn_of_fewer
from tfcap.data.image_names import ImageNames

#: How to do without captions that are empty, after another hint.
SKIP = (
    ", or pass `skip_empty=True` (--skip-empty) to leave them out and count "
    "them."
)


@dataclasses.dataclass(frozen=True, eq=False)
class CaptionSplit:
    """Captions of the images of one file, or of some splits of it.

    Attributes:
        image_ids: List of distinct integers or strings.
        captions: List, as long, of lists of strings, as people wrote them.
        filenames: List, as long, of strings, path of each image as the file
            gives it; empty where it does not.
        splits: List, as long, of strings, such as `"train"`; empty where the
            file has none.
        tokens: List, as long, of lists of lists of words, where the file has
            them, as Karpathy's do; or None.
        source: String, the file.
        skipped_captions: Integer, captions that were left out: empty ones,
            and those that the file says do not count.
        skipped_images: Tuple of the ids of images that were left out, since
            they have no other caption.
    """

    image_ids: list
    captions: list
    filenames: list
    splits: list
    tokens: list | None = None
    source: str = ""
    skipped_captions: int = 0
    skipped_images: tuple = ()

    def __len__(self):
        return len(self.image_ids)

    def references(self):
        """Dict of image id to its list of captions."""
        return dict(zip(self.image_ids, self.captions))

    def select(self, image_ids) -> "CaptionSplit":
        """The images of a list, such as one side of a paper's own split.

        Args:
            image_ids: Sequence of image ids, or of file names: as the file of
                captions gives them, without their folder, or without folder
                and ending. A number may be written as text, with zeros before
                it, or as COCO's file names end.

        Returns:
            A `CaptionSplit` in the order of the list.

        Raises:
            ValueError: If an image is not here, is there twice, or if a name
                is that of several images. Tells the first few and their
                number.

        Example:

        >>> split = tfcap.data.CaptionSplit(
        ...     [7, 9], [["a cat"], ["a dog"]], ["7.jpg", "9.jpg"], ["", ""]
        ... )
        >>> split.select([9, "7.jpg"]).captions
        [['a dog'], ['a cat']]
        """
        return take_rows(self, find_rows(self, image_ids, "image_ids"))


def find_rows(
    split: CaptionSplit, image_ids: Sequence[int | str], origin: str
) -> list:
    """Rows of a split at which the images of a list are.

    Raises:
        ValueError: See `CaptionSplit.select()`.
    """
    image_ids = list(image_ids)
    rows = [*map(row_finder(split), image_ids)]
    uses = Counter(row[0] for row in rows if len(row) == 1)
    wrong = {
        "are of no image": [n for n, row in zip(image_ids, rows) if not row],
        "are names of several images": [
            n for n, row in zip(image_ids, rows) if len(row) > 1
        ],
        "are of an image that is there already": [
            split.image_ids[row] for row, n in uses.items() if n > 1
        ],
    }
    wrong_names = [
        f"{len(names):,} of which {problem} ({listed(names)})"
        for problem, names in wrong.items()
        if names
    ]
    if wrong_names:
        raise ValueError(
            f"`{origin}` must name images of the split, each once. Received: "
            f"{len(rows):,} names, {', '.join(wrong_names)}; source="
            f"{split.source!r} of {len(split):,} images. Take the list that "
            "belongs to this file, and all splits of the file, since a list "
            "may cut across them."
        )
    return [row for (row,) in rows]


def take_rows(split: CaptionSplit, rows: Sequence[int]) -> CaptionSplit:
    """The images of a `CaptionSplit` at some rows.

    Example:

    >>> texts = [["a dog"], ["a cat"]]
    >>> split = tfcap.data.CaptionSplit([3, 5], texts, ["", ""], ["", ""])
    >>> tfcap.data.take_rows(split, [1]).image_ids
    [5]
    """
    lists = {
        field.name: [getattr(split, field.name)[row] for row in rows]
        for field in dataclasses.fields(split)
        if isinstance(getattr(split, field.name), list)
    }
    return dataclasses.replace(split, **lists)


def is_caption(
    text, key: str, where: str, problems: EntryProblems, skip_empty: bool
) -> bool:
    """Check that a caption is text; an empty one may be a problem or not."""
    if not isinstance(text, str):
        problems.add(f"`{key}` is no text", where, FIX)
    elif not (skip_empty or text.strip()):
        problems.add(f"`{key}` is empty", where, f"Remove such captions{SKIP}")
    else:
        return True
    return False


def keep_captions(
    split: CaptionSplit, problems: EntryProblems, skip_empty: bool
) -> CaptionSplit:
    """A split in which every image has a caption, and none is empty.

    Args:
        split: `CaptionSplit` in which captions are empty where they are to be
            left out.
        skip_empty: Boolean, whether images without captions are left out
            instead of refused. Those that have empty ones alone always are.

    Raises:
        ValueError: If images without captions are not to be left out, or if
            nothing is left.
    """
    kept = [
        [k for k, text in enumerate(texts) if text.strip()]
        for texts in split.captions
    ]
    counts = [len(texts) for texts in split.captions]
    warn_of_fewer(split.source, split.image_ids, counts, "captions", "images")
    empty = [i for i, indices in enumerate(kept) if not indices]
    refused = [i for i in empty if not (skip_empty or split.captions[i])]
    if refused or len(empty) == len(kept):
        for i in refused or empty:
            hint = (
                "Leave such images out, take the file that has their captions"
                f"{SKIP}"
            )
            where = f"image {split.image_ids[i]!r}"
            problems.add("there is no caption", where, hint)
        problems.check()
    chosen = {
        name: [
            [row[k] for k in indices]
            for row, indices in zip(getattr(split, name), kept)
        ]
        for name in ("captions", "tokens")
        if getattr(split, name) is not None
    }
    whole = dataclasses.replace(
        split,
        **chosen,
        skipped_captions=sum(map(len, split.captions)) - sum(map(len, kept)),
        skipped_images=tuple(split.image_ids[i] for i in empty),
    )
    return take_rows(whole, [i for i, indices in enumerate(kept) if indices])


def row_finder(split: CaptionSplit):
    """Makes a function of a name that gives the rows of images it may mean."""
    ids, files = ImageNames(split.image_ids), ImageNames(split.filenames)
    # An id is an id, whatever the files are called.
    return lambda name: ids.exact(name) or files.find(name) or ids.find(name)

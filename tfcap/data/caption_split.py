"""Captions of the images of a split."""

import dataclasses
import functools
import itertools
import os
from collections import Counter
from collections.abc import Sequence

from tfcap._io import malformed
from tfcap._printed import printed
from tfcap.data.entry_problems import FIX
from tfcap.data.entry_problems import listed
from tfcap.data.image_names import ImageNames
from tfcap.text.caption_tokenization import caption_tokenize_batch


@dataclasses.dataclass(frozen=True, eq=False)
class CaptionSplit:
    """Captions of the images of one file, or of some splits of it.

    Attributes:
        image_ids: List of distinct integers or strings.
        captions: List of lists of strings, the captions of each image.
        filenames: List of strings, path of each image in the file; empty if
            the file has none.
        splits: List of strings, such as `"train"`; empty if the file has none.
        tokens: List of lists of lists of words, if the file has them, as
            Karpathy's files do; or `None`.
        source: String, the file.
        skipped_captions: Integer, number of captions that were left out: empty
            ones, and those that the file marks as invalid.
        skipped_images: Tuple of the ids of images without other captions,
            which were left out.
    """

    __repr__ = printed

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

    @functools.cached_property
    def words(self):
        """Words of all captions, a list of sentences for each image.

        They are those of the file where it has them, and else what
        `tfcap.text.caption_tokenize()` makes of a caption.
        """
        if self.tokens is not None:
            return self.tokens
        return [caption_tokenize_batch(texts) for texts in self.captions]

    def word_counts(self) -> Counter:
        """Counts the words of all captions."""
        sentences = itertools.chain.from_iterable(self.words)
        return Counter(itertools.chain.from_iterable(sentences))

    def select(self, image_ids) -> "CaptionSplit":
        """Selects the images of a list, such as a paper's own split.

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
        return self.take(find_rows(self, image_ids, "image_ids"))

    def take(self, rows: Sequence[int]) -> "CaptionSplit":
        """Selects the images at some rows.

        Args:
            rows: Sequence of integers.

        Returns:
            A `CaptionSplit` in their order.

        Example:

        >>> texts = [["a dog"], ["a cat"]]
        >>> split = tfcap.data.CaptionSplit([3, 5], texts, ["", ""], ["", ""])
        >>> split.take([1]).image_ids
        [5]
        """
        lists = {
            field.name: [getattr(self, field.name)[row] for row in rows]
            for field in dataclasses.fields(self)
            if isinstance(getattr(self, field.name), list)
        }
        return dataclasses.replace(self, **lists)


class ImageEntries:
    """Images of a file, in its order, and the entries that caption them.

    Args:
        path: String or path of the file.
        noun: String, what such an entry is called, as `"annotation"`.
    """

    def __init__(self, path: str | os.PathLike, noun: str):
        self.path, self.noun, self.images = path, noun, {}

    def add(self, where, image_id, name, split, again=False):
        """Adds an image, which may be there, if `again`, and about as before.

        Raises:
            ValueError: If it may not.
        """
        known = self.images.get(image_id)
        if known is None:
            self.images[image_id] = (name, split, [])
        elif not again or known[:2] != (name, split):
            problem = (
                f"the image {image_id!r:.60} is there already, {known[:2]}"
            )
            hint = "Keep one entry for each image, in one split."
            raise malformed(self.path, where, problem, hint)

    def say(self, image_id, place: int, entry, key: str):
        """Adds an entry that has a caption of an image under a key."""
        self.images[image_id][2].append((place, entry, key))

    def to_split(self) -> CaptionSplit:
        """All images, with their entries in the place of captions."""
        if not self.images:
            problem, hint = "there is no image with a caption", FIX
            raise malformed(self.path, "", problem, hint)
        names, splits, entries = map(list, zip(*self.images.values()))
        for image_id, split in zip(self.images, splits if any(splits) else ()):
            if not split:
                where, hint = f"image {image_id!r:.60}", FIX
                problem = "the split is missing, unlike for others"
                raise malformed(self.path, where, problem, hint)
        return CaptionSplit(
            [*self.images], entries, names, splits, source=str(self.path)
        )


def find_rows(
    split: CaptionSplit, image_ids: Sequence[int | str], origin: str
) -> list:
    """Rows of a split at which the images of a list are.

    Raises:
        ValueError: See `CaptionSplit.select()`.
    """
    names = list(image_ids)
    rows = [*map(row_finder(split), names)]
    wrong = [name for name, found in zip(names, rows) if len(found) != 1]
    uses = Counter(found[0] for found in rows if len(found) == 1)
    again = [split.image_ids[row] for row, count in uses.items() if count > 1]
    if wrong or again:
        raise ValueError(
            f"`{origin}` must name images of the split, each once. Received: "
            f"{len(names):,} names, {len(wrong):,} of them of no image or of "
            f"several ({listed(wrong)}), {len(again):,} images more than once "
            f"({listed(again)}); source={split.source!r} of {len(split):,} "
            "images. Take the list that belongs to this file, and all splits "
            "of the file, since a list may cut across them."
        )
    return [row for (row,) in rows]


def row_finder(split: CaptionSplit):
    """Makes a function of a name that gives the rows of images it may mean."""
    ids, files = ImageNames(split.image_ids), ImageNames(split.filenames)
    # An id is an id, whatever the files are called.
    return lambda name: ids.exact(name) or files.find(name) or ids.find(name)

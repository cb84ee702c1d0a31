"""Images and what people say of them."""

import dataclasses


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
    """

    image_ids: list
    captions: list
    filenames: list
    splits: list
    tokens: list | None = None
    source: str = ""

    def __len__(self):
        return len(self.image_ids)

    def references(self):
        """Dict of image id to its list of captions."""
        return dict(zip(self.image_ids, self.captions))

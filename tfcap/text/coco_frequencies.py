"""COCO's own captions, and their document frequencies."""

import json
import zipfile

from tfcap._io.cache import cache_folder
from tfcap._io.cache import keep
from tfcap.text.document_frequencies import DocumentFrequencies
from tfcap.text.missing_score import find_file
from tfcap.text.missing_score import find_package

_MEMBER = "coco/annotations/captions_{}.json"
_SPLITS = ("train2014", "val2014")


def coco_document_frequencies(
    split: str = "train2014", count_eos: bool = True
) -> DocumentFrequencies:
    """Document frequencies of the captions of COCO.

    The captions are those that the package pycocoevalcap brings (82,783 images
    of train2014, 40,504 of val2014, five captions each). They are counted as
    words, split as an evaluation splits them, and kept in the cache folder
    (`$TFCAP_CACHE`, else `~/.cache/tfcap`), which the first time takes ten
    seconds.

    Args:
        split: String, `"train2014"` or `"val2014"`. Defaults to the former.
        count_eos: Boolean, whether the end of a caption counts as a word.
            Defaults to `True`, as a reward wants it.

    Returns:
        A `tfcap.text.DocumentFrequencies` of words.

    Raises:
        ValueError: If there is no such split.
        tfcap.text.MissingScoreError: If pycocoevalcap is not installed.

    Example:

    >>> from tfcap.text.coco_frequencies import coco_document_frequencies
    >>> try:
    ...     coco_document_frequencies("test2014")
    ... except ValueError as error:
    ...     print(error)
    `split` must be one of ('train2014', 'val2014'). Received: 'test2014'.

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015; the annotations are licensed under CC BY 4.0
    """
    with _archive() as archive:
        member = _member(archive, split)
        end = "eos" if count_eos else "words"
        path = cache_folder("coco") / f"{split}-{end}-{member.CRC:08x}.npz"
        try:
            return DocumentFrequencies.load(path)
        except (OSError, ValueError):  # not there, closed, or damaged
            captions = _read(archive, member)
    table = DocumentFrequencies.from_references(
        [texts for texts, _ in captions.values()], count_eos=count_eos
    )
    keep("COCO's document frequencies", path, table.save)
    return table


def coco_captions(split: str = "train2014") -> dict[int, tuple[list, str]]:
    """COCO's own captions, which the package pycocoevalcap brings.

    Args:
        split: String, `"train2014"` (82,783 images) or `"val2014"` (40,504).
            Defaults to the former.

    Returns:
        Dict of image id to a pair: its captions, at least five strings, and
        the name of its file.

    Raises:
        ValueError: If there is no such split.
        tfcap.text.MissingScoreError: If pycocoevalcap is not installed.

    Example:

    >>> try:
    ...     tfcap.text.coco_captions("test2014")
    ... except ValueError as error:
    ...     print(error)
    `split` must be one of ('train2014', 'val2014'). Received: 'test2014'.

    Reference:

    - Chen et al., Microsoft COCO Captions: Data Collection and Evaluation
      Server, 2015; the annotations are licensed under CC BY 4.0
    """
    with _archive() as archive:
        return _read(archive, _member(archive, split))


def _archive():
    name = "COCO's captions"
    program = find_package(name) / "spice" / "spice-1.0.jar"
    return zipfile.ZipFile(find_file(name, program))


def _member(archive, split):
    if split not in _SPLITS:
        raise ValueError(
            f"`split` must be one of {_SPLITS}. Received: {split!r}."
        )
    return archive.getinfo(_MEMBER.format(split))


def _read(archive, member):
    content = json.loads(archive.read(member))
    captions = {
        image["id"]: ([], image.get("file_name", ""))
        for image in content["images"]
    }
    for annotation in content["annotations"]:
        captions[annotation["image_id"]][0].append(annotation["caption"])
    return captions

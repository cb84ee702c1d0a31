"""Several captions of every image: how good, and how different."""

from dataclasses import dataclass

import numpy as np

from tfcap.text import caption_tokenize_batch
from tfcap.text import cider_d
from tfcap.text import distinct_n
from tfcap.text import mutual_bleu
from tfcap.training.generation import generate

TITLES = {
    "mean_cider_d": "mean CIDEr-D",
    "best_cider_d": "best CIDEr-D",
    "div_1": "Div-1",
    "div_2": "Div-2",
    "mutual_bleu_4": "mBLEU-4",
}


@dataclass(frozen=True)
class DiversityReport:
    """What `evaluate_diversity()` found.

    Attributes:
        scores: Dict of floats: `"mean_cider_d"` over all captions,
            `"best_cider_d"` over the best one of each image, `"div_1"` and
            `"div_2"`, more is more diverse, and `"mutual_bleu_4"`, less is.
        captions: List of M lists of S strings.
    """

    scores: dict
    captions: list

    @classmethod
    def from_captions(
        cls, captions: list[list[str]], references: list[list[str]]
    ) -> "DiversityReport":
        """Scores several captions of every image.

        Args:
            captions: List of M lists of S strings.
            references: List of M lists of strings, the human captions.

        Returns:
            `DiversityReport`.
        """
        samples = len(captions[0])
        words = caption_tokenize_batch([x for row in captions for x in row])
        sets = [words[i : i + samples] for i in range(0, len(words), samples)]
        human = [caption_tokenize_batch(row) for row in references]
        # One caption of every image at a time: the weight of an n-gram that
        # nobody says hangs on their number.
        each = [cider_d(words[i::samples], human).each for i in range(samples)]
        each = np.stack(each, axis=1)  # (M, S)
        scores = {
            "mean_cider_d": each.mean(),
            "best_cider_d": each.max(axis=1).mean(),
            "div_1": distinct_n(sets, 1).corpus,
            "div_2": distinct_n(sets, 2).corpus,
            "mutual_bleu_4": mutual_bleu(sets, 4)[-1].corpus,
        }
        return cls({k: float(v) for k, v in scores.items()}, captions)

    def table(self):
        """The scores as text of two lines."""
        names = [name for name in TITLES if name in self.scores]
        cells = [(TITLES[name], f"{self.scores[name]:.4f}") for name in names]
        widths = [max(map(len, pair)) for pair in cells]
        return "\n".join(
            "  ".join(f"{text:>{width}}" for text, width in zip(row, widths))
            for row in zip(*cells)
        )

    def __str__(self):
        return self.table()


def evaluate_diversity(
    speaker,
    batches,
    decoder,
    texts=None,
    vocabulary=None,
    batch_size=None,
    verbose=0,
):
    """Says several captions of every image, and how diverse they are.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        batches: `tfcap.data.CaptionBatches` of the split.
        decoder: `tfcap.decoding.Decoder` of two sequences a row or more:
            `Sample(num_samples=5)` for random samples, `BeamSearch(5)` for
            beams, or either with their restrictions.
        texts: List of M lists of strings, the human captions. Defaults to
            those of the batches.
        vocabulary: `tfcap.text.Vocabulary`. Defaults to that of the batches.
        batch_size: Integer. Defaults to that of the batches.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        `DiversityReport`. Document frequencies are of `texts`.

    Raises:
        ValueError: If the decoder says one caption of an image, or the texts
            are of another number of images.

    Example:

    >>> report = tfcap.training.DiversityReport(
    ...     {"mean_cider_d": 0.68, "div_1": 0.29}, [["a dog", "a cat"]]
    ... )
    >>> print(report)
    mean CIDEr-D   Div-1
          0.6800  0.2900

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, section 5.1: five random samples or five beams of every image
    """
    texts = batches.captions.texts if texts is None else texts
    if vocabulary is None:
        vocabulary = batches.captions.vocabulary
    tokens = generate(speaker, decoder, batches, batch_size, verbose=verbose)
    images, samples, length = tokens.shape
    if images != len(texts):
        raise ValueError(
            "`texts` must hold a list of captions for each image of "
            f"`batches`. Received: {len(texts)} lists, {images} images."
        )
    if samples < 2:
        raise ValueError(
            "`decoder` must say two captions of an image or more. Received: "
            f"{type(decoder).__name__} with one. Set `num_samples` or `width`."
        )
    captions = [vocabulary.decode_batch(rows) for rows in tokens]
    return DiversityReport.from_captions(captions, texts)

"""Several captions of every image: how good, and how different."""

from dataclasses import dataclass

import numpy as np

from tfcap.text import cider_d
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.scores.bleu import mutual_bleu
from tfcap.text.scores.caption_statistics import distinct_n

TITLES = {
    "mean_cider_d": "mean CIDEr-D",
    "best_cider_d": "best CIDEr-D",
    "div_1": "Div-1",
    "div_2": "Div-2",
    "mutual_bleu_4": "mBLEU-4",
}


@dataclass(frozen=True)
class DiversityReport:
    """Scores of several captions an image, by `Evaluator.diversity()`.

    Attributes:
        scores: Dict of floats: `"mean_cider_d"` over all captions,
            `"best_cider_d"` over the best one of each image, neither of them
            where there is one image; `"div_1"` and `"div_2"`, more is more
            diverse, and `"mutual_bleu_4"`, less is.
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
        scores = {}
        if len(human) > 1:
            # One caption of every image at a time: the weight of an n-gram
            # that nobody says hangs on their number.
            rows = [words[i::samples] for i in range(samples)]
            each = np.stack([cider_d(row, human).each for row in rows], axis=1)
            scores["mean_cider_d"] = each.mean()
            scores["best_cider_d"] = each.max(axis=1).mean()
        scores |= {
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

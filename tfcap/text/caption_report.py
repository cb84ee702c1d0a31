"""The scores of one set of captions."""

import dataclasses

import numpy as np

from tfcap._io.json_file import finite

#: Names as papers print them.
TITLES = {
    **{f"bleu_{k}": f"BLEU-{k}" for k in range(1, 5)},
    "rouge_l": "ROUGE-L",
    "cider_d": "CIDEr-D",
    "cider": "CIDEr",
    "cider_r": "CIDEr-R",
    "meteor": "METEOR",
    "meteor_java": "METEOR (Java)",
    "spice": "SPICE",
    "spice_spacy": "SPICE (spaCy)",
    **{
        f"spice_spacy_{kind}": f"  {kind}"
        for kind in (
            *("objects", "attributes", "relations"),
            *("color", "count", "size"),
        )
    },
    "spider": "SPIDEr",
    "spider_spacy": "SPIDEr (spaCy)",
    "bcmr": "BCMR",
    "chair": "CHAIR",
    "chair_i": "CHAIR-i",
    "chair_s": "CHAIR-s",
}
_PLAIN_CIDER = (
    "CIDEr is that of equation 3, without clipping and length penalty, which "
    "is higher: what papers and leaderboards call CIDEr is CIDEr-D."
)
_LESS = "Lower CHAIR-i and CHAIR-s are better."


@dataclasses.dataclass(frozen=True, eq=False)
class CaptionReport:
    """Scores of a corpus and of each caption, and reasons for missing ones.

    Attributes:
        scores: Dict of name (a key of `TITLES`) to `Scores`.
        absent: Dict of name to the `MissingScoreError` with the reason.
        images: Integer, number of captions that were scored.
        references: Integer, number of references they were scored against.
        wordless: Tuple of the indices of captions in which the tokenizer finds
            no word, such as those of emoji only; they are scored as empty.
        remarks: Tuple of strings: leftovers of decoding in the captions or
            references, such as end tokens, and what to do.
    """

    scores: dict
    absent: dict
    images: int
    references: int
    wordless: tuple = ()
    remarks: tuple = ()

    def table(self):
        """The scores as text.

        Returns:
            String of several lines: each corpus score, with the mean and the
            standard deviation over images; missing scores; a note that papers
            do not report plain CIDEr; and the remarks.
        """
        named = {*self.scores, *self.absent}
        titles = {k: title for k, title in TITLES.items() if k in named}
        width = max(8, *map(len, titles.values()), 0)
        lines = [
            f"{self.images:,} images, {self.references:,} references",
            "",
            f"{'':{width}}  {'corpus':>8}  {'mean':>8}  {'std':>8}",
        ]
        for name, title in titles.items():
            if name in self.scores:
                corpus, each = self.scores[name]
                numbers = corpus, np.nanmean(each), np.nanstd(each)
                cells = "".join(f"  {number:8.4f}" for number in numbers)
                lines.append(f"{title:{width}}{cells}")
            else:
                lines.append(f"{title:{width}}    absent")
        notes = [_PLAIN_CIDER] * ("cider" in self.scores)
        notes += [_LESS] * ("chair_i" in self.scores)
        if self.wordless:
            notes.append(
                f"Captions without words, scored as empty: "
                f"{len(self.wordless):,}, the first is number "
                f"{self.wordless[0] + 1:,}."
            )
        notes += self.remarks
        notes += [str(missing_score) for missing_score in self.absent.values()]
        return "\n".join([*lines, *([""] if notes else []), *notes])

    __repr__ = table

    def to_dict(self, image_ids: list, captions: list) -> dict:
        """The scores as a dict for JSON.

        Args:
            image_ids: List of the ids of the images.
            captions: List of the captions that were scored.

        Returns:
            Dict of `"images"` and `"references"` (counts), `"corpus"` (dict of
            name to score), `"absent"` (dict of name to reason and hint),
            `"wordless"` (ids of images whose captions have no words),
            `"remarks"` (list of sentences), and `"each"` (list of dicts with
            image id, caption and scores). A score of NaN becomes None.
        """
        rows = [
            {"image_id": image_id, "caption": caption}
            for image_id, caption in zip(image_ids, captions)
        ]
        for name, scores in self.scores.items():
            for row, score in zip(rows, scores.each):
                row[name] = finite(score)
        return {
            "images": self.images,
            "references": self.references,
            "corpus": {
                name: finite(scores.corpus)
                for name, scores in self.scores.items()
            },
            "absent": {
                name: {"reason": why.reason, "hint": why.hint}
                for name, why in self.absent.items()
            },
            "wordless": [image_ids[i] for i in self.wordless],
            "remarks": list(self.remarks),
            "each": rows,
        }

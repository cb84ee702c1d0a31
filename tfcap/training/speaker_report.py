"""Reports of captions of a split and their scores."""

import dataclasses
import json
import math

import numpy as np

from tensorboard_plugin_tfcap.summary import Sample
from tfcap._io import malformed
from tfcap._io import read_json
from tfcap._io import whole_file
from tfcap._io.json_file import finite
from tfcap.metrics.reports import FORMATS
from tfcap.metrics.reports import aligned
from tfcap.text import caption_language
from tfcap.text import cider_d
from tfcap.text import evaluate_captions
from tfcap.text.caption_report import TITLES
from tfcap.text.caption_tokenization import caption_tokenize_batch
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.scores.bleu import mutual_bleu
from tfcap.text.scores.caption_statistics import distinct_n

_FORMAT = "tfcap-speaker-report"
_WRITE = "Write one with `SpeakerReport.save()`."
#: What is raised where a file holds something else than it should.
_WRONG = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
#: Scores of human captions that need no listener.
_OF_PEOPLE = (
    *("lm_log_prob", "novel_bigrams", "novel_trigrams", "mean_length"),
    *("repeat_rate", "repeated_bigram_rate", "bad_ending_rate"),
)
#: The metrics of a retrieval, and how a table prints them.
RETRIEVAL = {k: x for k, x in FORMATS.items() if k != "count"}
_DIRECTIONS = {
    "": "image by caption",
    "image_to_text_": "caption by image",
    "human_": "image by human caption",
    "human_image_to_text_": "human caption by image",
    "human_first_": "image by first human caption",
}
_LANGUAGE = {
    "vocabulary_size": ("words in use", "{:,.0f}"),
    "distinct_captions": ("distinct captions", "{:,.0f}"),
    "lm_log_prob": ("log prob / word (n-gram model)", "{:.3f}"),
    "human_lm_log_prob": ("the same of human captions", "{:.3f}"),
    "novelty": ("new captions", "{:.1%}"),
    "novel_bigrams": ("bigrams that training never says", "{:.1%}"),
    "novel_trigrams": ("trigrams that training never says", "{:.1%}"),
    "human_novel_trigrams": ("the same of human captions", "{:.1%}"),
    "self_bleu": ("Self-BLEU", "{:.4f}"),
    "mean_length": ("words a caption", "{:.2f}"),
    "repeat_rate": ("say a word twice in a row", "{:.1%}"),
    "repeated_bigram_rate": ("say a bigram twice", "{:.1%}"),
    "repeated_bigrams": ("pairs of words said again", "{:.1%}"),
    "repeated_trigrams": ("triples of words said again", "{:.1%}"),
    "bad_ending_rate": ("break off", "{:.1%}"),
    "unfinished_rate": ("reach no end", "{:.1%}"),
}


@dataclasses.dataclass(frozen=True, eq=False)
class SpeakerReport:
    """Captions of a split with their scores, as an `Evaluator` returns them.

    Attributes:
        scores: Dict of name to float, see `result()`.
        image_ids: List of M integers or strings.
        captions: List of M strings, the speaker's captions.
        references: List of M lists of strings, the human captions.
        ranks: Float array of shape `(M,)`, the rank of an image among all
            when the listener retrieves by its caption; 1 is best. NaN without
            a listener.
        human_ranks: Float array of shape `(M,)`, the same for the first human
            caption of each image; NaN if the listener read none.
        each: Dict of a score's name to a float array of shape `(M,)`, the
            score of each caption.
        absent: Dict of a score's name to its
            `tfcap.text.MissingScoreError`.
    """

    scores: dict
    image_ids: list
    captions: list
    references: list
    ranks: np.ndarray
    human_ranks: np.ndarray
    each: dict = dataclasses.field(default_factory=dict)
    absent: dict = dataclasses.field(default_factory=dict)

    def __len__(self):
        return len(self.captions)

    def result(self):
        """Returns the scores of the split.

        Returns:
            Dict of floats:

            - naturalness, as in `evaluate_captions()`: `"cider_d"`,
              `"bleu_1"` to `"bleu_4"`, `"rouge_l"`, and the further scores
              that were requested and are installed;
            - text-to-image retrieval: `"r@1"`, `"r@5"` and `"r@10"` in
              percent, `"median_rank"`, `"mean_rank"`, `"mrr"`; image-to-text
              retrieval: the same with the prefix `"image_to_text_"`;
            - retrieval by human captions: with the prefixes `"human_"` and
              `"human_image_to_text_"`, and by the first human caption of each
              image with `"human_first_"`; by other listeners, with their
              names as prefixes;
            - variety: `"vocabulary_size"`, `"distinct_captions"`,
              `"novelty"`, and `"self_bleu"` in `[0, 1]`, lower is more varied,
              as published: up to 5-grams of the first 1000 captions, with
              nltk's smoothing;
            - signs of drift, as shares of captions: `"repeat_rate"`, with a
              repeated word, `"repeated_bigram_rate"`, with a repeated bigram,
              `"bad_ending_rate"`, `"unfinished_rate"`; as shares of n-grams:
              `"repeated_bigrams"` and `"repeated_trigrams"`; and
              `"mean_length"` in words;
            - with training captions: `"novel_bigrams"` and
              `"novel_trigrams"`, shares that do not occur in them, and
              `"lm_log_prob"`, the mean log probability of a word under their
              n-gram model, higher is more natural, see
              `tfcap.text.TrainingCaptions`; with the prefix `"human_"`, those
              of the human captions.
        """
        return dict(self.scores)

    def with_language(self, training=None):
        """Returns the report with scores of language, which need no image.

        Args:
            training: `tfcap.text.TrainingCaptions`, for novel n-grams and log
                probabilities, also of the human captions. Defaults to `None`,
                without these.

        Returns:
            A new `SpeakerReport`.

        Example:

        >>> ones = np.ones(1)
        >>> report = tfcap.training.SpeakerReport(
        ...     {}, [4], ["a dog and a dog"], [["A dog."]], ones, ones
        ... )
        >>> report.with_language().scores["repeated_bigram_rate"]
        1.0
        """
        language = caption_language(self.captions, training)
        scores = {
            k: float(getattr(s, "corpus", s)) for k, s in language.items()
        }
        each = dict(self.each)
        if training is not None:
            each["lm_log_prob"] = language["lm_log_prob"].each
            human = [text for texts in self.references for text in texts]
            words = map(" ".join, caption_tokenize_batch(human))
            people = caption_language(list(words), training)
            scores |= {f"human_{k}": people[k].corpus for k in _OF_PEOPLE}
        return dataclasses.replace(
            self, scores={**self.scores, **scores}, each=each
        )

    def rescored(self, metrics, objects=None):
        """Returns the report with more scores of its captions.

        Args:
            metrics: Names that `tfcap.text.evaluate_captions()` knows.
            objects: As there.

        Returns:
            A new `SpeakerReport`. Scores that are missing are in `absent`.

        Example:

        >>> report = tfcap.training.SpeakerReport(
        ...     scores={"r@1": 50.0},
        ...     image_ids=[4, 9],
        ...     captions=["a dog", "a cat"],
        ...     references=[["A dog."], ["Two cats!"]],
        ...     ranks=np.array([1.0, 2.0]),
        ...     human_ranks=np.array([1.0, 1.0]),
        ... )
        >>> sorted(report.rescored(["rouge_l"]).scores)
        ['r@1', 'rouge_l']
        """
        report = evaluate_captions(
            self.captions, self.references, metrics, objects=objects
        )
        scores = {name: float(s.corpus) for name, s in report.scores.items()}
        each = {name: np.asarray(s.each) for name, s in report.scores.items()}
        before = {k: a for k, a in self.absent.items() if k not in scores}
        return dataclasses.replace(
            self,
            # Those that are new come first.
            scores={**scores, **self.scores, **scores},
            each={**self.each, **each},
            absent={**before, **report.absent},
        )

    def table(self):
        """Returns the scores as text, and which are missing."""
        human = sum(map(len, self.references))
        lines = [f"{len(self):,} images, {human:,} human captions", ""]
        titles = {k: t for k, t in TITLES.items() if k in self.scores}
        cells = [format(self.scores[name], ".4f") for name in titles]
        lines += aligned([["", *titles.values()], ["naturalness", *cells]])
        rows = [
            self._retrieval(key.removesuffix("r@1"))
            for key in self.scores
            if key.endswith("r@1")
        ]
        if rows:
            head = [title for title, _ in RETRIEVAL.values()]
            lines += ["", *aligned([["", *head], *rows])]
        lines.append("")
        lines += aligned(
            [title, style.format(self.scores[name])]
            for name, (title, style) in _LANGUAGE.items()
            if name in self.scores
        )
        absent = [str(missing_score) for missing_score in self.absent.values()]
        return "\n".join([*lines, *([""] if absent else []), *absent])

    __repr__ = table

    def _retrieval(self, prefix):
        """Returns a row of the table, with the name of another listener."""
        turned = "image_to_text_"
        title, name = _DIRECTIONS.get(prefix), prefix.removesuffix(turned)
        if title is None:
            direction = _DIRECTIONS["" if name == prefix else turned]
            title = f"{direction}, {name[:-1]}"
        cells = (
            format(self.scores[prefix + name], style)
            for name, (_, style) in RETRIEVAL.items()
        )
        return [title, *cells]

    def save(self, path):
        """Writes everything to a readable JSON file, with a line per image.

        The file is written whole or not at all.

        Args:
            path: String or path.
        """
        absent = {k: vars(a) for k, a in self.absent.items()}
        scores = {k: finite(v) for k, v in self.scores.items()}
        head = {"format": _FORMAT, "scores": scores, "absent": absent}
        parts = [f' "{k}": {_json(v, indent=2)}' for k, v in head.items()]
        columns = {
            "image_id": self.image_ids,
            "rank": self.ranks,
            "caption": self.captions,
            "human_rank": self.human_ranks,
            "human": self.references,
            **self.each,
        }
        each = zip(*(map(_plain, v) for v in columns.values()), strict=True)
        rows = ",\n  ".join(_json(dict(zip(columns, row))) for row in each)
        parts.append(f' "images": [\n  {rows}\n ]')
        with whole_file(path, "w") as file:
            file.write("{\n" + ",\n".join(parts) + "\n}\n")

    @classmethod
    def load(cls, path):
        """Reads a report of `save()`.

        Args:
            path: String or path.

        Returns:
            A `SpeakerReport`.

        Raises:
            ValueError: If the file is of another kind, or truncated.
        """
        content = read_json(path, hint=_WRITE)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise malformed(path, "", "there is other JSON", _WRITE)
        try:
            rows, absent = content["images"], content["absent"]
            columns = {name: [row[name] for row in rows] for name in rows[0]}
            ids, *texts = (
                columns.pop(name) for name in ("image_id", "caption", "human")
            )
            if not all(type(x) in (int, str) for x in ids) or not all(
                isinstance(x, str) for x in [*texts[0], *sum(texts[1], [])]
            ):
                raise TypeError("ids and captions are no ids and captions")
            each = {k: np.array([*map(_number, v)]) for k, v in columns.items()}
            return cls(
                scores={k: _number(v) for k, v in content["scores"].items()},
                image_ids=ids,
                captions=texts[0],
                references=texts[1],
                ranks=each.pop("rank"),
                human_ranks=each.pop("human_rank"),
                each=each,
                absent={k: MissingScoreError(**a) for k, a in absent.items()},
            )
        except _WRONG as error:
            problem = f"something is missing or wrong ({error!r:.200})"
            raise malformed(path, "", problem, _WRITE) from error

    def samples(self, images=None, count: int = 16) -> list[Sample]:
        """Returns the first captions, for the Trade-off tab of TensorBoard.

        Args:
            images: Function from an image's row in the report to its pixels
                or `None`, such as `tfcap.data.Photographs`, whose file names
                are shown, too. Optional.
            count: Integer, maximum number of captions. Defaults to `16`.

        Returns:
            List of `tensorboard_plugin_tfcap.summary.Sample`.
        """
        names = getattr(images, "filenames", None)
        return [
            Sample(
                id=self.image_ids[row],
                caption=self.captions[row],
                rank=self.ranks[row],
                human=self.references[row],
                human_rank=self.human_ranks[row],
                image=images(row) if images else None,
                name=names[row] if names else "",
                scores={name: v[row] for name, v in self.each.items()},
            )
            for row in range(min(count, len(self)))
        ]


@dataclasses.dataclass(frozen=True)
class DiversityReport:
    """Scores of several captions an image, by `Evaluator.diversity()`.

    Attributes:
        scores: Dict of floats: for more than one image, `"mean_cider_d"` over
            all captions and `"best_cider_d"` over the best one of each image;
            `"div_1"` and `"div_2"`, higher is more diverse, and
            `"mutual_bleu_4"`, lower is more diverse.
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
        """Returns the scores as text of two lines."""
        cells = [(name, f"{value:.4f}") for name, value in self.scores.items()]
        return "\n".join(aligned(zip(*cells)))

    __repr__ = table


def _json(value, indent=None):
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


def _plain(value):
    """Converts a NumPy number to Python, and NaN to `None`."""
    value = value.item() if hasattr(value, "item") else value
    return finite(value) if isinstance(value, float) else value


def _number(value):
    """Reads a number of a file, `None` as NaN."""
    if value is not None and type(value) not in (int, float):
        raise TypeError(f"{value!r:.40} is no number")
    return math.nan if value is None else float(value)

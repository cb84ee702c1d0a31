"""Naturalness and informativeness of a speaker's captions of a split."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfcap._ops import reference_mask
from tfcap.decoding import Greedy
from tfcap.decoding.speaker import check_speaker
from tfcap.metrics import evaluate_retrieval
from tfcap.text import TrainingCaptions
from tfcap.text import as_vocabulary
from tfcap.training.dataset_inputs import dataset_inputs
from tfcap.training.diversity_report import DiversityReport
from tfcap.training.evaluation_callback import EvaluationCallback
from tfcap.training.evaluator_checks import check_listeners
from tfcap.training.evaluator_checks import check_words
from tfcap.training.speak_and_listen import SpeakAndListen
from tfcap.training.speak_and_listen import find_references
from tfcap.training.speak_and_listen import joined
from tfcap.training.speaker_report import RETRIEVAL
from tfcap.training.speaker_report import SpeakerReport

#: Scores of naturalness that are always there.
NATURALNESS = ("bleu", "rouge_l", "cider_d")


class Evaluator(EvaluationCallback):
    """Scores the captions of a split, and the images that a listener finds.

    In one pass the speaker gives each image one caption, by default the most
    likely word at every step. The listener reads the captions as ids of words
    and ranks all images of the split for each of them, every other image a
    distractor, and the captions for each image. It also reads human captions:
    a listener that follows a drifting speaker forgets these. Ties count as
    their mean rank.

    Call it as often as wanted, or pass it to `fit()` as a callback: the graph
    is traced once, and reads the weights as they are at each call. Change the
    networks or the data, and make another.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        dataset: Whatever Keras' `fit()` takes, once through the M images of
            the split: `tf.data.Dataset` of batches, `keras.utils.PyDataset`,
            list of batches, dict of arrays, or `tfcap.data.CaptionBatches`.
            Sizes of batches and of padding may vary.
        listener: Object with `embed_images(image, training)` and
            `embed_texts(words, mask, training)`, such as
            `tfcap.models.RetrievalListener`. Defaults to `None`: naturalness
            alone.
        metrics: Names that `tfcap.text.evaluate_captions()` knows, beside
            BLEU, ROUGE-L and CIDEr-D, which are always there; one that needs
            what is not installed is absent by name.
        decoder: `tfcap.decoding.Decoder`; of several sequences an image, the
            first counts. Defaults to `Greedy` of the length of the longest
            reference, which does not emit the unknown word.
        references: Key of the human captions in a batch, ids of words of
            shape `(B, N, T)` or `(B, T)`, or function of the inputs that
            returns them. A start token that they begin with is left out.
            Defaults to `None`: the key `"references"`, else
            `speaker.references(inputs)`.
        image: Key of what a listener embeds as an image, or function of the
            inputs that returns it. A listener with an `image_key` reads that.
            Defaults to `"image"`.
        texts: List of M lists of strings, the human captions as they were
            written. Defaults to those of `dataset.captions`; else to the
            words of the references, in which a word that the vocabulary lacks
            is the unknown word.
        vocabulary: `tfcap.text.Vocabulary` or tokenizer. Defaults to that of
            `dataset.captions`, or of the speaker.
        image_ids: List of M integers or strings; or their key in a batch.
            Defaults to those of `dataset.captions`, else to row numbers.
        decoders: Dict of name to further decoders. Their scores are in the
            report after their names, such as `"beam_cider_d"`.
        samples: Dict of name to decoders of several sequences an image, whose
            `diversity()` is in the report after their names.
        training_captions: Iterable of captions, strings or lists of words,
            those of the training split; or a `tfcap.text.TrainingCaptions`,
            which several evaluators can share. Defaults to `None`: no new
            n-grams and no log probability of a language model.
        human_captions: Integer, how many of an image's human captions the
            listener reads, the first ones; 0 for none. Defaults to `None`,
            all of them.
        other_listeners: Dict of name to listener, which rank, too; one that
            is fixed, or that training never saw, tells captions that say more
            from a code of the two learners. Defaults to none.
        batch_size: Integer, for `dataset`s that are not in batches yet.
        verbose: 1 for a progress bar, 0 for silence.
        **callback: `every`, `prefix`, `names`, `folder`, `writer` and
            `images` of `EvaluationCallback`.

    Call arguments:
        decoder: `tfcap.decoding.Decoder` in the place of the evaluator's.

    Returns:
        Called, a `SpeakerReport`.

    Raises:
        TypeError: If the data set cannot be read, or not twice, or the
            listener embeds nothing.
        ValueError: If the data set is endless or without references, texts
            or ids are not as many as images, or vocabularies differ in size
            or padding.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus", "dog"])
    >>> speaker = tfcap.models.ShowTellSpeaker(
    ...     vocabulary.size, units=4, embedding_units=3
    ... )
    >>> data = {
    ...     "image": np.ones((2, 1, 5), "float32"),
    ...     "caption": np.array([[[4, 5, 2]], [[6, 2, 0]]]),
    ... }
    >>> _ = speaker(data)
    >>> evaluate = tfcap.training.Evaluator(
    ...     speaker, data, vocabulary=vocabulary
    ... )
    >>> evaluate().references
    [['red bus'], ['dog']]

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 6.1. The authors' code breaks ties by the order of the
      images, which lets a listener that scores all alike look well.
    """

    def __init__(
        self,
        speaker: Any,
        dataset: Any,
        listener: Any = None,
        metrics: Sequence[str] = (),
        decoder: Any = None,
        *,
        references: str | Callable | None = None,
        image: str | Callable = "image",
        texts: Sequence[Sequence[str]] | None = None,
        vocabulary: Any = None,
        image_ids: Sequence | str | None = None,
        decoders: dict[str, Any] | None = None,
        samples: dict[str, Any] | None = None,
        training_captions: TrainingCaptions | Iterable | None = None,
        human_captions: int | None = None,
        other_listeners: dict[str, Any] | None = None,
        batch_size: int | None = None,
        verbose: int = 0,
        **callback,
    ):
        super().__init__(self, **callback)
        check_speaker(speaker, trained=False)
        captions = getattr(dataset, "captions", None)
        self.speaker, self.pad = speaker, getattr(speaker, "pad", 0)
        self.dataset = dataset
        own = {} if listener is None else {"": listener}
        self.listeners = {**own, **(other_listeners or {})}
        self.metrics = tuple(dict.fromkeys([*NATURALNESS, *metrics]))
        self.decoder = decoder
        self.references = references
        self.image = image
        self.texts = _either(texts, captions, "texts")
        known = _either(vocabulary, captions, "vocabulary")
        known = _either(known, speaker, "vocabulary")
        self.vocabulary = None if known is None else as_vocabulary(known)
        self.image_ids = _either(image_ids, captions, "image_ids")
        self.decoders = dict(decoders or {})
        self.samples = dict(samples or {})
        if not isinstance(training_captions, TrainingCaptions | None):
            training_captions = TrainingCaptions(training_captions)
        self.training_captions = training_captions
        self.human_captions = human_captions
        self.batch_size = batch_size
        self.verbose = verbose
        self._passes = {}
        check_listeners(self.listeners, self)
        check_words(self.vocabulary, self.speaker, self.pad)
        self._inputs()  # Raises as a call would.

    def __call__(self, decoder: Any = None) -> SpeakerReport:
        report = self._report(decoder)
        scores = {}
        for name, other in self.decoders.items() if decoder is None else ():
            further = self._report(other).scores.items()
            scores |= {
                f"{name}_{key}": value
                for key, value in further
                if not key.startswith("human_")
            }
        for name, other in self.samples.items() if decoder is None else ():
            diverse = self.diversity(other).scores.items()
            scores |= {f"{name}_{key}": value for key, value in diverse}
        return report.with_scores(scores)

    def diversity(self, decoder: Any) -> DiversityReport:
        """Scores several captions of every image, and how they differ.

        Args:
            decoder: `tfcap.decoding.Decoder` of two sequences a row or more:
                `Sample(num_samples=5)` for random samples, `BeamSearch(5)`
                for beams.

        Returns:
            `DiversityReport`. Document frequencies are of the human captions.

        Raises:
            ValueError: If the decoder gives an image one caption.

        Reference:

        - Chen and Jin, Better Captioning with Sequence-Level Exploration,
          CVPR 2020, section 5.1: five random samples or five beams
        """
        outputs = self._read(decoder, {})
        if outputs["tokens"].shape[1] < 2:
            raise ValueError(
                "`decoder` must say two captions of an image or more. "
                f"Received: {type(decoder).__name__} with one. Set "
                "`num_samples` or `width`."
            )
        captions = [self._strings(rows) for rows in outputs["tokens"]]
        return DiversityReport.from_captions(captions, outputs["texts"])

    def _inputs(self):
        return dataset_inputs(self.dataset, self.batch_size, self.pad)

    def _report(self, decoder):
        outputs = self._read(decoder, self.listeners)
        tokens = outputs["tokens"][:, 0]
        by_name = {
            name: evaluate_retrieval(*pair)
            for name, pair in outputs["pairs"].items()
        }
        scores, ranks = {}, np.full(len(tokens), np.nan)
        if "" in by_name:
            scores, ranks = _named("", by_name[""]), by_name[""].text_ranks
        human_ranks = np.full(len(tokens), np.nan)
        if "human" in outputs:
            human_ranks, human_scores = _human(outputs)
            scores |= human_scores
        for name in filter(None, self.listeners):
            scores |= _named(f"{name}_", by_name[name])
        ended = np.isin(tokens, self.speaker.eos).any(axis=-1)
        scores["unfinished_rate"] = float(1 - ended.mean())
        report = SpeakerReport(
            scores=scores,
            image_ids=outputs["image_ids"],
            captions=self._strings(tokens),
            references=outputs["texts"],
            ranks=ranks,
            human_ranks=human_ranks,
            each={},
            absent={},
        )
        report = report.with_language(self.training_captions)
        return report.rescored(self.metrics)

    def _read(self, decoder, listeners):
        """Arrays of the whole split, its texts and the images' ids."""
        run = self._pass(decoder, listeners)
        total = None if self.texts is None else len(self.texts)
        progress = keras.utils.Progbar(
            total, verbose=self.verbose, unit_name="image"
        )
        parts, ids = [], []
        for inputs in self._inputs():
            parts.append(run(inputs))
            if isinstance(self.image_ids, str):
                ids += np.asarray(inputs[self.image_ids]).tolist()
            progress.add(len(parts[-1]["tokens"]))
        if not parts:
            raise ValueError(
                "`dataset` must hold at least one image. Received: none."
            )
        outputs = joined(parts, self.pad)
        images = len(outputs["tokens"])
        if not isinstance(self.image_ids, str):
            ids = range(images) if self.image_ids is None else self.image_ids
        ids = [x.decode() if isinstance(x, bytes) else x for x in ids]
        more = {"texts": self._texts(outputs), "image_ids": ids}
        for name, rows in more.items():
            if len(rows) != images:
                raise ValueError(
                    f"`{name}` must be as many as the images of `dataset`. "
                    f"Received: {len(rows)} for {images} images. Pass those "
                    "of the same split."
                )
        return outputs | more

    def _pass(self, decoder, listeners):
        """The graph of a decoder; of others, that of the last is kept."""
        if decoder is None:
            decoder = self.decoder = self.decoder or self._greedy()
        key = id(decoder), bool(listeners)
        if key not in self._passes:
            further = *self.decoders.values(), *self.samples.values()
            kept = {id(d) for d in (decoder, self.decoder, *further)}
            passes = self._passes.items()
            self._passes = {k: one for k, one in passes if k[0] in kept}
            unread = self.human_captions == 0 or "" not in listeners
            needed = self.texts is None or not unread
            self._passes[key] = SpeakAndListen(
                *(self.speaker, decoder, listeners, self.image),
                self._references if needed else None,
                self.human_captions,
            )
        return self._passes[key]

    def _references(self, inputs):
        return find_references(inputs, self.references, self.speaker)

    def _greedy(self):
        """Greedy decoding of the length of the longest reference."""
        lengths = []
        for inputs in self._inputs():
            human = self._references(inputs)
            # Our own batches are padded to one length.
            if hasattr(self.dataset, "evaluation"):
                lengths.append(human.shape[-1])
                break
            words = reference_mask(human, self.speaker.eos, self.pad)
            lengths.append(int(np.sum(words, axis=-1).max()))
        unknown = getattr(self.vocabulary, "unk", None)
        return Greedy(
            max_length=max([1, *lengths]),
            suppress=() if unknown is None else (unknown,),
        )

    def _texts(self, outputs):
        """Human captions as strings."""
        if self.texts is not None:
            return list(self.texts)
        return [
            self._strings(rows[(rows != self.pad).any(axis=-1)])
            for rows in outputs["references"]
        ]

    def _strings(self, tokens):
        """Sentences of rows of ids, without the end token and padding."""
        ended = np.cumsum(np.isin(tokens, self.speaker.eos), axis=-1) > 0
        words = (tokens != self.pad) & ~ended
        decode = self.vocabulary.decode
        return [decode(row[own].tolist()) for row, own in zip(tokens, words)]


def _either(value, holder, name):
    return getattr(holder, name, None) if value is None else value


def _human(read):
    """Ranks by the first human captions, and scores of human captions."""
    images, present = read["pairs"][""][0], read["present"]
    owners = np.nonzero(present)[0]
    every = evaluate_retrieval(images, read["human"][present], owners)
    scores = _named("human_", every)
    ranks = np.full(len(images), np.nan)
    # Of the rows of an image, the first comes first.
    captioned, first = np.unique(owners, return_index=True)
    ranks[captioned] = every.text_ranks[first]
    row = evaluate_retrieval(images, read["human"][present][first], captioned)
    return ranks, scores | _named("human_first_", row, both=False)


def _named(prefix, report, both=True):
    """Scores of a retrieval under the names of a `SpeakerReport`."""
    rows = report.rows()
    named = {prefix + k: rows["text_to_image"][k] for k in RETRIEVAL}
    if both:
        other = rows["image_to_text"]
        named |= {f"{prefix}image_to_text_{k}": other[k] for k in RETRIEVAL}
    return {name: float(value) for name, value in named.items()}

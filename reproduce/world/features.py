"""Features of synthetic images and videos, by an encoder trained on scenes."""

import functools
import hashlib
import os
import pathlib
from collections.abc import Callable

import keras
import numpy as np
from numpy.typing import NDArray

from reproduce.locks import made_once
from reproduce.world import dense_targets
from reproduce.world import load_video_world
from reproduce.world import load_world
from reproduce.world.built_folder import SPLITS
from reproduce.world.scene_encoder import GRID
from reproduce.world.scene_encoder import SceneEncoder
from tfcap._io import malformed
from tfcap._io import whole_file
from tfcap._io import whole_path
from tfcap.training import load_network

# Norm of what a feature tells beyond the attributes: well below theirs.
_NORM = 1.25


def world_with_features(
    root=None, seed: int = 0, verbose=1, encoder_epochs: int = 4, **sizes
):
    """A world, and what a trained encoder sees in its images.

    The world is drawn, and the encoder trained, when first asked for.

    Returns:
        The `reproduce.world.World`, and a list of the features of its
        `SPLITS`, float16 arrays of shape `(n, P, D)`.
    """
    world = load_world(root, seed=seed, progress=bool(verbose), **sizes)
    encoder = pretrain_scene_encoder(
        world, epochs=encoder_epochs, verbose=verbose
    )
    trained = "" if encoder_epochs == 4 else f"_e{encoder_epochs}"
    paths = [world.root / f"features_{name}{trained}.npy" for name in SPLITS]
    return world, [
        scene_features(world, name, path, encoder)
        for name, path in zip(SPLITS, paths)
    ]


def other_scenes(root=None, verbose=1, encoder_epochs: int = 4, **options):
    """Another world, and what the encoder of the first sees in its images.

    Its seed is greater by 1000. Only its training split is as large.

    Args:
        **options: `seed` and sizes of the first.

    Returns:
        As `world_with_features()`.
    """
    first = load_world(root, progress=bool(verbose), **options)
    encoder = pretrain_scene_encoder(
        first, epochs=encoder_epochs, verbose=verbose
    )
    about = first.about
    world = load_world(
        root,
        seed=about["seed"] + 1000,
        train=about["sizes"]["train"],
        val=10,
        test=10,
        progress=bool(verbose),
    )
    end = f"of_{first.root.name}_e{encoder_epochs}.npy"
    return world, [
        scene_features(
            world, name, world.root / f"features_{name}_{end}", encoder
        )
        for name in SPLITS
    ]


def pretrain_scene_encoder(
    world,
    epochs: int = 4,
    seed: int = 0,
    cache: bool = True,
    batch_size: int = 64,
    filters: int = 24,
    verbose: int = 0,
) -> SceneEncoder:
    """Trains a `SceneEncoder` on the attributes of the train scenes' cells.

    Published captioners and dialog models read features of a VGG that was
    trained on ImageNet's labels; this is its counterpart. It never sees a
    caption, a dialog or an image outside the train split.

    Args:
        cache: Boolean, whether to keep the trained encoder beside the world's
            files and to return it from there the next time.
    """
    name = f"scene_encoder_f{filters}_e{epochs}_b{batch_size}_s{seed}.keras"
    path = world.root / name

    def train():
        keras.utils.set_random_seed(seed)
        encoder = SceneEncoder(filters=filters)
        images = np.asarray(world.images("train"))
        targets = dense_targets(world.scenes("train"))
        _fit(encoder, *_mirrored(images, targets), epochs, batch_size, verbose)
        _calibrate(encoder, images[:2000], targets["shape"][:2000])
        if cache:
            with whole_path(path) as partial:
                encoder.save(partial)
        return encoder

    if not cache:
        return train()
    hint = "Move it elsewhere to train it anew."
    load = functools.partial(load_network, compile=False, hint=hint)
    return made_once(path, load, train)


def scene_features(
    world,
    split: str,
    path: str | os.PathLike | None = None,
    encoder: SceneEncoder | None = None,
    batch_size: int = 250,
) -> NDArray:
    """Computes the features of a split once, and reads them from then on.

    Args:
        split: String, `"train"`, `"val"` or `"test"`.
        path: Path of the `.npy` file to keep them in. Defaults to one beside
            the world's files when `encoder` is not given either, else to
            none.

    Returns:
        Float16 array of shape `(B, P, D)`, in the order of the images.
    """
    if path is None and encoder is None:
        path = world.root / f"features_{split}.npy"

    def encode():
        network = encoder
        if network is None:
            network = pretrain_scene_encoder(world)
        images = world.images(split)
        return np.concatenate(
            [
                np.asarray(network.predict_on_batch(images[i : i + batch_size]))
                for i in range(0, len(images), batch_size)
            ]
        ).astype(np.float16)

    return cached_array(path, encode)


def cached_array(path: str | os.PathLike | None, make: Callable) -> NDArray:
    """An array that is made once, and read from a file from then on."""
    if path is None:
        return make()
    path = pathlib.Path(path)

    def keep():
        array = make()
        with whole_file(path, "w+b") as file:
            np.save(file, array)
            file.write(_digest(file, file.tell()))
        return array

    return made_once(path, _read_array, keep)


def _read_array(path):
    try:
        return _loaded_array(path)
    except Exception as error:
        if getattr(error, "errno", None) is not None:
            # The system's, not of what is in the file.
            raise
        problem = f"is no array ({error})"
        hint = "Move it elsewhere: it is made again."
        raise malformed(path, "", problem, hint) from error


def _loaded_array(path):
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    with open(path, "rb") as file:
        # Older files end with the array.
        size = array.offset + array.nbytes
        if _digest(file, size) != (file.read() or _digest(file, size)):
            raise ValueError("its checksum is that of another content")
    return array


def _digest(file, size):
    """SHA-256 of the first bytes of a file, which is then behind them."""
    file.seek(0)
    digest = hashlib.sha256()
    for start in range(0, size, 1 << 20):
        digest.update(file.read(min(1 << 20, size - start)))
    return digest.hexdigest().encode()


def _mirrored(images, targets):
    """Adds the mirror image of each: twice the scenes for nothing."""
    cells = np.arange(GRID * GRID).reshape(GRID, GRID)[:, ::-1].ravel()
    both = {
        name: np.concatenate([a, a[:, cells] if a.ndim == 2 else a])
        for name, a in targets.items()
    }
    return np.concatenate([images, images[:, :, ::-1]]), both


def _fit(encoder, images, targets, epochs, batch_size, verbose):
    pixels = keras.Input((64, 64, 3), dtype="uint8")
    # `fit()` finds losses by the names of the layers that give the outputs.
    outputs = {
        name: keras.layers.Identity(name=name)(logits)
        for name, logits in encoder(pixels, attributes=True).items()
    }
    model = keras.Model(pixels, outputs)
    crossentropy = keras.losses.SparseCategoricalCrossentropy
    # Where there is nothing, nothing is asked about its color.
    losses = {
        name: crossentropy(from_logits=True, ignore_class=0)
        for name in ("color", "size", "texture")
    }
    losses["shape"] = crossentropy(from_logits=True)
    losses["background"] = crossentropy(from_logits=True)
    steps = epochs * -(-len(images) // batch_size)
    schedule = keras.optimizers.schedules.CosineDecay(
        3e-4, steps, warmup_target=4e-3, warmup_steps=max(1, steps // 10)
    )
    model.compile(
        keras.optimizers.Adam(schedule, beta_2=0.99),
        losses,
        # Most cells are empty, so a mean over cells is small for the shape.
        loss_weights={
            "shape": 4.0,
            "color": 1.0,
            "size": 1.0,
            "texture": 1.0,
            "background": 0.3,
        },
        jit_compile=False,
    )
    model.fit(
        images, targets, batch_size=batch_size, epochs=epochs, verbose=verbose
    )


def _calibrate(encoder, images, shapes):
    """Fits `encoder.whiten` to the cells that hold something.

    Directions of the embedding that vary get one common variance, so that a
    texture weighs as much as a shape, and the mean thing becomes zero.
    """
    looks = np.concatenate(
        [
            np.asarray(encoder.perceive(images[i : i + 250])[0])
            for i in range(0, len(images), 250)
        ]
    )[shapes > 0]
    mean = looks.mean(0)
    variances, axes = np.linalg.eigh(np.cov(looks - mean, rowvar=False))
    # Below this an axis holds noise, which equal variance would blow up.
    scale = 1 / np.sqrt(np.maximum(variances, 0.05 * variances.max()))
    kernel = (axes * scale) @ axes.T
    norms = np.linalg.norm((looks - mean) @ kernel, axis=1)
    kernel *= _NORM / norms.mean()
    encoder.calibrate(kernel, -mean @ kernel)


def video_world_with_features(
    root=None,
    seed: int = 0,
    verbose=1,
    encoder: SceneEncoder | None = None,
    encoder_epochs: int = 4,
    motion: bool = True,
    **sizes,
):
    """Videos of the synthetic world, and what a trained encoder sees in them.

    The videos are drawn, and the encoder trained on the still images of the
    synthetic world, when first asked for: as published video captioners take
    a network that was trained on photographs.

    Args:
        encoder: `SceneEncoder` to take instead; its features are not kept.

    Returns:
        The `reproduce.world.VideoWorld`, and a list of the features of its
        `SPLITS`, float16 arrays of shape `(n, F, D)`.
    """
    world = load_video_world(root, seed=seed, progress=bool(verbose), **sizes)
    paths = [None] * len(SPLITS)
    if encoder is None:
        kind = f"e{encoder_epochs}" + "_motion" * motion
        paths = [world.root / f"features_{x}_{kind}.npy" for x in SPLITS]
        if not all(path.exists() for path in paths):
            stills = load_world(root, seed=seed, progress=bool(verbose))
            encoder = pretrain_scene_encoder(
                stills, epochs=encoder_epochs, verbose=verbose
            )

    def encode(split):
        return video_features(world.frames(split), encoder, motion)

    return world, [
        cached_array(path, functools.partial(encode, split))
        for split, path in zip(SPLITS, paths)
    ]


def video_features(
    frames: NDArray,
    encoder: SceneEncoder,
    motion: bool = True,
    batch_size: int = 32,
) -> NDArray:
    """Encode videos, a vector per frame.

    Args:
        frames: Uint8 array of shape `(n, F, 64, 64, 3)`.

    Returns:
        Float16 array of shape `(n, F, D)`.
    """
    features = []
    for start in range(0, len(frames), batch_size):
        some = np.asarray(frames[start : start + batch_size])
        cells = encoder.predict_on_batch(some.reshape(-1, *some.shape[2:]))
        cells = np.asarray(cells, np.float32)
        cells = cells.reshape(*some.shape[:2], *cells.shape[1:])
        features.append(pool_frames(cells, motion).astype(np.float16))
    return np.concatenate(features)


def pool_frames(cells: NDArray, motion: bool = True):
    """Pools the cells of each frame, keeping what happens.

    ```
    seen[f] = mean over cells (cells[f])
    changing[f] = mean over cells (
        norm(cells[f] - cells[f - 1]) * (cells[f] + cells[f - 1]) / 2
    )
    out[f] = concat(seen[f], seen[f] - seen[f - 1], changing[f])
    ```

    A cell's feature holds where the cell is, so `means` tells where there are
    things, and its differences where they go to; these survive a mean over
    frames, which `means` alone does not: played backwards, a video has the same
    mean. What it is that moves is lost when cells are averaged, unless those
    that change weigh more: that is `changing`.

    By ridge regression on random rectified features of the means over frames
    (2,000 videos to learn from, 500 to tell): `means` alone tells the motion
    of 19 % of videos, its differences 99 % but the shape of what moves in
    55 %, all three 99 % and 95 %. Means of each quarter or ninth of a frame
    with their differences, which are larger, tell both less often.

    Args:
        cells: Float array of shape `(n, F, P, D)`.

    Returns:
        Float array of shape `(n, F, 3 * D)`, or `(n, F, D)`.
    """
    means = cells.mean(axis=2)
    if not motion:
        return means
    before = np.concatenate([cells[:, :1], cells[:, :-1]], axis=1)
    weights = np.linalg.norm(cells - before, axis=-1, keepdims=True)
    changing = (weights * (cells + before) / 2).mean(axis=2)
    change = np.diff(means, axis=1, prepend=means[:, :1])
    return np.concatenate([means, change, changing], axis=-1)

"""What the commands that run sweeps have in common."""

import argparse

from reproduce.captioning.load_data import caption_files
from reproduce.captioning.load_data import caption_videos
from reproduce.captioning.load_data import caption_world
from tfcap.io import command
from tfcap.io import make_folder

#: How data are loaded that are not read from files, by their names.
WORLDS = {"world": caption_world, "clips": caption_videos}


def sweep_parser(prog, description, settings):
    """A parser of the options that all sweeps have.

    Args:
        prog: String, the command.
        description: String.
        settings: Dict of settings by name.

    Returns:
        `argparse.ArgumentParser`.
    """
    parser = argparse.ArgumentParser(prog=prog, description=description)
    add = parser.add_argument
    add("out", help="folder of the sweep")
    add(
        "--data",
        choices=[*WORLDS, "flickr8k", "published"],
        default="world",
        help="drawn images or clips, or files in --root with the settings for "
        "Flickr8k or the published ones",
    )
    add(
        "--root",
        help="folder of the data, one file of captions (Karpathy's "
        "dataset_*.json, Flickr's token file, or TGIF's) and one of features; "
        "or of built worlds",
    )
    add(
        "--train-split",
        metavar="SPLIT",
        help="what is learned from, such as train+restval (default train)",
    )
    add(
        "--split",
        choices=("test", "validation"),
        default="test",
        help="what is evaluated (default test)",
    )
    add(
        "--pretrained",
        metavar="FOLDER",
        help="take the speaker of maximum likelihood from another sweep or "
        "study with the same data, seeds and settings of the speaker",
    )
    add("--settings", choices=settings, help="default: those of the data")
    add("--seeds", type=list_of(int), default=[0])
    add(
        "--metrics",
        type=list_of(str),
        default=[],
        help="scores to add, such as meteor, spice",
    )
    add(
        "--evaluate-again",
        action="store_true",
        help="add scores that were not known when a point was done, by the "
        "captions and networks that are kept: nothing is trained for them",
    )
    add("--progress", action="store_true", help="bars instead of lines")
    add("--quiet", action="store_true", help="tell nothing")
    return parser


@command(ValueError)
def run_sweep(options, settings, open_sweep):
    """Loads the data and works a sweep off.

    Args:
        options: What a `sweep_parser()` has parsed.
        settings: Dict of settings by name.
        open_sweep: Function of data, settings, `verbose` and options of
            studies that returns a `reproduce.sweep.Sweep`.

    Returns:
        Integer, the exit status.
    """
    chosen = settings[options.settings or options.data]
    load = WORLDS.get(options.data, caption_files)
    told = 0 if options.quiet else 2 if options.progress else 1
    try:
        more = _loading(options)
        # Before minutes of work that a folder has to take.
        make_folder(options.out)
        data = load(chosen, options.root, **more)
        if told:
            _tell_data(data)
        sweep = open_sweep(
            data,
            chosen,
            verbose=told,
            metrics=options.metrics,
            split=options.split,
            pretrained=options.pretrained,
            evaluate_again=options.evaluate_again,
        )
        return sweep.work()
    except KeyboardInterrupt:
        print("\nStopped. What is done is kept; the same command goes on.")
        return 130


def _loading(options):
    """Options for loading the data beside the folder; checks both."""
    if options.data not in WORLDS and options.root is None:
        raise ValueError(f"--data {options.data} needs --root, a folder.")
    if options.train_split is None:
        return {}
    if options.data in WORLDS:
        raise ValueError(
            "`--train-split` must come with data in files. Received: "
            f"--train-split {options.train_split} --data {options.data}."
        )
    return {"train": options.train_split}


def _tell_data(data):
    sizes = ", ".join(
        f"{len(getattr(data, name)):,} images of {name}"
        for name in ("train", "validation", "test")
    )
    print(f"{data.name}: {sizes}", flush=True)


def list_of(kind):
    """A list with commas."""

    def read(text):
        return [kind(part) for part in text.split(",")]

    read.__name__ = f"{kind.__name__} list"
    return read

"""The command `python -m reproduce`."""

import importlib
import os
import sys
import time

from reproduce.options import adapted
from reproduce.options import asked_grid
from reproduce.options import sweep_parser
from tfcap._io import command
from tfcap._io import make_folder

#: Papers by their names on the command line, and the module of each.
PAPERS = {
    "psst": ("reproduce.psst.paper", "PSST", "a listener, trade-off curves"),
    "sle": ("reproduce.sle.paper", "SLE", "CIDEr-D, and diverse captions"),
    "spider": ("reproduce.spider.paper", "SPIDER", "metrics, word by word"),
    "wtf_rl": ("reproduce.wtf_rl.paper", "WTF_RL", "a fixed retriever"),
    "truth": (
        "reproduce.comparisons.truth.paper",
        "TRUTH",
        "truth of claims about drawn scenes",
    ),
    "all": (
        "reproduce.comparisons.all.paper",
        "ALL",
        "all of these, compared on the same axes",
    ),
}
#: What else can be run: a module with `main()`, and a line about it.
COMMANDS = {
    "visdial": (
        "reproduce.visdial",
        "train and rank the rows of visual dialog",
    ),
    "caption": ("reproduce.caption", "caption the images of a feature file"),
    "tables": ("reproduce.tables", "print a paper's tables from its results"),
    "strangers": (
        "reproduce.comparisons.strangers.command",
        "train the panel of held-out listeners",
    ),
    "judge": (
        "reproduce.comparisons.judge",
        "judge captions by a retriever that nobody trained with",
    ),
    "reader": (
        "reproduce.comparisons.reader",
        "measure whether captions answer VisDial's questions",
    ),
    "estimators": (
        "reproduce.comparisons.estimators.command",
        "measure and draw bias, variance and cost of every estimator",
    ),
    "axes": (
        "reproduce.comparisons.all.figure",
        "draw the figure of all methods",
    ),
    "coco_text": (
        "reproduce.coco_text",
        "make a data set of COCO's captions, without photographs",
    ),
    "pages": (
        "reproduce.pages",
        "write the tables of results and the numbers on pages",
    ),
    "check": (
        "reproduce.check",
        "train a row of each paper again and check its finding",
    ),
}
#: Points after which a new process replaces this one: TensorFlow never frees
#: graphs with custom gradients, up to half a gigabyte per point.
_POINTS = 10


def main(arguments: list[str] | None = None):
    """Runs the command.

    Returns:
        Integer, the exit status: 0; 1 if a point failed; 2 if an option or the
        data are invalid; 130 after Ctrl-C.
    """
    # A program that calls this is not to be replaced.
    most = _POINTS if arguments is None and os.name == "posix" else None
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return 0
    name, *rest = arguments
    if name in PAPERS:
        return sweep_main(open_paper(name), rest, most)
    if name in COMMANDS:
        return importlib.import_module(COMMANDS[name][0]).main(rest)
    known = ", ".join([*PAPERS, *COMMANDS])
    print(f"error: {name!r} must be among {known}.", file=sys.stderr)
    return 2


def open_paper(name):
    """A `reproduce.paper.Paper` by its name."""
    module, constant, _ = PAPERS[name]
    return getattr(importlib.import_module(module), constant)


def _help():
    lines = [
        "usage: python -m reproduce PAPER|COMMAND [options]",
        "",
        "Trains and evaluates the rows of a paper's tables. Each point is",
        "saved when it is done. The same command computes what is missing,",
        "and several processes may run it at once.",
        "",
        "papers that train a speaker for:",
        *(f"  {name:10} {about}" for name, (*_, about) in PAPERS.items()),
        "",
        "commands:",
        *(f"  {name:10} {about}" for name, (_, about) in COMMANDS.items()),
        "",
        "`python -m reproduce NAME --help` lists the options of each.",
    ]
    return "\n".join(lines)


@command(ValueError)
def sweep_main(paper, arguments: list[str], most: int | None = None) -> int:
    """Trains the missing points of a paper.

    Args:
        most: Integer, points after which a new process replaces this one.
            Defaults to `None`, never.
    """
    options = sweep_parser(paper).parse_args(arguments)
    # TensorFlow takes a moment: not for `--help`.
    from reproduce.captioning.load_data import WORLDS
    from reproduce.captioning.load_data import drawn_sizes
    from reproduce.captioning.load_data import load_data
    from reproduce.paper_sweep import paper_sweep

    verbose = int(not options.quiet)
    out = options.out or f"runs/{paper.name}_{options.data}"
    try:
        settings = adapted(
            _settings(paper, options), options.epochs, options.min_count
        )
        grid = asked_grid(paper, options)
        _check_metrics(options.metrics)
        drawn, sizes = options.data in WORLDS, drawn_sizes(options)
        data = load_data(
            options.data,
            settings,
            options.root,
            options.train_split,
            lambda: make_folder(out),
            options.images,
            options.limit,
            # As Keras counts: a line an epoch is 2.
            **({"verbose": 2 * verbose, **sizes} if drawn else {}),
        )
        if verbose:
            _tell_data(data)
        strangers = None
        if "strangers" in options.metrics:
            from reproduce.comparisons.strangers.command import strangers_of

            strangers = strangers_of(options.data, options, data)
        sweep = paper_sweep(
            paper,
            *(out, data, settings, grid),
            verbose=verbose,
            metrics=options.metrics,
            objects=options.objects,
            split=options.split,
            pretrained=options.pretrained,
            strangers=strangers,
            measures=strangers.wanted if strangers else (),
        )
        return _work(sweep, options.begun, most)
    except KeyboardInterrupt:
        print("\nStopped. Finished work is kept; the same command resumes.")
        return 130


def _work(sweep, begun, most):
    """Computes the missing points of a sweep, in one process or several."""
    since = time.time() if begun is None else begun
    # Workers know each other by their processes.
    most = None if os.environ.get("TF_CONFIG") else most
    status = sweep.work(most=most, begun=since)
    if status is None:
        sys.stdout.flush()
        more = [] if begun is not None else ["--begun", f"{since}"]
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:], *more])
    return status


def _check_metrics(names):
    """Rejects names of scores before anything is built or trained."""
    from reproduce.comparisons.strangers import STRANGERS
    from reproduce.experiment import TRUTH
    from tfcap.text import METRICS

    known = (*METRICS, TRUTH, STRANGERS)
    for name in names:
        if name not in known:
            raise ValueError(
                f"`--metrics` must be among {', '.join(known)}. Received: "
                f"{name!r}."
            )


def _settings(paper, options):
    """Settings of a paper, those of its data unless they are named."""
    name = options.settings or options.data
    if name not in paper.settings:
        raise ValueError(
            f"`--data` must be data that {paper.name} has settings for: "
            f"{', '.join(paper.settings)}. Received: --data {name}."
        )
    return paper.settings[name]


def _tell_data(data):
    sizes = ", ".join(
        f"{len(getattr(data, name)):,} images of {name}"
        for name in ("train", "validation", "test")
    )
    print(f"{data.name}: {sizes}", flush=True)

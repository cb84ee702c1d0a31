"""Ranks of the Visual Dialog Challenge's test split, by a saved network.

    python -m reproduce visdial ranks RUN ROW --root DIR

ranks the options of `visdial_1.0_test.json` in DIR by the networks of a row
that `python -m reproduce visdial --out RUN` trained, and writes them beside
these as the challenge's server takes them: `RUN/ROW/ranks_discriminator.json`,
`RUN/ROW/ranks_generator.json`. Image features come from DIR as in training, or
VGG-19 makes them. Exit status: 0; 2 if a file or an option is not as it
should be.
"""

import argparse
import os

from reproduce.visdial.data import challenge_data
from reproduce.visdial.experiment import load_inputs
from reproduce.visdial.rows import ROWS
from tfcap._io import command
from tfcap.data import DialogBatches
from tfcap.data import write_visdial_ranks
from tfcap.metrics import ordinal_ranks
from tfcap.training import candidate_scores
from tfcap.training import load_network

_ROLES = ("discriminator", "generator")


def write_ranks(
    networks, dialogs, features, directory, batch_size: int = 8, verbose=1
) -> list[str]:
    """Writes a file of ranks for each network, by its role.

    Args:
        networks: Dict of a row's networks by role, `"generator"` and
            `"discriminator"`.

    Raises:
        ValueError: If a dialog has no options to rank, or a score is NaN.
    """
    size, paths = min(batch_size, len(dialogs)), []
    batches = DialogBatches(dialogs, features, size, shuffle=False)
    for role, network in networks.items():
        scores = candidate_scores(network, batches, size, verbose=verbose)
        ranks = ordinal_ranks(scores, dialogs.options >= 0)
        path = os.path.join(str(directory), f"ranks_{role}.json")
        write_visdial_ranks(path, dialogs, ranks)
        paths.append(path)
    return paths


@command(ValueError, ImportError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce visdial ranks",
        description="Ranks the challenge's test split by saved networks, in "
        "the format of its server.",
    )
    add = parser.add_argument
    add("run", help="folder of the experiment, --out of its command")
    add("row", choices=ROWS, metavar="row", help="such as hciae_d_np_att")
    add("--root", required=True, help="folder of VisDial's files, features too")
    add("--vgg19-weights", help='to read images: "imagenet" or a path')
    add("--role", choices=_ROLES, help="of two learners, the one to rank by")
    add("--batch-size", type=int, default=8, help="dialogs at once")
    add("--quiet", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    if options.batch_size < 1:
        raise ValueError(
            "`--batch-size` must be at least 1. Received: "
            f"--batch-size {options.batch_size}."
        )
    inputs = load_inputs(options.run)
    networks = _networks(options)
    dialogs, features = challenge_data(
        options.root, inputs.vocabulary, options.vgg19_weights, inputs.norm
    )
    image = tuple(features.shape[1:])
    if image != inputs.image:
        raise ValueError(
            f"`--root` must hold features of the shape {inputs.image} that "
            f"{options.run} was trained with. Received: --root {options.root}, "
            f"with features of shape {image}. Give those of one backbone."
        )
    folder = os.path.join(options.run, options.row)
    verbose = 0 if options.quiet else 1
    given = networks, dialogs, features, folder
    for path in write_ranks(*given, options.batch_size, verbose):
        print(path)
    return 0


def _networks(options):
    """Networks of the row by role; at least one."""
    folder, networks = os.path.join(options.run, options.row), {}
    hint = f"Move {folder} elsewhere and train the row anew."
    for role in [options.role] if options.role else _ROLES:
        path = os.path.join(folder, f"{role}.keras")
        if os.path.exists(path):
            networks[role] = load_network(path, hint=hint)
    if not networks:
        wanted = options.role or " or ".join(_ROLES)
        raise ValueError(
            f"`run` must hold a trained {wanted} of the row. Received: "
            f"run={options.run!r}, row={options.row!r}. Train it: "
            f"python -m reproduce visdial --rows {options.row} --out "
            f"{options.run}."
        )
    return networks

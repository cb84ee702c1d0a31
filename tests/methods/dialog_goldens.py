"""Two steps of the visual dialog methods, as numbers to compare with.

`dialog_goldens.json` was printed by the rows that the methods were before they
were functions of networks, in a checkout of commit dbf8873.
"""

import json
import pathlib

import numpy as np

from tests import dialogs

STEPS = 2
#: By row: of either step the losses by name, then for each network the norm and
#: two projections of its change.
GOLDENS = json.loads(
    pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8")
)


def loud(network, seed):
    """The network with weights that make every dialog and image differ."""
    rng = np.random.default_rng(seed)
    network.set_weights(
        [0.4 * rng.normal(size=w.shape) for w in network.get_weights()]
    )
    return network


def projections(before, after):
    """Norm and two projections of a change of weights."""
    change = np.concatenate([(b - a).ravel() for a, b in zip(before, after)])
    places = np.arange(change.size)
    waves = np.cos(places), np.sin(1.3 * places)
    return [np.linalg.norm(change), *(change @ wave for wave in waves)]


def figures(model, networks, **negatives):
    """Losses, and how networks move, in steps of gradient descent.

    Args:
        model: Compiled model.
        networks: Iterable of networks.
        **negatives: Those of `tfcap.data.DialogBatches`.

    Returns:
        List of floats.
    """
    batches = dialogs.batches(4, shuffle=False, **negatives)
    found, model.run_eagerly = [], True
    for step in range(STEPS):
        before = [network.get_weights() for network in networks]
        batch = batches.batch(step)
        # Without wrong answers there are no labels.
        inputs = batch if isinstance(batch, tuple) else (batch,)
        logs = model.train_on_batch(*inputs, return_dict=True)
        found += [float(logs[name]) for name in sorted(logs)]
        for network, weights in zip(networks, before):
            found += projections(weights, network.get_weights())
    return [float(f"{value:.6g}") for value in found]

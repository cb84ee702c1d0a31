"""Two steps of the visual dialog methods, as numbers to compare with.

`dialog_goldens.json` was printed by the rows that the methods were before they
were functions of networks, in a checkout of commit dbf8873 with this file:
`PYTHONPATH=. python tests/methods/dialog_goldens.py`.
"""

import json
import pathlib

import keras
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


def _of_rows():
    """Prints the figures of the rows of commit dbf8873."""
    import dataclasses
    import tempfile

    from reproduce.visdial import rows
    from tests.reproduce.visdial import tiny_study

    rows.ClippedAdam = lambda *_, **__: keras.optimizers.SGD(0.05)
    captured = []

    def make(kind, seed):
        def made(*args, **kwargs):
            return loud(kind(*args, **kwargs), seed)

        return made

    rows.make_generator = make(rows.make_generator, 1)
    rows.make_discriminator = make(rows.make_discriminator, 2)
    norm = {"norm_penalty": 0.1}
    every = [
        ("hciae_g_mle", {}, {}),
        ("hciae_g_mle_control", {}, {}),
        ("hciae_g_dis", norm, {}),
        ("hciae_d_mle", {}, {"negatives": 4}),
        ("hciae_d_np", norm, {"negatives": 3, "in_batch_negatives": 2}),
        ("hciae_d_np_att", norm, {"negatives": 3, "in_batch_negatives": 2}),
        ("hciae_gan1", norm, {"negatives": 3}),
        ("hciae_gan2", norm, {"negatives": 3}),
    ]
    for row, changes, negatives in every:
        with tempfile.TemporaryDirectory() as folder:
            study = tiny_study.study(folder, **changes)
            batches = dialogs.batches()
            settings = dataclasses.replace(tiny_study.TINY, **changes)
            begun = {
                "hciae_g_mle": {
                    "generator": rows.make_generator("hciae", settings, batches)
                },
                "hciae_d_np_att": {
                    "discriminator": rows.make_discriminator(
                        "hciae", settings, batches
                    )
                },
            }
            study.networks = lambda row, fresh=False, begun=begun: begun[row]

            def fit(row, model, batches, epochs, **networks):
                captured.append((model, networks.values()))

            study.fit = fit
            rows.ROWS[row](study)
        model, networks = captured.pop()
        print(
            f'    "{row}": {json.dumps(figures(model, networks, **negatives))},'
        )


if __name__ == "__main__":
    _of_rows()

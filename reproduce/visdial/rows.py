"""The rows of Best of Both Worlds: dicts for `tfcap.methods`.

A row is trained by its method, on networks that are made of an `encoder`, or
`start` from those of other rows. `wrong` names the wrong answers of a batch,
`options` are further ones of the method.
"""

import keras

from reproduce.visdial.corrupted_batches import CorruptedBatches
from reproduce.visdial.networks import copy_encoder
from reproduce.visdial.networks import make_discriminator
from reproduce.visdial.networks import make_generator
from tfcap.methods import dialog_mle
from tfcap.methods import gan1
from tfcap.methods import gan2
from tfcap.methods import gdis
from tfcap.methods import n_pair
from tfcap.training import ClippedAdam

_BOTH = {"generator": "hciae_g_mle", "discriminator": "hciae_d_np_att"}
#: Spoilt copies of the human answer among the wrong ones of a question.
_CORRUPTED = 10


def _mle(encoder, about):
    return {"method": dialog_mle, "encoder": encoder, "about": about}


def _softmax(encoder, about):
    return {
        **{"method": n_pair, "encoder": encoder, "about": about},
        **{"wrong": "softmax", "attention": False, "penalty": False},
    }


def _varied(about, **options):
    """`hciae_g_dis` with one thing changed that may keep answers varied."""
    return {"method": gdis, "start": _BOTH, "about": about, "options": options}


#: Not in the paper: what keeps the answers of `hciae_g_dis` varied?
ABLATIONS = {
    "hciae_d_np_att_corrupted": {
        **{"method": n_pair, "encoder": "hciae", "wrong": "corrupted"},
        "about": f"`hciae_d_np_att` with {_CORRUPTED} spoilt copies of the "
        "human answer among the wrong ones.",
    },
    "hciae_g_dis_corrupted": {
        **_varied("`hciae_g_dis` before that discriminator."),
        "start": {**_BOTH, "discriminator": "hciae_d_np_att_corrupted"},
    },
    "hciae_g_dis_entropy": _varied(
        "`hciae_g_dis` with an entropy bonus.", entropy_weight=0.1
    ),
    "hciae_g_dis_hinge": _varied(
        "`hciae_g_dis` which gains little by scores above the human answer's.",
        pair_temperature=0.1,
    ),
}
#: Rows in the order of the paper's tables, and the ablations.
ROWS = {
    "lf_g": _mle(
        "lf", "Late fusion, generative, maximum likelihood (Table 1)."
    ),
    "hrea_g": _mle(
        "hrea",
        "Hierarchical recurrent encoder with attention, generative (Table 1).",
    ),
    "mn_g": _mle("mn", "Memory network, generative (Table 1)."),
    "hciae_g_mle": _mle(
        "hciae", "HCIAE, generative, maximum likelihood (Table 1)."
    ),
    # As many more updates of maximum likelihood as `hciae_g_dis` has, by the
    # same optimizer, tell what of the difference is the discriminator's.
    "hciae_g_mle_control": {
        "method": dialog_mle,
        "start": {"generator": "hciae_g_mle"},
        "about": "Not in the paper: `hciae_g_dis` without the discriminator.",
    },
    "hciae_g_dis": {
        "method": gdis,
        "start": _BOTH,
        "about": "HCIAE, trained through the discriminator's eyes (Tables 1, "
        "3 and 4).",
    },
    "lf_d": _softmax("lf", "Late fusion, discriminative (Table 2)."),
    "hrea_d": _softmax(
        "hrea", "Hierarchical recurrent encoder, discriminative (Table 2)."
    ),
    "mn_d": _softmax("mn", "Memory network, discriminative (Table 2)."),
    "hciae_d_mle": _softmax(
        "hciae", "HCIAE, softmax over a question's own options (Table 2)."
    ),
    "hciae_d_np": {
        **{"method": n_pair, "encoder": "hciae", "wrong": "n_pair"},
        "attention": False,
        "about": "HCIAE, N-pair loss (Table 2).",
    },
    "hciae_d_np_att": {
        **{"method": n_pair, "encoder": "hciae", "wrong": "n_pair"},
        "about": "HCIAE, N-pair loss, self-attentive answers (Tables 2 and 4).",
    },
    "hciae_gan1": {
        **{"method": gan1, "start": _BOTH, "wrong": "own"},
        "about": "Both learners go on learning, the discriminator to undo G "
        "(Table 4).",
    },
    "hciae_gan2": {
        **{"method": gan2, "start": _BOTH, "wrong": "own"},
        "about": "Both go on learning, the discriminator to rank (Table 4).",
    },
    **ABLATIONS,
}

#: Networks that learn by a method.
_LEARNING = {
    dialog_mle: ("generator",),
    gdis: ("generator",),
    n_pair: ("discriminator",),
    gan1: ("generator", "discriminator"),
    gan2: ("generator", "discriminator"),
}


def needed(row: str, settings) -> tuple[str, ...]:
    """Rows that a row starts from, to be trained before it."""
    if "start" in ROWS[row]:
        return tuple(ROWS[row]["start"].values())
    if ROWS[row]["method"] is n_pair and settings.warm_discriminator:
        encoder = ROWS[row]["encoder"]
        return ("hciae_g_mle" if encoder == "hciae" else f"{encoder}_g",)
    return ()


def train(experiment, row: str):
    """Trains a row by its method and the settings of an experiment."""
    method = ROWS[row]["method"]
    batches = _batches(experiment, ROWS[row])
    networks = _networks(experiment, row, batches)
    numbers = _numbers(experiment, method)
    numbers.update(ROWS[row].get("options", {}))
    model = method(*networks.values(), **numbers)
    stage = "transfer" if "start" in ROWS[row] else _LEARNING[method][0]
    epochs = getattr(experiment.settings, f"{stage}_epochs")
    steps = epochs * batches.steps_per_epoch
    optimizers = {
        role: _adam(experiment.settings, stage, steps)
        for role in _LEARNING[method]
    }
    if len(optimizers) == 1:
        (optimizers,) = optimizers.values()
    model.compile(optimizers)
    learned = {role: networks[role] for role in _LEARNING[method]}
    return experiment.fit(row, model, batches, epochs, **learned)


def _batches(experiment, config):
    settings, size = experiment.settings, experiment.settings.batch_size
    if "start" in config or config["method"] is n_pair:
        size = settings.discriminator_batch_size or size
    n_pairs = {
        "negatives": settings.negatives,
        "in_batch_negatives": settings.in_batch_negatives,
        "corrupted_negatives": settings.corrupted_negatives,
    }
    wrong = {
        None: {},
        "softmax": {"negatives": settings.softmax_negatives},
        "own": {"negatives": settings.negatives},
        "n_pair": n_pairs,
        "corrupted": {**n_pairs, "corrupted_negatives": _CORRUPTED},
    }[config.get("wrong")]
    data = experiment.data
    size = min(size, len(data.train))
    return CorruptedBatches(
        data.train, data.train_features, size, seed=experiment.seed, **wrong
    )


def _networks(experiment, row, batches):
    """Networks of a row by role, in the order of its method's arguments."""
    config, settings = ROWS[row], experiment.settings
    if "start" in config:
        # What does not learn is taken as it is, what does is a copy.
        learning = _LEARNING[config["method"]]
        return {
            role: experiment.networks(other, fresh=role in learning)[role]
            for role, other in config["start"].items()
        }
    if config["method"] is dialog_mle:
        generator = make_generator(config["encoder"], settings, batches)
        return {"generator": generator}
    discriminator = make_discriminator(
        config["encoder"],
        settings,
        batches,
        attention=config.get("attention", True),
        penalty=config.get("penalty", True),
    )
    for other in needed(row, settings):
        copy_encoder(experiment.networks(other)["generator"], discriminator)
    return {"discriminator": discriminator}


def _numbers(experiment, method):
    """Numbers and options of a method, from an experiment's settings."""
    settings = experiment.settings
    if method is n_pair:
        return {}
    numbers = {
        "normalize": settings.mle_normalize,
        "global_clipnorm": settings.global_clipnorm,
    }
    if method is dialog_mle:
        return numbers
    return {
        **numbers,
        "temperature": settings.temperature,
        "mle_weight": settings.mle_weight,
        "max_length": experiment.data.train.answers.shape[1],
        "seed": experiment.seed,
    }


def _adam(settings, stage, steps):
    """The optimizer of a stage, its rate as it decays in a number of steps."""
    rate, options = settings.learning_rate, {}
    if stage == "discriminator":
        rate = settings.discriminator_learning_rate or rate
        options = {"global_clipnorm": settings.global_clipnorm}
    elif stage == "transfer":
        rate = settings.transfer_learning_rate
        options = {"beta_1": settings.transfer_beta_1}
    if settings.final_rate != 1.0:
        rate = keras.optimizers.schedules.PolynomialDecay(
            rate, steps, rate * settings.final_rate
        )
    return ClippedAdam(rate, **options)

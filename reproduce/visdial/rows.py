"""The rows of Best of Both Worlds: dicts for `tfcap.methods`.

A row is trained by its method, on new networks with an `encoder`, or on those
of the rows in `start`. `wrong` names the wrong answers of a batch, `network`
has options of a new network, and `options` those of the method.
"""

import keras
import numpy as np

from reproduce.visdial.corrupted_batches import CorruptedBatches
from tfcap.layers import AnswerEncoder
from tfcap.layers import HCIAEEncoder
from tfcap.layers import HREAEncoder
from tfcap.layers import LateFusionEncoder
from tfcap.layers import MemoryNetworkEncoder
from tfcap.losses import EmbeddingNorm
from tfcap.methods import dialog_mle
from tfcap.methods import gan1
from tfcap.methods import gan2
from tfcap.methods import gdis
from tfcap.methods import n_pair
from tfcap.models import DialogDiscriminator
from tfcap.models import DialogGenerator
from tfcap.training import ClippedAdam

#: The encoders of the paper's rows, by the names that the rows begin with.
ENCODERS = {
    "lf": LateFusionEncoder,
    "hrea": HREAEncoder,
    "mn": MemoryNetworkEncoder,
    "hciae": HCIAEEncoder,
}
_BOTH = {"generator": "hciae_g_mle", "discriminator": "hciae_d_np_att"}
_SOFTMAX = {
    "method": n_pair,
    "wrong": "softmax",
    "network": {"attention": False, "penalty": False},
}
_NP_ATT = {"method": n_pair, "encoder": "hciae", "wrong": "n_pair"}
_G_DIS = {"method": gdis, "start": _BOTH}

#: Not in the paper: does any of these keep answers of `hciae_g_dis` diverse?
ABLATIONS = {
    # Corrupted copies of the human answer are among the wrong ones.
    "hciae_d_np_att_corrupted": {**_NP_ATT, "wrong": "corrupted"},
    "hciae_g_dis_corrupted": {
        "method": gdis,
        "start": {**_BOTH, "discriminator": "hciae_d_np_att_corrupted"},
    },
    "hciae_g_dis_entropy": {**_G_DIS, "options": {"entropy_weight": 0.1}},
    # Scores above that of the human answer are rewarded little.
    "hciae_g_dis_hinge": {**_G_DIS, "options": {"pair_temperature": 0.1}},
}
#: Rows in the order of the paper's tables, and the ablations.
ROWS = {
    # Table 1: generative.
    "lf_g": {"method": dialog_mle, "encoder": "lf"},
    "hrea_g": {"method": dialog_mle, "encoder": "hrea"},
    "mn_g": {"method": dialog_mle, "encoder": "mn"},
    "hciae_g_mle": {"method": dialog_mle, "encoder": "hciae"},
    # Not in the paper: as many further updates as `hciae_g_dis`, of maximum
    # likelihood and by the same optimizer. The rest of the difference is due
    # to the discriminator.
    "hciae_g_mle_control": {
        "method": dialog_mle,
        "start": {"generator": "hciae_g_mle"},
    },
    # Tables 3 and 4, too.
    "hciae_g_dis": _G_DIS,
    # Table 2: discriminative.
    "lf_d": {**_SOFTMAX, "encoder": "lf"},
    "hrea_d": {**_SOFTMAX, "encoder": "hrea"},
    "mn_d": {**_SOFTMAX, "encoder": "mn"},
    "hciae_d_mle": {**_SOFTMAX, "encoder": "hciae"},
    "hciae_d_np": {**_NP_ATT, "network": {"attention": False}},
    "hciae_d_np_att": _NP_ATT,
    # Table 4: the discriminator is trained, too, against G or to rank.
    "hciae_gan1": {"method": gan1, "start": _BOTH, "wrong": "own"},
    "hciae_gan2": {"method": gan2, "start": _BOTH, "wrong": "own"},
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
    """Rows that a row starts from, which are trained before it."""
    if "start" in ROWS[row]:
        return tuple(ROWS[row]["start"].values())
    if ROWS[row]["method"] is n_pair and settings.warm_discriminator:
        encoder = ROWS[row]["encoder"]
        return ("hciae_g_mle" if encoder == "hciae" else f"{encoder}_g",)
    return ()


def train(experiment, row: str):
    """Trains a row by its method and the settings of an experiment."""
    method, settings = ROWS[row]["method"], experiment.settings
    batches = _batches(experiment, ROWS[row])
    networks = _networks(experiment, row, batches)
    options = dict(ROWS[row].get("options", {}))
    if "discriminator" in networks and "generator" in networks:
        options |= {
            "temperature": settings.temperature,
            "max_length": experiment.data.train.answers.shape[1],
            "seed": experiment.seed,
        }
    model = method(*networks.values(), **options)
    learned = {role: networks[role] for role in _LEARNING[method]}
    stage = "transfer" if "start" in ROWS[row] else next(iter(learned))
    epochs = getattr(settings, f"{stage}_epochs")
    steps = epochs * batches.steps_per_epoch
    optimizers = {role: _adam(settings, stage, steps) for role in learned}
    model.compile(optimizers if len(learned) > 1 else optimizers.popitem()[1])
    return experiment.fit(row, model, batches, epochs, **learned)


def _batches(experiment, config):
    settings, size = experiment.settings, experiment.settings.batch_size
    if "start" in config or config["method"] is n_pair:
        size = settings.discriminator_batch_size or size
    n_pairs = {
        "negatives": settings.negatives,
        "in_batch_negatives": settings.in_batch_negatives,
    }
    wrong = {
        None: {},
        "softmax": {"negatives": settings.softmax_negatives},
        "own": {"negatives": settings.negatives},
        "n_pair": n_pairs,
        "corrupted": {**n_pairs, "corrupted_negatives": 10},
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
        # Networks that are trained are copies.
        learning = _LEARNING[config["method"]]
        return {
            role: experiment.networks(other, fresh=role in learning)[role]
            for role, other in config["start"].items()
        }
    (role,) = _LEARNING[config["method"]]
    make = make_generator if role == "generator" else make_discriminator
    options = config.get("network", {})
    network = make(config["encoder"], settings, batches, **options)
    for other in needed(row, settings):
        source = experiment.networks(other)["generator"]
        network.embedding.set_weights(source.embedding.get_weights())
        network.encoder.set_weights(source.encoder.get_weights())
    return {role: network}


def make_generator(encoder: str, settings, batches) -> DialogGenerator:
    """Builds a generator.

    Args:
        batches: `tfcap.data.DialogBatches`, for vocabulary and shapes.
    """
    generator = DialogGenerator(
        batches.dialogs.vocabulary.size,
        _encoder(encoder, settings, return_state=True),
        embedding_units=settings.embedding_units,
        dropout=settings.dropout,
        logit_scale=settings.logit_scale,
        embeddings_initializer=_embeddings(settings),
    )
    generator(batches.inputs(np.arange(1)))
    return generator


def make_discriminator(
    encoder, settings, batches, attention: bool = True, penalty: bool = True
) -> DialogDiscriminator:
    """Builds a discriminator."""
    norm = EmbeddingNorm(settings.norm_penalty, settings.norm_convention)
    discriminator = DialogDiscriminator(
        batches.dialogs.vocabulary.size,
        _encoder(encoder, settings, return_state=False),
        AnswerEncoder(
            settings.units,
            output_units=settings.embedding_units,
            attention=attention,
            dropout=settings.dropout,
        ),
        embedding_units=settings.embedding_units,
        norm_regularizer=norm if penalty else None,
        embeddings_initializer=_embeddings(settings),
    )
    inputs = batches.inputs(np.arange(1))
    discriminator({**inputs, "options": inputs["answer"][:, :, None]})
    return discriminator


def _encoder(name, settings, return_state):
    options = {}
    if name in ("hrea", "hciae"):
        options["query_initializer"] = keras.initializers.VarianceScaling(
            settings.query_gain**2, "fan_avg", "uniform"
        )
    return ENCODERS[name](
        settings.units,
        output_units=settings.embedding_units,
        dropout=settings.dropout,
        return_state=return_state,
        name=f"{name}_encoder",
        **options,
    )


def _embeddings(settings):
    return keras.initializers.RandomNormal(stddev=settings.embedding_stddev)


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

"""Best of Both Worlds (Lu et al., NIPS 2017): one function a published row.

Each takes a `DialogStudy`, which holds the data and the settings and knows
where a run is kept, and returns the trained networks of the row by role.
Rows that start from other rows ask the study for them.
"""

import keras

from reproduce.visdial.networks import copy_encoder
from reproduce.visdial.networks import make_discriminator
from reproduce.visdial.networks import make_generator
from reproduce.visdial.players import rank_with_fakes
from tfcap.data import DialogBatches
from tfcap.decoding import Sample
from tfcap.layers import GumbelSoftmaxST
from tfcap.losses import NPairLoss
from tfcap.objectives import Pathwise
from tfcap.objectives import Supervised
from tfcap.objectives import TeacherForcing
from tfcap.rewards import DialogScore
from tfcap.training import ClippedAdam
from tfcap.training import Game
from tfcap.training import ObjectiveModel
from tfcap.training import Player


def lf_g(study):
    """Late fusion, generative, maximum likelihood (Table 1)."""
    return _likelihood(study, "lf_g", "lf")


def hrea_g(study):
    """Hierarchical recurrent encoder with attention, generative (Table 1)."""
    return _likelihood(study, "hrea_g", "hrea")


def mn_g(study):
    """Memory network, generative (Table 1)."""
    return _likelihood(study, "mn_g", "mn")


def hciae_g_mle(study):
    """HCIAE, generative, maximum likelihood (Table 1)."""
    return _likelihood(study, "hciae_g_mle", "hciae")


def hciae_g_dis(study):
    """HCIAE, trained through the discriminator's eyes (Tables 1, 3 and 4).

    From `hciae_g_mle`, with `hciae_d_np_att` as it is: the 1-pair loss of
    Gumbel-softmax samples, plus teacher forcing.
    """
    settings = study.settings
    discriminator = study.networks("hciae_d_np_att")["discriminator"]
    discriminator.trainable = False
    objective = Pathwise(
        DialogScore(discriminator), _samples(study)
    ) + settings.mle_weight * TeacherForcing(settings.mle_normalize)
    return _transfer(study, "hciae_g_dis", objective, discriminator)


def hciae_g_mle_control(study):
    """Not in the paper: `hciae_g_dis` without the discriminator.

    As many more updates of maximum likelihood, by the same optimizer, tell
    what of the difference is the discriminator's.
    """
    objective = TeacherForcing(study.settings.mle_normalize)
    return _transfer(study, "hciae_g_mle_control", objective)


def lf_d(study):
    """Late fusion, discriminative (Table 2)."""
    return _softmax(study, "lf_d", "lf")


def hrea_d(study):
    """Hierarchical recurrent encoder, discriminative (Table 2)."""
    return _softmax(study, "hrea_d", "hrea")


def mn_d(study):
    """Memory network, discriminative (Table 2)."""
    return _softmax(study, "mn_d", "mn")


def hciae_d_mle(study):
    """HCIAE, softmax over a question's own options (Table 2)."""
    return _softmax(study, "hciae_d_mle", "hciae")


def hciae_d_np(study):
    """HCIAE, N-pair loss (Table 2)."""
    return _n_pair(study, "hciae_d_np", attention=False)


def hciae_d_np_att(study):
    """HCIAE, N-pair loss, self-attentive answers (Tables 2 and 4)."""
    return _n_pair(study, "hciae_d_np_att", attention=True)


def hciae_gan1(study):
    """Both players go on learning, the discriminator to undo G (Table 4).

    L_D = -L_G: it sees two answers only, the truth and the sample.
    """
    samples = _samples(study)

    def against(discriminator):
        return -1.0 * Pathwise(
            DialogScore(discriminator, learning=True), samples, name="undo"
        )

    return _game(study, "hciae_gan1", samples, against)


def hciae_gan2(study):
    """Both go on learning, the discriminator to rank (Table 4).

    It keeps its wrong options, and the samples join them.
    """
    samples = _samples(study)

    def against(discriminator):
        return Supervised(
            rank_with_fakes(discriminator, samples), "n_pair", (samples,)
        )

    return _game(study, "hciae_gan2", samples, against)


def _samples(study):
    settings = study.settings
    return Sample(
        GumbelSoftmaxST(settings.temperature, seed=study.seed),
        max_length=study.data.train.answers.shape[1],
    )


def _batches(study, size=None, **negatives):
    data, settings = study.data, study.settings
    return DialogBatches(
        data.train,
        data.train_features,
        size or settings.batch_size,
        seed=study.seed,
        **negatives,
    )


def _judged_batches(study, **negatives):
    """Batches of what a discriminator takes part in, and of its control."""
    return _batches(study, study.settings.discriminator_batch_size, **negatives)


def _adam(study, rate, epochs, batches, beta_1=0.9, clipnorm=None):
    final = study.settings.final_rate
    if final != 1.0:
        rate = keras.optimizers.schedules.PolynomialDecay(
            rate, epochs * batches.steps_per_epoch, rate * final
        )
    return ClippedAdam(rate, beta_1=beta_1, global_clipnorm=clipnorm)


def _likelihood(study, row, encoder):
    settings, batches = study.settings, _batches(study)
    generator = make_generator(encoder, settings, batches)
    model = ObjectiveModel(
        TeacherForcing(settings.mle_normalize),
        generator,
        global_clipnorm=settings.global_clipnorm,
    )
    epochs = settings.generator_epochs
    model.compile(_adam(study, settings.learning_rate, epochs, batches))
    return study.fit(row, model, batches, epochs, generator=generator)


def _softmax(study, row, encoder):
    batches = _judged_batches(study, negatives=study.settings.softmax_negatives)
    return _discriminate(study, row, encoder, batches, False, False)


def _n_pair(study, row, attention):
    settings = study.settings
    batches = _judged_batches(
        study,
        negatives=settings.negatives,
        in_batch_negatives=settings.in_batch_negatives,
        corrupted_negatives=settings.corrupted_negatives,
    )
    return _discriminate(study, row, "hciae", batches, attention, True)


def _discriminate(study, row, encoder, batches, attention, penalty):
    settings = study.settings
    network = make_discriminator(
        encoder, settings, batches, attention=attention, penalty=penalty
    )
    if settings.warm_discriminator:
        (generator,) = needed(row, settings)
        copy_encoder(study.networks(generator)["generator"], network)
    epochs = settings.discriminator_epochs
    rate = settings.discriminator_learning_rate or settings.learning_rate
    optimizer = _adam(
        study, rate, epochs, batches, clipnorm=settings.global_clipnorm
    )
    network.compile(optimizer, loss=NPairLoss(), jit_compile=False)
    return study.fit(row, network, batches, epochs, discriminator=network)


def _transfer_adam(study, batches):
    settings = study.settings
    return _adam(
        study,
        settings.transfer_learning_rate,
        settings.transfer_epochs,
        batches,
        settings.transfer_beta_1,
    )


def _transfer(study, row, objective, discriminator=None):
    settings, batches = study.settings, _judged_batches(study)
    generator = study.networks("hciae_g_mle", fresh=True)["generator"]
    model = ObjectiveModel(
        objective,
        generator,
        {} if discriminator is None else {"discriminator": discriminator},
        global_clipnorm=settings.global_clipnorm,
    )
    model.compile(_transfer_adam(study, batches))
    epochs = settings.transfer_epochs
    return study.fit(row, model, batches, epochs, generator=generator)


def _game(study, row, samples, against):
    settings = study.settings
    batches = _judged_batches(study, negatives=settings.negatives)
    generator = study.networks("hciae_g_mle", fresh=True)["generator"]
    discriminator = study.networks("hciae_d_np_att", fresh=True)[
        "discriminator"
    ]
    discriminator.trainable = True
    objective = Pathwise(
        DialogScore(discriminator), samples
    ) + settings.mle_weight * TeacherForcing(settings.mle_normalize)
    clipnorm = settings.global_clipnorm
    players = {
        "generator": Player(generator, objective, clipnorm),
        "discriminator": Player(
            discriminator, against(discriminator), clipnorm
        ),
    }
    model = Game(generator, players)
    model.compile({name: _transfer_adam(study, batches) for name in players})
    return study.fit(
        row,
        model,
        batches,
        settings.transfer_epochs,
        generator=generator,
        discriminator=discriminator,
    )


#: Rows in the order of the paper's tables.
ROWS = {
    function.__name__: function
    for function in (
        lf_g,
        hrea_g,
        mn_g,
        hciae_g_mle,
        hciae_g_mle_control,
        hciae_g_dis,
        lf_d,
        hrea_d,
        mn_d,
        hciae_d_mle,
        hciae_d_np,
        hciae_d_np_att,
        hciae_gan1,
        hciae_gan2,
    )
}


def needed(row, settings):
    """Rows that a row starts from, to be trained before it.

    Args:
        row: String, key of `ROWS`.
        settings: `DialogSettings`.

    Returns:
        Tuple of strings.
    """
    if row in ("hciae_g_dis", "hciae_gan1", "hciae_gan2"):
        return ("hciae_g_mle", "hciae_d_np_att")
    if row == "hciae_g_mle_control":
        return ("hciae_g_mle",)
    encoder, player = row.split("_")[:2]
    if player == "d" and settings.warm_discriminator:
        return ("hciae_g_mle" if encoder == "hciae" else f"{encoder}_g",)
    return ()

"""Hyper-parameters of the visual dialog rows."""

from dataclasses import dataclass
from dataclasses import replace


@dataclass(frozen=True)
class DialogSettings:
    """Hyper-parameters of one visual dialog study; defaults as published.

    Args:
        units: Integer, size of every LSTM's state.
        embedding_units: Integer, size of word and answer embeddings.
        embedding_stddev: Float, standard deviation of the embeddings at the
            start.
        query_gain: Float, factor on what projects the query of an additive
            attention, at the start.
        dropout: Float, rate within encoders and before the vocabulary head.
        logit_scale: Float, factor on the generator's logits.
        batch_size: Integer, dialogs in a batch, of ten questions each.
        discriminator_batch_size: Integer, the same wherever a discriminator
            takes part, or `None` for `batch_size`.
        learning_rate: Float, of pretraining.
        discriminator_learning_rate: Float, or `None` for `learning_rate`.
        final_rate: Float, share of the learning rate that is left at the end
            of a linear decay; 1 keeps it constant.
        global_clipnorm: Float or `None`.
        generator_epochs: Integer.
        discriminator_epochs: Integer.
        warm_discriminator: Boolean, whether a discriminator's encoder starts
            from that of the generator of the same encoder.
        softmax_negatives: Integer, wrong options of the softmax rows.
        negatives: Integer, wrong options drawn from a question's own list.
        in_batch_negatives: Integer, answers drawn from other questions.
        corrupted_negatives: Integer, spoilt copies of the truth.
        norm_penalty: Float, factor on the norms of embeddings.
        norm_convention: `"frobenius"` as in the released code, or `"squared"`.
        transfer_epochs: Integer, epochs of training through a discriminator.
        transfer_learning_rate: Float.
        transfer_beta_1: Float, Adam's first decay rate in these epochs.
        temperature: Float, of the Gumbel-softmax.
        mle_weight: Float, weight of teacher forcing beside it.
        mle_normalize: `"sequence"` sums the log likelihood over an answer's
            words, `"token"` averages it.
        evaluation_batch_size: Integer, dialogs ranked at once.
    """

    units: int = 512
    embedding_units: int = 300
    embedding_stddev: float = 0.05
    query_gain: float = 1.0
    dropout: float = 0.5
    logit_scale: float = 3.0
    batch_size: int = 10
    discriminator_batch_size: int | None = None
    learning_rate: float = 4e-4
    discriminator_learning_rate: float | None = None
    final_rate: float = 1.0
    global_clipnorm: float | None = None
    generator_epochs: int = 20
    discriminator_epochs: int = 30
    warm_discriminator: bool = False
    softmax_negatives: int = 99
    negatives: int = 20
    in_batch_negatives: int = 30
    corrupted_negatives: int = 0
    norm_penalty: float = 0.1
    norm_convention: str = "frobenius"
    transfer_epochs: int = 20
    transfer_learning_rate: float = 5e-5
    transfer_beta_1: float = 0.5
    temperature: float = 0.5
    mle_weight: float = 0.5
    mle_normalize: str = "sequence"
    evaluation_batch_size: int = 8


#: The paper's and, where it is silent, the released code's settings, for
#: VisDial with VGG-19 features. The batch holds 100 questions.
PUBLISHED = DialogSettings()

#: Scaled down for the embedded world, as long as it takes to learn what is in
#: an image, for the figures in PAPERS.md: attention finds the things that are
#: asked about after some seven epochs.
WORLD_LONG = DialogSettings(
    units=128,
    embedding_units=96,
    embedding_stddev=1.0,
    query_gain=3.0,
    dropout=0.05,
    batch_size=16,
    learning_rate=1.5e-3,
    discriminator_learning_rate=1e-3,
    final_rate=0.1,
    global_clipnorm=5.0,
    generator_epochs=12,
    discriminator_epochs=2,
    warm_discriminator=True,
    softmax_negatives=30,
    negatives=15,
    in_batch_negatives=30,
    norm_penalty=1e-3,
    norm_convention="squared",
    transfer_epochs=2,
    transfer_learning_rate=2e-4,
    evaluation_batch_size=16,
)

#: All rows on two CPU cores in a quarter of an hour: to see everything work,
#: not for the generators to learn to look.
WORLD = replace(
    WORLD_LONG,
    generator_epochs=2,
    discriminator_epochs=1,
    softmax_negatives=10,
    negatives=5,
    in_batch_negatives=10,
    transfer_epochs=1,
)

#: For a few thousand real dialogs.
SMALL_REAL = replace(
    WORLD_LONG,
    embedding_stddev=0.5,
    query_gain=1.0,
    dropout=0.3,
    batch_size=8,
    discriminator_batch_size=16,
    learning_rate=3e-3,
    discriminator_learning_rate=2e-3,
    final_rate=0.05,
    generator_epochs=6,
    discriminator_epochs=4,
    transfer_epochs=1,
)

#: One short epoch of everything: to see it run, not to learn.
QUICK = replace(
    WORLD,
    units=32,
    embedding_units=32,
    batch_size=10,
    generator_epochs=1,
    softmax_negatives=5,
    negatives=5,
    in_batch_negatives=5,
)

#: Settings by name.
SETTINGS = {
    "published": PUBLISHED,
    "world": WORLD,
    "world_long": WORLD_LONG,
    "small_real": SMALL_REAL,
    "quick": QUICK,
}

"""Hyperparameters of the visual dialog rows."""

from dataclasses import dataclass
from dataclasses import replace


@dataclass(frozen=True)
class DialogSettings:
    """Hyperparameters of one visual dialog experiment; as published.

    Rates, epochs and batch sizes are of three stages: a generator and a
    discriminator alone, and the transfer from one to the other.
    """

    units: int = 512  # of every LSTM
    embedding_units: int = 300  # of words and answers
    embedding_stddev: float = 0.05  # at the start
    query_gain: float = 1.0  # on an additive attention's query, at the start
    dropout: float = 0.5  # within encoders and before the vocabulary head
    logit_scale: float = 3.0  # of the generator
    batch_size: int = 10  # dialogs, of ten questions each
    #: Wherever a discriminator takes part; `None` for `batch_size`.
    discriminator_batch_size: int | None = None
    learning_rate: float = 4e-4
    discriminator_learning_rate: float | None = None  # or `learning_rate`
    final_rate: float = 1.0  # share that a linear decay leaves at the end
    global_clipnorm: float | None = None
    generator_epochs: int = 20
    discriminator_epochs: int = 30
    #: Its encoder starts from that of the generator with the same encoder.
    warm_discriminator: bool = False
    softmax_negatives: int = 99  # wrong options of the softmax rows
    negatives: int = 20  # wrong options, of a question's own list
    in_batch_negatives: int = 30  # answers to other questions
    norm_penalty: float = 0.1  # on the norms of embeddings
    norm_convention: str = "frobenius"  # as in the released code, or "squared"
    transfer_epochs: int = 20
    transfer_learning_rate: float = 5e-5
    transfer_beta_1: float = 0.5  # Adam's first decay rate
    temperature: float = 0.5  # of the Gumbel-softmax
    evaluation_batch_size: int = 8  # dialogs


#: The paper's and, where it is silent, the released code's settings, for
#: VisDial with VGG-19 features. The batch holds 100 questions.
PUBLISHED = DialogSettings()

#: Scaled down for the synthetic world, for the tables in README.md: attention
#: finds the objects that are asked about after some seven epochs.
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

#: Shorter, for comparing the truth, length and diversity of answers.
WORLD_TRUTH = replace(
    WORLD_LONG,
    generator_epochs=10,
    discriminator_epochs=1,
    in_batch_negatives=15,
    transfer_epochs=1,
)

#: All rows on two CPU cores in a quarter of an hour: too short for the
#: generators to learn to use the image.
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

#: One short epoch of everything, to see it run.
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
    "world_truth": WORLD_TRUTH,
    "small_real": SMALL_REAL,
    "quick": QUICK,
}

"""Methods for dialog generators and discriminators, of Lu et al."""

import dataclasses
from typing import Any

import keras

from tfcap.decoding import Sample
from tfcap.decoding import Speaker
from tfcap.layers import GumbelSoftmaxST
from tfcap.losses import NPairLoss
from tfcap.methods.cooperative import through_words
from tfcap.methods.options import TrainingOptions
from tfcap.methods.options import takes
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.discriminator_loss import rank_with_fakes
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import DialogScore
from tfcap.rewards import Surprisal
from tfcap.rewards.reward import check_methods
from tfcap.training import JointTraining
from tfcap.training.refusals import check_built
from tfcap.training.refusals import refusal_to_save


@dataclasses.dataclass
class AdversarialOptions(TrainingOptions):
    """Options of methods that sample answers.

    Args:
        temperature: Float, of the Gumbel-softmax, or a schedule as in
            `psst()`.
        mle_weight: Float, weight of teacher forcing; 0.5 in the released code.
        normalize: As in `dialog_mle()`.
        max_length: Integer, maximum number of words of a sampled answer, with
            its end.
        seed: Integer or `None`, of the Gumbel noise.
    """

    temperature: Any = 0.5
    mle_weight: float = 0.5
    normalize: str = "sequence"
    max_length: int = 9
    seed: int | None = None

    def sampled(self) -> Sample:
        """Returns a decoder of one straight-through answer."""
        channel = GumbelSoftmaxST(self.temperature, seed=self.seed)
        return Sample(channel, 1, self.max_length)

    def with_answers(self, term: Any) -> Any:
        """Returns an objective plus the likelihood of human answers."""
        return term + self.mle_weight * TeacherForcing(self.normalize)


@takes(TrainingOptions)
def dialog_mle(
    generator: Speaker, *, normalize: str = "sequence", **options: Any
) -> JointTraining:
    """Trains a generator on the human answers: LF-G, HREA-G, MN-G, HCIAE-G-MLE.

    ```
    loss = -sum_t log p(a_t | a_<t, e)
    ```

    with `e` the generator's encoding of question, history and image. The rows
    of Table 1 differ only in the encoder: `tfcap.layers.LateFusionEncoder`,
    `HREAEncoder`, `MemoryNetworkEncoder`, `HCIAEEncoder`.

    Args:
        generator: `tfcap.decoding.Speaker` that is a built `keras.Model`, such
            as `tfcap.models.DialogGenerator`.
        normalize: `"sequence"` sums over the words of an answer, `"token"`
            averages.
        **options: `global_clipnorm`, see `tfcap.methods`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ... }
    >>> _ = generator(batch)
    >>> training = tfcap.methods.dialog_mle(generator)
    >>> training.compile(keras.optimizers.Adam(4e-4))
    >>> sorted(training.train_on_batch(batch, return_dict=True))
    ['loss', 'teacher_forcing']

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, equation 2 and Table 1
    """
    given = TrainingOptions.read(dialog_mle, generator, options, "generator")
    return given.training(TeacherForcing(normalize))


@takes(AdversarialOptions)
def gdis(
    generator: Speaker,
    discriminator: keras.Model,
    *,
    termination: str = "sampled",
    pair_temperature: float = 1.0,
    entropy_weight: float = 0.0,
    **options: Any,
) -> JointTraining:
    """Transfers a discriminator's knowledge to a generator: G-DIS.

    ```
    loss = log(1 + exp(e . f(answer) - e . f(sample)))
           + mle_weight * (-sum_t log p(a_t | a_<t, e))
    ```

    with `sample` the generator's Gumbel-softmax straight-through answer, `e`
    the discriminator's encoding of the question and `f` of an answer. The
    gradient reaches the generator through the words of the sample. In the
    paper, the generator is first trained by `dialog_mle()` and the
    discriminator, which has self-attention, by `n_pair()`.

    Args:
        generator: `tfcap.decoding.Speaker` that is a built `keras.Model`.
        discriminator: Built `keras.Model` with `encode()` and `embed()`, see
            `tfcap.rewards.DialogScore`. Its `trainable` is set to `False`.
        temperature: Float, of the Gumbel-softmax, or a schedule as in
            `psst()`.
        mle_weight: Float, weight of teacher forcing; 0.5 in the released code.
        normalize: As in `dialog_mle()`.
        max_length: Integer, maximum number of words of a sampled answer, with
            its end.
        seed: Integer or `None`, of the Gumbel noise.
        termination: As in `tfcap.methods.psst()`.
        pair_temperature: Float, the temperature of `tfcap.rewards.DialogScore`.
            Not in the paper.
        entropy_weight: Float, weight of the entropy of the sample's words, in
            nats, which is subtracted from the loss. Not in the paper.
        **options: `global_clipnorm`, see `tfcap.methods`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50,
    ...     tfcap.layers.LateFusionEncoder(8),
    ...     tfcap.layers.AnswerEncoder(8),
    ... )
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ...     "options": np.array([[[[5, 2], [6, 2]]]]),
    ... }
    >>> _ = generator(batch), discriminator(batch)
    >>> training = tfcap.methods.gdis(generator, discriminator, max_length=3)
    >>> training.compile(keras.optimizers.Adam(5e-5, beta_1=0.5))
    >>> sorted(training.train_on_batch(batch, return_dict=True))
    ['dialog_score', 'loss', 'teacher_forcing']

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.3, equation 5 and
      Table 1, HCIAE-G-DIS
    """
    given = AdversarialOptions.read(gdis, generator, options, "generator")
    _check_discriminator(discriminator, learns=False)
    score = DialogScore(discriminator, temperature=pair_temperature)
    term = through_words(score, given.sampled(), termination)
    objective = given.with_answers(term)
    if entropy_weight:
        # The same sample's words, scored by their values alone.
        bonus = ScoreFunction(Surprisal(per_word=True), term.decoder)
        objective += entropy_weight * bonus
    return given.training(objective)


@takes(AdversarialOptions)
def gan1(
    generator: Speaker, discriminator: keras.Model, **options: Any
) -> JointTraining:
    """Trains a generator against a discriminator that keeps learning: GAN1.

    ```
    generator loss = log(1 + exp(e . f(answer) - e . f(sample)))
                     + mle_weight * (-sum_t log p(a_t | a_<t, e))
    discriminator loss = -log(1 + exp(e . f(answer) - e . f(sample)))
    ```

    with the notation of `gdis()`. The discriminator compares only the human
    answer and the sample.

    Args:
        generator, **options: As in `gdis()`.
        discriminator: As in `gdis()`; its `trainable` is set to `True`.

    Returns:
        `tfcap.training.JointTraining` of `"generator"` and `"discriminator"`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50,
    ...     tfcap.layers.LateFusionEncoder(8),
    ...     tfcap.layers.AnswerEncoder(8),
    ... )
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ...     "options": np.array([[[[5, 2], [6, 2]]]]),
    ... }
    >>> _ = generator(batch), discriminator(batch)
    >>> training = tfcap.methods.gan1(generator, discriminator, max_length=3)
    >>> adam = keras.optimizers.Adam
    >>> training.compile({"generator": adam(5e-5), "discriminator": adam(5e-5)})
    >>> logs = training.train_on_batch(batch, return_dict=True)
    >>> "discriminator/undo" in logs
    True

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2 and Table 4,
      HCIAE-GAN1
    """
    given = AdversarialOptions.read(gan1, generator, options, "generator")
    _check_discriminator(discriminator)
    sample = given.sampled()
    objective = given.with_answers(Pathwise(DialogScore(discriminator), sample))
    score = DialogScore(discriminator, learning=True)
    undo = -1.0 * Pathwise(score, sample, name="undo")
    return given.training(objective, {"discriminator": (discriminator, undo)})


@takes(AdversarialOptions)
def gan2(
    generator: Speaker,
    discriminator: keras.Model,
    *,
    candidates: str = "options",
    **options: Any,
) -> JointTraining:
    """Trains a generator against a discriminator that keeps ranking: GAN2.

    ```
    generator loss = log(1 + exp(e . f(answer) - e . f(sample)))
                     + mle_weight * (-sum_t log p(a_t | a_<t, e))
    discriminator loss = log(1 + sum_i exp(e . f(wrong_i) - e . f(answer)))
    ```

    with the notation of `gdis()`, and the sample as an additional wrong answer
    among the discriminator's candidates.

    Args:
        generator, **options: As in `gdis()`.
        discriminator: Built `keras.Model` as in `gdis()`, with a method
            `score(anchor, options, training)` that returns scores `(B, N)`
            and embeddings `(B, N, D)`, and a method `penalty(anchor, answers,
            options)` that returns a scalar to add to the loss. Its `trainable`
            is set to `True`.
        candidates: String, key in a batch of the candidate answers
            `(B, R, N, T)`, the human one first.

    Returns:
        `tfcap.training.JointTraining` of `"generator"` and `"discriminator"`.

    Example:

    >>> encoder = tfcap.layers.LateFusionEncoder(
    ...     8, output_units=6, return_state=True
    ... )
    >>> generator = tfcap.models.DialogGenerator(50, encoder, embedding_units=6)
    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50,
    ...     tfcap.layers.LateFusionEncoder(8),
    ...     tfcap.layers.AnswerEncoder(8),
    ... )
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "answer": np.array([[[5, 2]]]),
    ...     "options": np.array([[[[5, 2], [6, 2]]]]),
    ... }
    >>> _ = generator(batch), discriminator(batch)
    >>> training = tfcap.methods.gan2(generator, discriminator, max_length=3)
    >>> adam = keras.optimizers.Adam
    >>> training.compile({"generator": adam(5e-5), "discriminator": adam(5e-5)})
    >>> logs = training.train_on_batch(batch, return_dict=True)
    >>> "discriminator/n_pair" in logs
    True

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2 and Table 4,
      HCIAE-GAN2
    """
    given = AdversarialOptions.read(gan2, generator, options, "generator")
    calls = "encode", "embed", "score", "penalty"
    _check_discriminator(discriminator, calls)
    sample = given.sampled()
    objective = given.with_answers(Pathwise(DialogScore(discriminator), sample))
    ranking = SupervisedLoss(
        rank_with_fakes(discriminator, sample, candidates), "n_pair", (sample,)
    )
    return given.training(
        objective, {"discriminator": (discriminator, ranking)}
    )


def n_pair(discriminator: keras.Model) -> keras.Model:
    """Trains a discriminator on candidate answers: D-MLE, D-NP, D-NP-ATT.

    ```
    loss = log(1 + sum_i exp(e . f(wrong_i) - e . f(answer)))
    ```

    with `e` the encoding of question, history and image and `f` of an answer.
    Over a question's own list of candidates this is the softmax
    cross-entropy. The rows of Table 2 differ in networks and candidates:

    | row | `answer_encoder` | `norm_regularizer` | wrong answers |
    |---|---|---|---|
    | D-MLE (LF-D, HREA-D, MN-D) | no attention | none | 99, of the question |
    | D-NP | no attention | `EmbeddingNorm` | 20, and 30 of the batch |
    | D-NP-ATT | `attention=True` | `EmbeddingNorm` | 20, and 30 of the batch |

    Args:
        discriminator: Built `keras.Model` that returns scores `(..., N)` of
            candidates, such as `tfcap.models.DialogDiscriminator`. Its own
            losses, such as a penalty of norms, are added.

    Returns:
        `keras.Model`, for `compile(optimizer)` and `fit()` on pairs of the
        discriminator's inputs and labels `(..., N)`: 1 for the human answer,
        0 for a wrong one, -1 for one to ignore.

    Raises:
        TypeError: If the discriminator is not a `keras.Model`.
        ValueError: If it is not built.

    Example:

    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50,
    ...     tfcap.layers.LateFusionEncoder(8),
    ...     tfcap.layers.AnswerEncoder(8),
    ... )
    >>> batch = {
    ...     "question": np.array([[[5, 6, 4]]]),
    ...     "history": np.array([[[7, 8, 9]]]),
    ...     "image": np.zeros((1, 4, 3)),
    ...     "options": np.array([[[[5, 2], [6, 2]]]]),
    ... }
    >>> _ = discriminator(batch)
    >>> training = tfcap.methods.n_pair(discriminator)
    >>> training.compile(keras.optimizers.Adam(4e-4))
    >>> labels = np.array([[[1, 0]]])
    >>> sorted(training.train_on_batch(batch, labels, return_dict=True))
    ['loss']

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 4.2, equation 4 and
      Table 2
    """
    _check_discriminator(discriminator, calls=(), learns=None)
    return _Ranking(discriminator)


class _Ranking(keras.Model):
    """A discriminator under the N-pair loss, in Keras' own training step."""

    def __init__(self, discriminator):
        super().__init__(name="n_pair")
        self.discriminator = discriminator
        self.built = True

    def compile(self, optimizer="rmsprop", **kwargs):
        super().compile(optimizer, loss=NPairLoss(), **kwargs)

    def save(self, *_, **__):
        raise refusal_to_save(self, "discriminator")

    def call(self, inputs, training=False):
        return self.discriminator(inputs, training=training)


def _check_discriminator(discriminator, calls=("encode", "embed"), learns=True):
    """Rejects a discriminator without the methods that are called.

    Args:
        learns: Boolean, its new `trainable`; or `None` to keep it.
    """
    if not isinstance(discriminator, keras.Model):
        raise TypeError(
            "`discriminator` must be a `keras.Model`. Received: "
            f"discriminator={discriminator!r}. See "
            "`tfcap.models.DialogDiscriminator`."
        )
    check_methods(discriminator, "discriminator", *calls)
    check_built(discriminator, "`discriminator`")
    if learns is not None:
        discriminator.trainable = learns

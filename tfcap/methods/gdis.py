"""A dialog generator trained through a frozen discriminator."""

from typing import Any

import keras

from tfcap.decoding import Sample
from tfcap.decoding import Speaker
from tfcap.decoding.speaker import check_speaker
from tfcap.layers import GumbelSoftmaxST
from tfcap.methods.dialog_networks import check_discriminator
from tfcap.methods.parts import through_words
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import DialogScore
from tfcap.rewards import Surprisal
from tfcap.training import JointTraining
from tfcap.training import Learner


def gdis(
    generator: Speaker,
    discriminator: keras.Model,
    *,
    temperature: Any = 0.5,
    mle_weight: float = 0.5,
    normalize: str = "sequence",
    max_length: int = 9,
    seed: int | None = None,
    termination: str = "sampled",
    pair_temperature: float = 1.0,
    entropy_weight: float = 0.0,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Transfers a discriminator's knowledge to a generator: G-DIS.

    ```
    loss = log(1 + exp(e . f(answer) - e . f(sample)))
           + mle_weight * (-sum_t log p(a_t | a_<t, e))
    ```

    with `sample` the generator's Gumbel-softmax straight-through answer, `e`
    the discriminator's encoding of the question and `f` of an answer. The
    gradient reaches the generator through the words of the sample. The
    paper's generator begins from `dialog_mle()`, its discriminator is of
    `n_pair()` with self-attention.

    Args:
        generator: `tfcap.decoding.Speaker` that is a built `keras.Model`.
        discriminator: Built `keras.Model` with `encode()` and `embed()`, see
            `tfcap.rewards.DialogScore`. Its `trainable` is set to `False`.
        temperature: Float, of the Gumbel-softmax, or a schedule as that of
            `psst()`. Defaults to `0.5`.
        mle_weight: Float, weight of teacher forcing. Defaults to `0.5`, as in
            the released code.
        normalize: As that of `dialog_mle()`.
        max_length: Integer, words of a sampled answer at most, its end
            included. Defaults to `9`.
        seed: Integer or `None`, of the Gumbel noise.
        termination: As that of `tfcap.methods.psst()`.
        pair_temperature: Float, the temperature of `tfcap.rewards.DialogScore`.
            Not in the paper. Defaults to `1.0`.
        entropy_weight: Float, weight of the entropy of the sample's words, in
            nats, which is taken from the loss. Not in the paper. Defaults to
            `0.0`.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`, for `compile(optimizer)` and `fit()`
        on batches that both networks read.

    Raises:
        TypeError: If a network lacks what is called.
        ValueError: If a network is not built, or a number is out of range.

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
    check_speaker(generator, "generator")
    check_discriminator(discriminator)
    discriminator.trainable = False
    sample = Sample(GumbelSoftmaxST(temperature, seed=seed), 1, max_length)
    score = DialogScore(discriminator, temperature=pair_temperature)
    term = through_words(score, sample, termination)
    objective = term + mle_weight * TeacherForcing(normalize)
    if entropy_weight:
        # The same sample's words, scored by their values alone.
        bonus = ScoreFunction(Surprisal(per_word=True), term.decoder)
        objective += entropy_weight * bonus
    learner = Learner(generator, objective, global_clipnorm)
    return JointTraining(generator, {"generator": learner}, **options)

"""A dialog generator against a discriminator that ranks its samples, too."""

from typing import Any

import keras

from tfcap.decoding import Sample
from tfcap.decoding import Speaker
from tfcap.decoding.speaker import check_speaker
from tfcap.layers import GumbelSoftmaxST
from tfcap.methods.dialog_networks import check_discriminator
from tfcap.objectives import Pathwise
from tfcap.objectives import TeacherForcing
from tfcap.objectives.discriminator_loss import rank_with_fakes
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import DialogScore
from tfcap.training import JointTraining
from tfcap.training import Learner


def gan2(
    generator: Speaker,
    discriminator: keras.Model,
    *,
    temperature: Any = 0.5,
    mle_weight: float = 0.5,
    normalize: str = "sequence",
    max_length: int = 9,
    seed: int | None = None,
    global_clipnorm: float | None = None,
    candidates: str = "options",
    **options: Any,
) -> JointTraining:
    """Trains a generator against a discriminator that goes on ranking: GAN2.

    ```
    generator loss = log(1 + exp(e . f(answer) - e . f(sample)))
                     + mle_weight * (-sum_t log p(a_t | a_<t, e))
    discriminator loss = log(1 + sum_i exp(e . f(wrong_i) - e . f(answer)))
    ```

    with the names of `gdis()`, and the sample among the wrong answers. The
    discriminator keeps the candidates of its own training.

    Args:
        generator, temperature, mle_weight, normalize, max_length, seed: As
            those of `gdis()`.
        discriminator: Built `keras.Model` as that of `gdis()`, with `score()`
            and `penalty()` of `tfcap.objectives.rank_with_fakes()`, too. Its
            `trainable` is set to `True`.
        global_clipnorm: As that of `gan1()`.
        candidates: String, key in a batch of the candidate answers
            `(B, R, N, T)`, the human one first. Defaults to `"options"`.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`, for `compile({"generator": optimizer,
        "discriminator": optimizer})` and `fit()` on batches that both read.

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
    >>> training = tfcap.methods.gan2(generator, discriminator, max_length=3)
    >>> adam = keras.optimizers.Adam
    >>> training.compile({"generator": adam(5e-5), "discriminator": adam(5e-5)})
    >>> logs = training.train_on_batch(batch, return_dict=True)
    >>> "discriminator_n_pair" in logs
    True

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2 and Table 4,
      HCIAE-GAN2
    """
    check_speaker(generator, "generator")
    methods = "encode", "embed", "score", "penalty"
    check_discriminator(discriminator, methods)
    discriminator.trainable = True
    sample = Sample(GumbelSoftmaxST(temperature, seed=seed), 1, max_length)
    objective = Pathwise(
        DialogScore(discriminator), sample
    ) + mle_weight * TeacherForcing(normalize)
    ranking = SupervisedLoss(
        rank_with_fakes(discriminator, sample, candidates), "n_pair", (sample,)
    )
    learners = {
        "generator": Learner(generator, objective, global_clipnorm),
        "discriminator": Learner(discriminator, ranking, global_clipnorm),
    }
    return JointTraining(generator, learners, **options)

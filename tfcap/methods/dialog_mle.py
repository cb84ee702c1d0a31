"""Maximum likelihood of the human answers of a dialog."""

from typing import Any

from tfcap.decoding import Speaker
from tfcap.decoding.speaker import check_speaker
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner


def dialog_mle(
    generator: Speaker,
    *,
    normalize: str = "sequence",
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a generator on the human answers: LF-G, HREA-G, MN-G, HCIAE-G-MLE.

    ```
    loss = -sum_t log p(a_t | a_<t, e)
    ```

    with `e` the generator's encoding of question, history and image. The rows
    of Table 1 differ in the encoder alone: `tfcap.layers.LateFusionEncoder`,
    `HREAEncoder`, `MemoryNetworkEncoder`, `HCIAEEncoder`.

    Args:
        generator: `tfcap.decoding.Speaker` that is a built `keras.Model`, such
            as `tfcap.models.DialogGenerator`.
        normalize: `"sequence"` sums over the words of an answer, `"token"`
            averages. Defaults to `"sequence"`.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`, for `compile(optimizer)` and `fit()`
        on batches that the generator reads.

    Raises:
        TypeError: If the generator is no `Speaker`.
        ValueError: If it is not built.

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
    check_speaker(generator, "generator")
    learner = Learner(generator, TeacherForcing(normalize), global_clipnorm)
    return JointTraining(generator, {"generator": learner}, **options)

"""Maximum likelihood."""

from typing import Any

from tfcap.decoding import ScheduledSampling
from tfcap.decoding.speaker import check_speaker
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner


def mle(
    speaker: Any,
    *,
    scheduled_sampling: Any = 0.0,
    normalize: str = "token",
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker to say what people say: teacher forcing.

    ```
    loss = -mean over the words of the batch of log p(word | words before)
    ```

    where the words before are those that people said, or at times of the
    speaker's own.

    Args:
        speaker: As that of `psst()`.
        scheduled_sampling: Float in `[0, 1]`, how often the speaker reads a
            word of its own, or a schedule. Defaults to `0.0`, never.
        normalize: `"token"` for the mean over words, `"sequence"` for the sum
            over the words of a caption.
        seed: Integer, of the words of its own.
        global_clipnorm: Float or `None`, norm to clip the gradient to.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If `speaker` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> training = tfcap.methods.mle(speaker)
    >>> training.compile(keras.optimizers.Adam(1e-3))
    >>> sorted(training.train_on_batch(batch, return_dict=True))
    ['loss', 'teacher_forcing']

    Reference:

    - Vinyals et al., Show and Tell: A Neural Image Caption Generator,
      CVPR 2015
    - Bengio et al., Scheduled Sampling for Sequence Prediction with Recurrent
      Neural Networks, NIPS 2015
    """
    check_speaker(speaker)
    decoder = None
    if callable(scheduled_sampling) or scheduled_sampling != 0:
        decoder = ScheduledSampling(scheduled_sampling, seed=seed)
    objective = TeacherForcing(normalize, decoder=decoder)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)

"""Partial-sampling straight-through word channel."""

import keras
from keras import ops

from tfcap.layers.partial_sampling import PartialSampling


@keras.saving.register_keras_serializable(package="tfcap")
class PartialSamplingST(PartialSampling):
    """Passes the whole distribution some of the time, a sampled word otherwise.

    For every distribution independently,

    ```
    p = softmax(logits)
    output = p                                  with probability rho
    output = one_hot(w) + p - stop_gradient(p)  otherwise, with w ~ p
    ```

    `rho=0` is the straight-through estimator for a multinomial, `rho=1` passes
    distributions only and is deterministic.

    Args:
        rho: Float in `[0, 1]`, probability of passing the distribution. The
            authors' code names the complement, the probability of sampling.
            If positive, it is held in a variable: `channel.rho.assign(0.5)`
            changes it during training, and it is saved with the model. With
            `rho=0` the channel is discrete for good. Or a schedule, a callable
            of the training step such as an object of
            `keras.optimizers.schedules`. Defaults to `0.25`.
        granularity: String, what shares one draw between distribution and
            word: `"step_sample"` nothing, `"step"` all sequences at one step,
            `"sample"` all steps of one sequence, `"batch"` everything. The
            step axis is the last but one of `logits`; logits of shape
            `(rows, V)` are one step of as many sequences, and the draws of
            `"sample"` and `"batch"` are held over the steps inside
            `with channel.decoding(rows)`. Defaults to `"step_sample"`.
        seed: Integer, optional seed of the sampling.

    Call arguments:
        logits: Float tensor of shape `(..., V)`.
        training: Boolean. If `False`, emits the argmax as a one-hot vector.

    Returns:
        Float tensor of shape `(..., V)`; each last axis sums to one.

    Example:

    >>> channel = tfcap.layers.PartialSamplingST(rho=1.0)
    >>> channel(np.log([[0.5, 0.25, 0.25]]), training=True).numpy()
    array([[0.5 , 0.25, 0.25]], dtype=float32)
    >>> channel(np.log([[0.5, 0.25, 0.25]])).numpy()
    array([[1., 0., 0.]], dtype=float32)

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 5. The paper speaks of a draw at each step and of a
      share of the images; the authors' code draws per step and sample, which
      is the default here.
    """

    def candidates(self, logits, noise=None):
        """See the base; `noise` is a pair `(words, coins)`, both uniform."""
        words, coins = (None, None) if noise is None else noise
        soft = self.relaxed(logits, words)
        return self.sample(soft, words), soft, coins

    def relaxed(self, logits, noise):
        return ops.softmax(logits, axis=-1)

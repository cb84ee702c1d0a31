"""A dialog discriminator trained to rank the human answer first."""

import keras

from tfcap.losses import NPairLoss
from tfcap.methods.dialog_networks import check_discriminator
from tfcap.training.refusals import refusal_to_save


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
            candidates, such as `tfcap.models.DialogDiscriminator`. What it adds
            to the loss itself, such as a penalty of norms, counts.

    Returns:
        `keras.Model`, for `compile(optimizer)` and `fit()` on batches of what
        the discriminator reads and labels `(..., N)`: 1 for the human answer,
        0 for a wrong one, -1 for one to ignore.

    Raises:
        TypeError: If the discriminator is no `keras.Model`.
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
    check_discriminator(discriminator, methods=())
    return _Ranking(discriminator)


class _Ranking(keras.Model):
    """A discriminator under the N-pair loss, in Keras' own training step."""

    def __init__(self, discriminator):
        super().__init__(name="n_pair")
        self.discriminator = discriminator
        self.built = True

    def compile(self, optimizer="rmsprop", **kwargs):
        if kwargs.pop("loss", None) is not None:
            raise ValueError(
                "`loss` must be None: `n_pair()` brings its own. Received: "
                "another. Compile `discriminator` itself to train it otherwise."
            )
        super().compile(optimizer, loss=NPairLoss(), **kwargs)

    def fit(self, *args, class_weight=None, **kwargs):
        _refuse_classes(class_weight)
        return super().fit(*args, **kwargs)

    def train_on_batch(self, *args, class_weight=None, **kwargs):
        _refuse_classes(class_weight)
        return super().train_on_batch(*args, **kwargs)

    def save(self, *_, **__):
        raise refusal_to_save(self, "discriminator")

    def call(self, inputs, training=False):
        return self.discriminator(inputs, training=training)


def _refuse_classes(class_weight):
    if class_weight is not None:
        raise ValueError(
            "`class_weight` must be None: candidates are ranked, and have no "
            f"classes. Received: class_weight={class_weight!r}. Weigh "
            "questions by `sample_weight`."
        )

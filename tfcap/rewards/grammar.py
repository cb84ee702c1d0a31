"""The probability that a caption is well formed, as a reward."""

from keras import ops

from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.reward import Reward


class Grammar(Reward):
    """The probability that a caption is well formed, whatever its image.

    ```
    reward = sigmoid(logits(caption))
    ```

    A judge that is trained once, on corrupted captions, and stays as it is:
    it knows the mistakes that it was shown, and not those that a speaker finds
    out, as an adversary like that of `tfcap.rewards.MatchProbability` would.
    Differentiable by the words, too.

    Args:
        classifier: Object with `logits(words, mask)`, from tokens `(B, S, T)`
            or words `(B, S, T, V)` to `(B, S)`, such as
            `tfcap.models.GrammarClassifier`; of the speaker's vocabulary.
        name: String. Defaults to `"grammar"`.

    Example:

    >>> classifier = tfcap.models.GrammarClassifier(50, units=8)
    >>> reward = 2.0 * tfcap.rewards.BLEU(4) + tfcap.rewards.Grammar(classifier)
    >>> reward.terms
    ('bleu_4', 'grammar')

    Reference:

    - Cho et al., Fine-grained Image Captioning with CLIP Reward, Findings of
      NAACL 2022, section 3.2
    """

    differentiable = True

    def __init__(self, classifier, name="grammar"):
        if not hasattr(classifier, "logits"):
            raise TypeError(
                "`classifier` must have the method `logits()`. Received: "
                f"classifier={classifier!r}."
            )
        self.classifier = classifier
        self.name = name

    def call(self, rollout, episode):
        check_vocabulary(self.classifier, episode, "classifier")
        logits = self.classifier.logits(rollout.listener_inputs, rollout.mask)
        nonempty = ops.cast(rollout.nonempty, logits.dtype)
        return ops.sigmoid(logits) * nonempty

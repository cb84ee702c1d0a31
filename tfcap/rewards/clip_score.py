"""CLIPScore as a reward."""

from keras import ops

from tfcap.metrics import clip_score
from tfcap.rewards.embeddings import check_embedder
from tfcap.rewards.embeddings import check_one_space
from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.embeddings import embedded_images
from tfcap.rewards.embeddings import embedded_texts
from tfcap.rewards.embeddings import entry
from tfcap.rewards.embeddings import image_key
from tfcap.rewards.embeddings import is_differentiable
from tfcap.rewards.embeddings import position_mask
from tfcap.rewards.reward import Reward


class CLIPScore(Reward):
    """CLIPScore of what is said, under any retriever.

    ```
    reward = weight * max(cos(image, caption), 0)
    ```

    with `tfcap.metrics.clip_score()`. Nothing in it asks a caption to tell its
    image from others.

    Args:
        retriever: As in `tfcap.rewards.BidirectionalContrastive`; runs in
            inference mode, and its images are constants.
        weight: Float. Defaults to `2.5`.
        image: String, the key in the batch of the images, `(B, P, D)`, or of
            their embeddings, `(B, D)`. Defaults to the retriever's
            `image_key` if it has one, else to `"image"`.
        name: String. Defaults to `"clip_score"`.

    Example:

    >>> retriever = tfcap.models.RetrievalListener(50, units=8)
    >>> reward = tfcap.rewards.CLIPScore(retriever)
    >>> greedy = tfcap.decoding.Greedy()
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     reward,
    ...     tfcap.decoding.Sample(),
    ...     baseline=tfcap.objectives.DecoderBaseline(reward, greedy),
    ... )

    Reference:

    - Hessel et al., CLIPScore: A Reference-free Evaluation Metric for Image
      Captioning, EMNLP 2021, section 3
    - Cho et al., Fine-grained Image Captioning with CLIP Reward, NAACL
      Findings 2022, section 3.1
    """

    def __init__(self, retriever, weight=2.5, image=None, name="clip_score"):
        check_embedder(retriever, "retriever")
        self.retriever = retriever
        self.weight = weight
        self.image = image_key(retriever, image)
        self.name = name
        self.differentiable = is_differentiable(retriever)

    def call(self, rollout, episode):
        check_vocabulary(self.retriever, episode, "retriever")
        image = entry(episode, self.image, "CLIPScore")
        mask = position_mask(episode, self.image)
        images = embedded_images(self.retriever, image, mask=mask)
        images = ops.stop_gradient(images)
        texts = embedded_texts(self.retriever, rollout)
        check_one_space(images, texts, self.image)
        scores = clip_score(images[:, None], texts, self.weight)
        return ops.where(rollout.nonempty, scores, 0)

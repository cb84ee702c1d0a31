"""The N-pair loss with sampled answers among the wrong ones."""

from keras import ops

from tfcap._ops import reference_mask
from tfcap._ops import without_start
from tfcap._ops import words_only
from tfcap._ops.arguments import batch_entry
from tfcap.losses.masked_loss import n_pair_loss


def rank_with_fakes(discriminator, samples, options="options"):
    """Ranks a human answer above wrong ones and above what a speaker samples.

    For `tfcap.objectives.SupervisedLoss`. A sample that is the human answer
    to the letter is left out.

    Args:
        discriminator: Object that scores answers, such as
            `tfcap.models.DialogDiscriminator`, with `encode()` and `embed()`
            as `tfcap.rewards.DialogScore` calls them,
            `score(anchor, options, training)`, returning scores `(B, N)` and
            embeddings `(B, N, D)`, and `penalty(anchor, answers, options)`,
            a scalar that is added to the loss.
        samples: `tfcap.decoding.Sample` of the speaker's answers.
        options: String, key in a batch of candidate answers `(..., N, T)`,
            the human answer first. Defaults to `"options"`.

    Returns:
        Callable from an `Episode` to losses `(B, 1)`; it raises a `ValueError`
        where `pad` of speaker and discriminator differ, 0 without such.

    Example:

    >>> sample = tfcap.decoding.Sample(tfcap.layers.GumbelSoftmaxST())
    >>> loss = tfcap.objectives.rank_with_fakes(None, sample)
    >>> term = tfcap.objectives.SupervisedLoss(loss, "n_pair", (sample,))

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2
    """

    def losses(episode):
        pad = getattr(episode.speaker, "pad", 0)
        _check_pad(discriminator, pad)
        candidates = batch_entry(
            episode.inputs, options, "candidate answers", pad=pad
        )
        candidates = without_start(candidates, episode.speaker)
        training = episode.training
        anchor = discriminator.encode(episode.inputs, training=training)
        scores, answers = discriminator.score(
            anchor, candidates, training=training
        )
        fakes = episode.rollout(samples).stop_gradient()
        embedded = discriminator.embed(
            fakes.tokens, fakes.mask, training=training
        )
        # As the discriminator scores: not in half precision.
        anchors, embedded = (
            ops.cast(x, scores.dtype) for x in (anchor[:, None], embedded)
        )
        fake_scores = ops.sum(anchors * embedded, axis=-1)
        scores = ops.concatenate([scores, fake_scores], axis=-1)
        there = reference_mask(candidates, episode.speaker.eos, pad)
        labels = _labels(
            words_only(candidates, there), words_only(fakes.tokens, fakes.mask)
        )
        losses, _ = n_pair_loss(labels, scores)
        return losses[:, None] + discriminator.penalty(
            anchor, answers, candidates
        )

    return losses


def _check_pad(discriminator, pad):
    """Refuses a network that would read padding as words."""
    own = getattr(discriminator, "pad", 0)
    if own != pad:
        raise ValueError(
            "`discriminator` must pad answers as the speaker does, which fills "
            f"them. Received: a speaker of pad={pad}, and a discriminator of "
            f"pad={own}, 0 where it names none. Give both one vocabulary."
        )


def _labels(options, fakes):
    """Labels: 1 the human answer, 0 wrong, -1 absent or equal to it.

    Args:
        options: Integer tensor of shape `(..., N, T)`, -1 for no word.
        fakes: Integer tensor of shape `(B, S, T)`, likewise.
    """
    *_, count, length = ops.shape(options)
    options = ops.reshape(options, (-1, count, length))
    # Each by the other's length, which may not be known yet.
    rows = ops.concatenate(
        [_padded(options, ops.shape(fakes)[-1]), _padded(fakes, length)],
        axis=1,
    )
    same = ops.all(ops.equal(rows, rows[:, :1]), axis=-1)
    absent = ops.logical_not(ops.any(rows >= 0, axis=-1))
    labels = ops.where(ops.logical_or(same, absent), -1.0, 0.0)
    truth = ops.where(absent[:, :1], -1.0, 1.0)
    return ops.concatenate([truth, labels[:, 1:]], axis=1)


def _padded(tokens, by):
    """Tokens `(B, S, T)` with -1 after them, `by` times."""
    after = ops.full((*ops.shape(tokens)[:2], by), -1, tokens.dtype)
    return ops.concatenate([tokens, after], axis=-1)

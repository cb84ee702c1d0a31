"""What the discriminator of GAN2 learns from."""

from keras import ops

from tfcap.losses import n_pair_loss_from_scores


def rank_with_fakes(discriminator, samples):
    """The N-pair loss with a generator's samples among the wrong options.

    A sample that is the truth to the letter is left out.

    Args:
        discriminator: `tfcap.models.DialogDiscriminator`.
        samples: The generator's `tfcap.decoding.Sample`.

    Returns:
        Callable from an `Episode`, whose inputs hold `options` `(B, R, N, T)`
        with the truth first, to losses `(B * R, 1)`.

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, section 5.2
    """

    def losses(episode):
        options = episode.inputs["options"]
        anchor = discriminator.encode(episode.inputs, training=True)
        scores, answers = discriminator.score(anchor, options, training=True)
        fakes = episode.rollout(samples).stop_gradient()
        embedded = discriminator.embed(fakes.tokens, fakes.mask, training=True)
        fake_scores = ops.sum(anchor[:, None] * embedded, axis=-1)
        scores = ops.concatenate(
            [scores, ops.cast(fake_scores, scores.dtype)], axis=-1
        )
        labels = _labels(options, fakes.tokens)
        losses = n_pair_loss_from_scores(labels, scores, reduction=None)
        return losses[:, None] + discriminator.penalty(anchor, answers, options)

    return losses


def _labels(options, fakes):
    """1 for the truth, 0 for wrong answers, -1 where they read like it."""
    length = options.shape[-1]
    options = ops.reshape(options, (-1, options.shape[2], length))
    longest = max(length, fakes.shape[-1])
    rows = ops.concatenate(
        [_padded(options, longest), _padded(fakes, longest)], axis=1
    )
    same = ops.all(ops.equal(rows, rows[:, :1]), axis=-1)
    absent = ops.logical_not(ops.any(rows != 0, axis=-1))
    labels = ops.where(ops.logical_or(same, absent), -1.0, 0.0)
    truth = ops.where(absent[:, :1], -1.0, 1.0)
    return ops.concatenate([truth, labels[:, 1:]], axis=1)


def _padded(tokens, length):
    missing = length - tokens.shape[-1]
    return ops.pad(tokens, [[0, 0], [0, 0], [0, missing]])

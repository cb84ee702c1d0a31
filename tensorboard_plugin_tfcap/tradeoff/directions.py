"""Whether more or less of a metric is better, by the words of its name."""

import re

_LOWER = frozenset(
    # Losses and likelihoods.
    "loss losses perplexity ppl nll bpc bpb bpd kl kld divergence "
    "cross_entropy crossentropy logloss cost regret "
    # Errors.
    "err error errors mae mse rmse msle rmsle mape smape wer cer ter eer fpr "
    "fnr ece brier misses miss "
    # Distances and images.
    "fid kid fvd lpips edit_distance levenshtein "
    # Ranks and time.
    "mean_rank median_rank average_rank avg_rank latency runtime "
    # Language.
    "self_bleu mutual_bleu selfbleu mbleu chair chairs chairi hallucination "
    "hallucinations toxicity unfinished repeated repetition repetitions "
    "bad_ending "
    "false_positive false_negative false_positives false_negatives".split()
)
_HIGHER = frozenset(
    # Classification and detection.
    "accuracy acc precision recall sensitivity specificity f1 f2 f1score auc "
    "auroc auprc roc_auc map ap iou miou dice tpr tnr kappa mcc r2 correct "
    "true_positive true_negative true_positives true_negatives "
    # Retrieval and ranking.
    "hit hits mrr ndcg reciprocal_rank "
    # Language and images.
    "bleu rouge meteor cider ciderd spice spider bcmr chrf comet bleurt "
    "bertscore clipscore psnr ssim inception_score div_1 div_2 div_3 div_4 "
    "distinct_1 distinct_2 distinct_3 distinct_4 distinct diversity "
    "self_cider vocabulary_size "
    # Likelihoods.
    "likelihood logprob log_prob log_probability elbo "
    # Agents and statistics.
    "reward rewards return returns win wins success successes elo pearson "
    "spearman kendall correlation throughput speed fps".split()
)
#: Words that reverse a direction.
_NEGATIVE = frozenset(("negative", "neg", "minus"))
_TOKEN = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def direction(name: str) -> str:
    """Direction of a metric with any name.

    The last known word of the last folder decides, as it does in English: an
    accuracy loss is a loss.

    Returns:
        `"higher"`, `"lower"`, or `"unknown"`.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.directions import direction
    >>> [direction(name) for name in ("Loss/train", "win_rate", "rate")]
    ['lower', 'higher', 'unknown']
    """
    for part in reversed(name.split("/")):
        words = [word for token in _TOKEN.findall(part) for word in _cut(token)]
        turned = len(_NEGATIVE & set(words)) % 2
        for end in range(len(words), 0, -1):
            # Phrases of two words precede the last word alone.
            for begin in (end - 2, end - 1):
                phrase = "_".join(words[max(begin, 0) : end])
                better = _known(phrase)
                if better and turned and not phrase.startswith(_TESTS):
                    better = "lower" if better == "higher" else "higher"
                if better:
                    return better
    return "unknown"


#: Before "negative", which is part of such names.
_TESTS = ("false_", "true_")


def _known(phrase):
    for text in (phrase, phrase.rstrip("0123456789")):
        if text in _LOWER:
            return "lower"
        if text in _HIGHER:
            return "higher"
    return None


def _cut(token):
    """A token, or its camel-case parts where it is not a known word."""
    whole = token.lower()
    if _known(whole) or token in (whole, token.upper()):
        return [whole]
    return [hump.lower() for hump in _HUMPS.findall(token)]

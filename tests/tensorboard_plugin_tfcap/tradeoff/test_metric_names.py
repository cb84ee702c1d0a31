import pytest

from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_order
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric


@pytest.mark.parametrize(
    "name, title, better, role",
    [
        ("cider_d", "CIDEr-D", "higher", "naturalness"),
        ("val_r_10", "val recall@10", "higher", "recall"),
        ("human_image_to_text_r@1", "human image to text recall@1", *[""] * 2),
        ("mean_rank", "mean rank", "lower", "recall"),
        ("mrr", "MRR", "higher", "recall"),
        ("unseen_r@5", "recall@5, unseen listener", "higher", "recall"),
        ("beam_cider_d", "CIDEr-D, beam search", "higher", "naturalness"),
        ("lm_log_prob", "log prob / word", "higher", "naturalness"),
        (
            "beam_fixed_mean_rank",
            "mean rank, fixed listener, beam search",
            *("lower", "recall"),
        ),
        (
            "beam_strangers_r@10_bag_of_words",
            "recall@10 of bag of words, held-out listeners, beam search",
            *("higher", "recall"),
        ),
        ("private_language", "own less held-out recall@10", "lower", "other"),
        (
            "my_clip_image_to_text_r@10",
            "image to text recall@10, my_clip listener",
            *("higher", "recall"),
        ),
        ("fixed_clip_score", "CLIPScore, fixed listener", "higher", "other"),
        ("lr_10", "lr_10", "unknown", "other"),
        ("repeat_rate", "a word twice in a row", "lower", "other"),
        ("novel_trigrams", "new trigrams", "lower", "other"),
        ("narrative", "narrative", "unknown", "other"),
        ("eval/cider", "eval/CIDEr", "higher", "naturalness"),
        ("CIDEr-D", "CIDEr-D", "higher", "naturalness"),
        ("val/fixed_r@1", "val/recall@1, fixed listener", "higher", "recall"),
        ("mine_r_10", "recall@10, mine listener", "higher", "recall"),
        ("r@10/val", "val/recall@10", "higher", "recall"),
        ("a/CIDEr/Test", "a/Test/CIDEr", "higher", "naturalness"),
        ("Loss/val", "Loss/val", "lower", "other"),
    ],
)
def test_a_name_tells_what_a_metric_is(name, title, better, role):
    found = named_metric(name)
    assert found.title == title
    assert better in ("", found.better) and role in ("", found.role)


@pytest.mark.parametrize(
    "better, names",
    [
        (
            "lower",
            "Loss/train FID val/ppl wer cer mae rmse val/mse nll kl latency "
            "top1_err rs_mutual_bleu_4 self_bleu negative_log_likelihood "
            "valLoss reward_loss kl_div false_negative_rate train/epoch_loss "
            "bad_ending_rate",
        ),
        (
            "higher",
            "success_rate win_rate hit_rate accuracy_rate val/Acc mAP F1Score "
            "rs_div_1 rs_mean_cider_d log_likelihood loss/accuracy rougeL "
            "neg_mean_squared_error top5_accuracy distinct_captions "
            "vocabulary_size",
        ),
        ("unknown", "rate epoch_learning_rate hp_metric blossom lora_rank"),
    ],
)
def test_words_tell_a_direction(better, names):
    names = names.split()
    found = {name: named_metric(name).better for name in names}
    assert found == dict.fromkeys(names, better)


def test_what_is_said_counts_more_than_the_name():
    found = named_metric("rank", title="Place", better="higher", role="recall")
    assert (found.title, found.sign, found.role) == ("Place", 1, "recall")


@pytest.mark.parametrize(
    "names",
    [
        "bleu_4 spice r@1 r@10 mrr human_r@1 zebra",
        # Recall by others comes before that by the own listener.
        "strangers_r@10 fixed_r@10 mine_r@10 r@10 beam_fixed_r@10 human_r@10",
    ],
)
def test_metrics_have_an_order(names):
    ranked = sorted(map(named_metric, sorted(names.split())), key=metric_order)
    assert " ".join(metric.name for metric in ranked) == names


def test_a_direction_that_is_none_is_refused():
    with pytest.raises(ValueError, match="`better` must be one of"):
        named_metric("a", better="more")

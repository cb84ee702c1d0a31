"""Table 1 of distinctive captioning, as found in a sweep."""

from tfcap.recipes.captioning.score_tables import by_row
from tfcap.recipes.captioning.score_tables import difference_table
from tfcap.recipes.captioning.score_tables import found_on
from tfcap.recipes.captioning.score_tables import score_table
from tfcap.recipes.distinctive.rows import ROWS

_RECALL = {"r@1": ("R@1", 1), "r@5": ("R@5", 1), "r@10": ("R@10", 1)}
_WRITING = {
    "bleu_4": ("BLEU-4", 1),
    "rouge_l": ("ROUGE-L", 1),
    "cider_d": ("CIDEr-D", 1),
    "meteor": ("METEOR", 1),
    "spice": ("SPICE", 1),
    "self_bleu": ("Self-BLEU", -1),
    "mean_length": ("words", 0),
    "repeated_bigrams": ("repeated bigrams", -1),
    "bad_ending_rate": ("break off", -1),
}
#: The paper's comparisons, and the scores that they are about.
_CLAIMS = {
    ("wtf", "tf"): ("r@1", "r@10", "image_to_text_r@10", "cider_d"),
    ("wtf_rl", "wtf"): ("r@1", "r@10", "image_to_text_r@10"),
    ("wtf_rl", "rl"): ("cider_d", "bleu_4", "self_bleu", "r@10"),
    ("rl", "rl_unidirectional"): ("r@1", "r@10", "unseen_r@10"),
    ("scst_discriminator", "scst_grammar"): ("r@1", "r@10", "self_bleu"),
    ("rl", "wtf_rl_code"): ("r@10", "cider_d"),
}


def distinctive_tables(records, data):
    """What the paper's Table 1 shows.

    Args:
        records: List of dicts, as `tfcap.training.load_records()` gives them.
        data: String, what they were found on.

    Returns:
        List of `TradeoffTable`: retrieval both ways, under the retriever that
        rewards and under one that training never saw; writing; and paired
        differences.
    """
    runs = by_row(records, ("tf", *ROWS))
    plain = {k: v for k, v in runs.items() if not k.moved}
    kinds = {
        "": "the image by its caption",
        "image_to_text_": "the caption by its image",
        "unseen_": "the image by its caption, unseen retriever",
        "unseen_image_to_text_": "the caption by its image, unseen retriever",
    }
    tables = [
        score_table("Table 1", title, runs, _RECALL, prefix)
        for prefix, title in kinds.items()
    ]
    writing = score_table("Table 1", "writing", runs, _WRITING)
    tables += [writing, difference_table(plain, _CLAIMS)]
    return found_on(tables, data)

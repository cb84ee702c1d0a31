"""Table 1 of distinctive captioning."""

from reproduce.score_tables import CHAIR
from reproduce.score_tables import LANGUAGE
from reproduce.score_tables import STRANGERS
from reproduce.score_tables import TRUTH
from reproduce.score_tables import by_row
from reproduce.score_tables import difference_table
from reproduce.score_tables import found_on
from reproduce.score_tables import human_run
from reproduce.score_tables import score_table
from reproduce.wtf_rl.settings import ROWS

_RECALL = {"r@1": ("R@1", 1), "r@5": ("R@5", 1), "r@10": ("R@10", 1)}
_WRITING = {
    "bleu_4": ("BLEU-4", 1),
    "rouge_l": ("ROUGE-L", 1),
    "cider_d": ("CIDEr-D", 1),
    "meteor": ("METEOR", 1),
    "spice": ("SPICE", 1),
    "self_bleu": ("Self-BLEU", -1),
    **STRANGERS,
    **CHAIR,
    **LANGUAGE,
}
_HEARD = (
    *("strangers_r@10", "cider_d"),
    *("greedy_strangers_r@10", "greedy_cider_d"),
)
#: The paper's comparisons, and the scores that they are about.
_CLAIMS = {
    ("wtf", "tf"): (
        *("strangers_r@10", "unseen_r@10", "r@1", "r@10", "image_to_text_r@10"),
        *("cider_d", "lm_log_prob"),
    ),
    ("wtf_rl", "tf"): (
        *("strangers_r@10", "unseen_r@10", "r@10", "cider_d", "lm_log_prob"),
    ),
    ("wtf_rl", "wtf"): (
        *("strangers_r@10", "unseen_r@10", "r@1", "r@10"),
        "image_to_text_r@10",
    ),
    ("wtf_rl", "rl"): (
        *("cider_d", "bleu_4", "lm_log_prob", "self_bleu"),
        *("strangers_r@10", "unseen_r@10", "r@10"),
    ),
    ("rl", "rl_unidirectional"): (
        *("strangers_r@10", "unseen_r@10", "r@1", "r@10"),
    ),
    ("scst_discriminator", "scst_grammar"): (
        *("strangers_r@10", "unseen_r@10", "r@1", "r@10", "self_bleu"),
    ),
    ("rl", "wtf_rl_code"): ("unseen_r@10", "r@10", "cider_d"),
    ("wtf_rl_cider", "wtf_rl"): (*_HEARD, "r@10"),
    ("wtf_rl_ensemble", "wtf_rl"): (*_HEARD, "r@10"),
    ("wtf_rl_ensemble", "wtf_rl_cider"): (*_HEARD, "r@10"),
    ("wtf_rl_ensemble", "tf"): (*_HEARD, "lm_log_prob"),
}
#: Retrieval by the prefix of its scores, by held-out retrievers first.
_KINDS = {
    "strangers_": "the image by its caption, mean of the held-out listeners",
    "unseen_": "the image by its caption, unseen retriever",
    "": "the image by its caption",
    "unseen_image_to_text_": "the caption by its image, unseen retriever",
    "image_to_text_": "the caption by its image",
}
#: Decodings: by beam search, as published, and greedily.
_DECODINGS = {"": "", "greedy_": ", greedy"}


def distinctive_tables(records: list[dict], data: str):
    """Builds tables like the paper's Table 1.

    Returns:
        List of `TradeoffTable`: retrieval in both directions, by held-out
        retrievers and by the one that rewards; language, beside that of human
        captions; all of this for beam search and, if records have them, for
        greedy captions; and paired differences.
    """
    runs = by_row(records, ("tf", *ROWS))
    plain = {k: v for k, v in runs.items() if not k.moved}
    people, tables = human_run(runs), []
    for kind, suffix in _DECODINGS.items():
        tables += [
            score_table("Table 1", title + suffix, runs, _RECALL, kind + prefix)
            for prefix, title in _KINDS.items()
        ]
        written = runs | {
            key: {
                s: _named(kind, runs_by_row)
                for s, runs_by_row in by_seed.items()
            }
            for key, by_seed in people.items()
        }
        title = f"writing{suffix}"
        tables.append(score_table("Table 1", title, written, _WRITING, kind))
        title = f"truth{suffix}"
        tables.append(score_table("Table 1", title, runs, TRUTH, kind))
    return found_on([*tables, difference_table(plain, _CLAIMS)], data)


def _named(kind, scores):
    return {f"{kind}{name}": score for name, score in scores.items()}

"""Trains a language model for CIDEr-D with TRL's own GRPO trainer.

pip install . trl
python examples/grpo_with_trl.py

A random transformer of two layers learns, within a minute on a CPU, human
captions of a scene from the reward alone: CIDEr-D of `tfcap.text.rewards`,
which needs no TensorFlow. Prints the mean reward of the first and of the last
steps, and captions of the trained model.
"""

import argparse
import statistics
import tempfile

from tfcap.text.rewards import cider_d_reward

COLORS, THINGS = ("red", "blue", "green"), ("cup", "boat", "bus")
WORDS = [*COLORS, *THINGS, "a", "the", "is", "there", "on", "table"]


def scenes():
    """Prompts with two captions each."""
    return [
        {
            "prompt": f"{color} {thing} :",
            "references": [
                f"A {color} {thing}.",
                f"There is a {color} {thing}.",
            ],
        }
        for color in COLORS
        for thing in THINGS
    ]


def tokenizer():
    """A tokenizer with one id per word."""
    from tokenizers import Tokenizer
    from tokenizers import models
    from tokenizers import pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokens = ["<pad>", "<eos>", "<unk>", ":", *WORDS]
    words = models.WordLevel(
        {token: i for i, token in enumerate(tokens)}, unk_token="<unk>"
    )
    fast = Tokenizer(words)
    fast.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=fast,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )


def language_model(words):
    """A random causal transformer of two layers."""
    from transformers import LlamaConfig
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(words),
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=32,
            pad_token_id=words.pad_token_id,
            bos_token_id=None,
            eos_token_id=words.eos_token_id,
        )
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=150)
    options = parser.parse_args(arguments)

    import torch
    from datasets import Dataset
    from transformers import set_seed
    from trl import GRPOConfig
    from trl import GRPOTrainer

    set_seed(0)
    torch.set_num_threads(1)
    rows, words = scenes(), tokenizer()
    reward = cider_d_reward([row["references"] for row in rows])
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=language_model(words),
            reward_funcs=[reward],
            processing_class=words,
            train_dataset=Dataset.from_list(rows),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=options.steps,
                per_device_train_batch_size=72,
                num_generations=8,
                max_completion_length=6,
                learning_rate=3e-3,
                lr_scheduler_type="constant",
                beta=0.0,
                logging_steps=1,
                save_strategy="no",
                report_to="none",
                use_cpu=True,
                bf16=False,
                disable_tqdm=True,
            ),
        )
        trainer.train()
        log = [x["reward"] for x in trainer.state.log_history if "reward" in x]
    few = max(1, min(10, len(log) // 2))
    first, last = statistics.mean(log[:few]), statistics.mean(log[-few:])
    print(
        f"CIDEr-D: {first:.3f} in the first {few} steps, {last:.3f} in the last"
    )
    model = trainer.model.eval()
    for row in rows[:3]:
        ids = words(row["prompt"], return_tensors="pt")["input_ids"]
        said = model.generate(ids, max_new_tokens=6, do_sample=False)
        text = words.decode(said[0, ids.shape[1] :], skip_special_tokens=True)
        print(f"{row['prompt']} {text}")
    return first, last


if __name__ == "__main__":
    main()

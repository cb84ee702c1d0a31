"""Steps of TRL's GRPO trainer, for `causal_lm.py`, which starts this process.

Its interpreter has torch, transformers and trl, and need not have tfcap. What
is timed is from the end of a step of `GRPOTrainer.train()` to that of the
next: prompts tokenized, words sampled and decoded, the reward of strings, the
loss, its gradient clipped, AdamW. Nothing is saved or logged meanwhile.
"""

import json
import sys
import tempfile

from lm_task import BOS
from lm_task import EOS
from lm_task import PAD
from lm_task import SPECIAL
from lm_task import UNKNOWN
from lm_task import Sizes
from lm_task import Turns
from lm_task import even_words
from lm_task import prompt_ids
from lm_task import word


def tokenizer_of(sizes):
    """Words between blanks, under the ids that tfcap's vocabulary has."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    special = {
        "pad_token": ("<pad>", PAD),
        "bos_token": ("<bos>", BOS),
        "eos_token": ("<eos>", EOS),
        "unk_token": ("<unk>", UNKNOWN),
    }
    ids = {word(i): i for i in range(len(SPECIAL), sizes.vocabulary)}
    ids |= {token: i for token, i in special.values()}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="<unk>"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    names = {name: token for name, (token, _) in special.items()}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, padding_side="left", **names
    )


def model_of(sizes):
    from transformers import LlamaConfig
    from transformers import LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=sizes.vocabulary,
            hidden_size=sizes.units,
            intermediate_size=sizes.inner,
            num_hidden_layers=sizes.layers,
            num_attention_heads=sizes.heads,
            num_key_value_heads=sizes.key_heads,
            max_position_embeddings=sizes.prompt + sizes.length,
            tie_word_embeddings=True,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
        )
    )


def trainer_of(sizes, callback, count, folder):
    """A `GRPOTrainer`; `count` is called with the ids of all completions."""
    from datasets import Dataset
    from trl import GRPOConfig
    from trl import GRPOTrainer

    def reward(completions, completion_ids, **columns):
        count(completion_ids)
        return even_words(completions)

    prompts = prompt_ids(sizes, 8 * sizes.prompts)
    texts = [" ".join(map(word, ids)) for ids in prompts]
    config = GRPOConfig(
        folder,
        use_cpu=True,
        bf16=False,
        per_device_train_batch_size=sizes.prompts * sizes.samples,
        num_generations=sizes.samples,
        max_completion_length=sizes.length,
        learning_rate=1e-6,
        lr_scheduler_type="constant",
        max_steps=10**6,
        beta=0.0,
        # It would compute activations again, which costs time.
        gradient_checkpointing=False,
        logging_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    return GRPOTrainer(
        model=model_of(sizes),
        reward_funcs=reward,
        args=config,
        train_dataset=Dataset.from_dict({"prompt": texts}),
        processing_class=tokenizer_of(sizes),
        callbacks=[callback],
    )


def main(sizes):
    import torch
    import transformers
    import trl

    class Wait(transformers.TrainerCallback):
        """Between two steps, waits to be asked for the next."""

        def on_train_begin(self, args, state, control, **kwargs):
            control.should_training_stop = not turns.asked()

        def on_step_end(self, args, state, control, **kwargs):
            turns.taken(tokens=words.pop())
            control.should_training_stop = not turns.asked()

    turns, words = Turns(), []
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        trainer = trainer_of(
            sizes,
            Wait(),
            lambda ids: words.append(sum(map(len, ids))),
            folder,
        )
        weights = sum(x.numel() for x in trainer.model.parameters())
        turns.ready(
            weights=weights,
            versions={
                "trl": trl.__version__,
                "transformers": transformers.__version__,
                "torch": torch.__version__,
            },
        )
        trainer.train()


if __name__ == "__main__":
    main(Sizes(**json.loads(sys.argv[1])))

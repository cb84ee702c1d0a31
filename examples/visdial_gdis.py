"""Visual dialog by G-DIS: Best of Both Worlds (Lu et al., NIPS 2017).

    python examples/visdial_gdis.py --quick    # three minutes on two cores
    python examples/visdial_gdis.py --talk     # more scenes, then a dialog
    python examples/visdial_gdis.py --data visdial --root DIR

A generator learns human answers (G-MLE), and a discriminator learns to rank
candidate answers (D-NP-ATT). Then the generator learns from the discriminator,
through the words that it samples (G-DIS). As a control it learns human answers
for as many more epochs. Images are drawn scenes, or VisDial's: DIR holds
`visdial_1.0_train.json`, `visdial_1.0_val.json` and `image_features.npy` of
`python -m tfcap.extract`. `python -m reproduce visdial` trains all rows.
"""

import argparse
import functools
import html
import json
import os
import pathlib
import sys

import keras
import numpy as np

import tfcap
from tensorboard_plugin_tfcap import html_page
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tensorboard_plugin_tfcap.tradeoff import markdown_table
from tfcap.launch import run_as_workers

# `reproduce`, which draws the scenes, stands beside this folder.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

MAX_LENGTH = 9  # words of an answer, its end included
GREEDY = tfcap.decoding.Greedy(MAX_LENGTH)
UNITS, EMBEDDING_UNITS = 96, 64
QUICK = {"train": 3000, "val": 10, "test": 200, "easy": True}
WHOLE = {"train": 5000, "val": 10, "test": 1000}
COLUMNS = ("mrr", "r@1", "r@5", "r@10", "mean_rank", "true_answers")
ROWS = {
    "prior": "answer prior",
    "hciae_g_mle": "G-MLE",
    "hciae_g_mle_control": "G-MLE, longer",
    "hciae_g_dis": "G-DIS",
    "hciae_d_np_att": "D-NP-ATT",
}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--quick", action="store_true", help="fewer and simpler scenes")
    add("--data", choices=["scenes", "visdial"], default="scenes")
    add("--root", type=pathlib.Path, help="folder of VisDial's files")
    add("--out", type=pathlib.Path, help="default: runs/visdial_gdis[_quick]")
    add("--epochs", type=int, help="of the generator; a fifth for the others")
    add("--batch-size", type=int, default=32, help="dialogs in a batch")
    add("--seed", type=int, default=0)
    add("--workers", type=int, help="processes that train one model")
    add("--trusted-network", action="store_true", help="for --workers")
    add("--talk", nargs="?", type=int, const=0, metavar="IMAGE")
    options = parser.parse_args(arguments)
    if options.data == "visdial" and options.root is None:
        parser.error("--data visdial needs --root, the folder of its files")
    folder = "visdial_gdis_quick" if options.quick else "visdial_gdis"
    options.out = options.out or pathlib.Path("runs", folder)
    options.epochs = options.epochs or (12 if options.quick else 20)
    return options


def load(options):
    """Loads two splits, features and pictures of their images, and a judge."""
    if options.data == "visdial":
        files = [f"visdial_1.0_{x}.json" for x in ("train", "val")]
        splits = [tfcap.data.load_visdial(options.root / x) for x in files]
        path = options.root / "image_features.npy"
        ids = [split.image_ids for split in splits]
        features = [tfcap.data.load_features(path, x, lazy=True) for x in ids]
        return splits, features, [None] * len(splits[1]), None
    from reproduce.world.features import world_with_features
    from reproduce.world.truth import answer_truth

    sizes = QUICK if options.quick else WHOLE
    world, features = world_with_features(encoder_epochs=2, **sizes)
    splits = [
        tfcap.data.load_visdial(world.visdial_path(x), world.dense_path(x))
        for x in ("train", "test")
    ]
    rounds = [x for dialog in world.dialogs("test") for x in dialog.rounds]
    judge = functools.partial(answer_truth, rounds)
    return splits, features[::2], world.images("test"), judge


def make_networks(size, batch):
    """Makes a generator and a discriminator, and builds them on a batch."""
    scaled = keras.initializers.VarianceScaling(36.0, "fan_avg", "uniform")
    how = {"output_units": EMBEDDING_UNITS, "query_initializer": scaled}
    generator = tfcap.models.DialogGenerator(
        size,
        tfcap.layers.HCIAEEncoder(UNITS, return_state=True, **how),
        EMBEDDING_UNITS,
        logit_scale=3.0,
        embeddings_initializer=keras.initializers.RandomNormal(stddev=1.0),
    )
    discriminator = tfcap.models.DialogDiscriminator(
        size,
        tfcap.layers.HCIAEEncoder(UNITS, **how),
        tfcap.layers.AnswerEncoder(UNITS, output_units=EMBEDDING_UNITS),
        EMBEDDING_UNITS,
        norm_regularizer=tfcap.losses.EmbeddingNorm(1e-3, "squared"),
    )
    generator(batch)
    discriminator({**batch, "options": batch["answer"][:, :, None]})
    return generator, discriminator


def train(name, model, batches, epochs, rate, options, **adam):
    """Trains a model of `tfcap.methods`; resumes it where it was stopped."""
    steps = epochs * batches.steps_per_epoch
    decay = keras.optimizers.schedules.PolynomialDecay(rate, steps, rate / 10)
    model.compile(tfcap.training.ClippedAdam(decay, **adam))
    callbacks, folder = [], options.out / name
    # Keras writes these logs by TensorFlow.
    tensorflow = keras.backend.backend() == "tensorflow"
    if tensorflow and tfcap.training.is_chief():
        callbacks = [keras.callbacks.TensorBoard(folder, write_graph=False)]
    print(f"\n{ROWS[name]}", flush=True)
    tfcap.training.Resume(folder / "checkpoints").fit(
        model, batches.dataset(epochs), epochs=epochs, callbacks=callbacks
    )


def write_page(path, test, pictures, answers):
    """Writes images with questions, human answers and two generators'."""
    cards, decode = [], test.vocabulary.decode
    for index in range(min(12, len(test))):
        (questions,), (humans,) = test.question([index]), test.answer([index])
        table = "<tr><th>question<th>human<th>G-MLE<th>G-DIS"
        for r in np.flatnonzero(questions.any(axis=-1)):
            cells = [decode(questions[r]), decode(humans[r])]
            for name in "hciae_g_mle", "hciae_g_dis":
                said = answers[name][index, r]
                cells.append(f"{said} ✓" if said == cells[1] else said)
            table += "<tr><td>" + "<td>".join(map(html.escape, cells))
        caption = decode(test.captions[index])
        cards.append(
            f"<article><figure>{html_page.picture(pictures[index], caption)}"
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
            f'<div class="scroll"><table>{table}</table></div></article>'
        )
    lines = ["✓: word for word the human answer. Others may be true, too."]
    html_page.write_html(path, "Answers about test images", lines, cards)


def show(options, results):
    """Prints a table; writes figures, and points for the Trade-off tab."""
    table = []
    for name, title in ROWS.items():
        found = results[name]
        cells = [f"{found[x]:.3g}" if x in found else "" for x in COLUMNS]
        table.append([title, *cells])
        with TradeoffWriter(options.out / "tradeoff" / name, title) as writer:
            writer.point(step=options.epochs, metrics=found)
    print("\n" + markdown_table(["", *COLUMNS], table))
    (options.out / "results.json").write_text(json.dumps(results, indent=1))
    print(f"\nScores and dialogs: results.json, page.html in {options.out}")
    print(f"Curves: tensorboard --logdir {options.out}")


def talk(generator, batches, index):
    """Answers questions about a test image, until the dialog is full."""
    known = batches.dialogs.vocabulary
    batch = batches.inputs(np.array([index]))
    question, history = batch["question"], batch["history"]
    question[:], history[:, 1:] = 0, 0  # the caption stays
    print(f"\n{known.decode(history[0, 0])}\nAsk about it:", flush=True)
    for r, text in zip(range(question.shape[1]), sys.stdin):
        words = [*tfcap.text.word_tokenize(text.rstrip("? \n")), "?"]
        words = known.encode(words, question.shape[2])
        question[0, r, : len(words)] = words
        answers = GREEDY.decode(generator, generator.begin(batch)).tokens
        answer = np.asarray(answers)[r, 0]
        print(known.decode(answer), flush=True)
        said = [*words, *answer[answer > generator.eos]][: history.shape[2]]
        history[0, r + 1 : r + 2, : len(said)] = said


def main(arguments):
    options = parse(arguments)
    if options.workers and not os.environ.get("TF_CONFIG"):
        command = [sys.executable, __file__, *arguments]
        run_as_workers(command, options.workers, options.trusted_network)
    strategy = tfcap.training.open_strategy()
    splits, features, pictures, judge = load(options)
    words = tfcap.data.build_vocabulary(splits[0])
    encode = tfcap.data.EncodedDialogs.from_split
    human, test = [encode(split, words) for split in splits]
    results = {"prior": tfcap.metrics.answer_prior(human, test).result()}
    answers, batches = {}, tfcap.data.DialogBatches
    source = human, features[0], options.batch_size, options.seed
    dialogs = batches(*source)
    ranked = batches(*source, negatives=10, in_batch_negatives=20)
    unseen = batches(test, features[1], min(20, len(test)), shuffle=False)

    def evaluate(name, network):
        results[name] = tfcap.training.rank_candidates(network, unseen).result()
        if network is generator:
            said = tfcap.training.generate(network, GREEDY, unseen)
            said = [words.decode(x) for x in said[:, 0]]
            answers[name] = np.reshape(said, (len(test), -1))
            if judge:
                results[name]["true_answers"] = 100 * judge(said)["true_share"]

    with strategy.scope():
        keras.utils.set_random_seed(options.seed)
        first, few = dialogs.inputs(np.arange(1)), max(1, options.epochs // 5)
        generator, discriminator = make_networks(words.size, first)
        clip = {"global_clipnorm": 5.0}
        mle = tfcap.methods.dialog_mle(generator, **clip)
        train("hciae_g_mle", mle, dialogs, options.epochs, 4e-3, options)
        evaluate("hciae_g_mle", generator)

        # A warm start, where the paper trains for 30 epochs.
        discriminator.embedding.set_weights(generator.embedding.get_weights())
        discriminator.encoder.set_weights(generator.encoder.get_weights())
        n_pair = tfcap.methods.n_pair(discriminator)
        train("hciae_d_np_att", n_pair, ranked, few, 2e-3, options, **clip)
        evaluate("hciae_d_np_att", discriminator)

        # Two ways to train the same generator on, for as many epochs.
        learned = generator.get_weights()
        how = {"max_length": MAX_LENGTH, "seed": options.seed, **clip}
        gdis = tfcap.methods.gdis(generator, discriminator, **how)
        for name, model in ("hciae_g_mle_control", mle), ("hciae_g_dis", gdis):
            generator.set_weights(learned)
            train(name, model, dialogs, few, 3e-4, options, beta_1=0.5)
            evaluate(name, generator)
        if tfcap.training.is_chief():
            show(options, results)
            write_page(options.out / "page.html", test, pictures, answers)
            if options.talk is not None:
                talk(generator, unseen, options.talk)
        tfcap.training.from_chief(None)  # all wait for the first one's files
    return results


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command resumes the run.")

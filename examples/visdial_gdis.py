"""Visual dialog by G-DIS: Best of Both Worlds (Lu et al., NIPS 2017).

    python examples/visdial_gdis.py --quick    # three minutes on two cores
    python examples/visdial_gdis.py            # more scenes, more questions
    python examples/visdial_gdis.py --talk     # then ask about an image
    python examples/visdial_gdis.py --data visdial --root DIR

A generator learns human answers (G-MLE), a discriminator learns to rank
candidate answers (D-NP-ATT), and then the generator learns from it, through
the words that it samples (G-DIS). Images are drawn scenes, or VisDial's: DIR
holds `visdial_1.0_train.json`, `visdial_1.0_val.json` and the file
`image_features.npy` of `python -m tfcap.extract`. The same command resumes a
run that was stopped. All rows of the paper: `python -m reproduce visdial`.
"""

import argparse
import html
import json
import os
import pathlib
import sys

import keras
import numpy as np

import tfcap
from tensorboard_plugin_tfcap.html_page import picture
from tensorboard_plugin_tfcap.html_page import write_html
from tensorboard_plugin_tfcap.summary import TradeoffWriter
from tfcap.launch import run_as_workers

# `reproduce`, which draws the scenes, stands beside this folder.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

MAX_LENGTH = 9  # words of an answer, its end included
UNITS, EMBEDDING_UNITS = 96, 64
#: Sizes of the drawn data, with `--quick` and without.
QUICK = {"train": 3000, "val": 10, "test": 200, "easy": True}
WHOLE = {"train": 5000, "val": 10, "test": 1000}
COLUMNS = ("mrr", "r@1", "r@5", "r@10", "mean_rank", "true_answers")
ROWS = {
    "prior": "answer prior",
    "hciae_g_mle": "G-MLE",
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
    quick = "_quick" if options.quick else ""
    options.out = options.out or pathlib.Path(f"runs/visdial_gdis{quick}")
    options.epochs = options.epochs or (12 if quick else 20)
    return options


def load(options):
    """Loads dialogs, features and pictures, and a judge of test answers."""
    if options.data == "visdial":
        files = [f"visdial_1.0_{x}.json" for x in ("train", "val")]
        splits = [tfcap.data.load_visdial(options.root / x) for x in files]
        path = options.root / "image_features.npy"
        ids = [split.image_ids for split in splits]
        features = [tfcap.data.load_features(path, x, lazy=True) for x in ids]
        return *encode(splits), features, [None] * len(splits[1]), None
    from reproduce.world import truth
    from reproduce.world.features import world_with_features

    sizes = QUICK if options.quick else WHOLE
    world, features = world_with_features(encoder_epochs=2, **sizes)
    splits = [
        tfcap.data.load_visdial(world.visdial_path(x), world.dense_path(x))
        for x in ("train", "test")
    ]
    rounds = [x for dialog in world.dialogs("test") for x in dialog.rounds]

    def judge(answers):
        return 100 * truth.answer_truth(rounds, answers)["true_share"]

    return *encode(splits), features[::2], world.images("test"), judge


def encode(splits):
    """Encodes dialogs by the vocabulary of those for training."""
    words = tfcap.data.build_vocabulary(splits[0])
    return [tfcap.data.EncodedDialogs.from_split(x, words) for x in splits]


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
    if tfcap.training.is_chief():
        callbacks = [keras.callbacks.TensorBoard(folder, write_graph=False)]
    print(f"\n{ROWS[name]}", flush=True)
    tfcap.training.Resume(folder / "checkpoints").fit(
        model, batches.dataset(epochs), epochs=epochs, callbacks=callbacks
    )


def write_page(path, test, pictures, answers):
    """Writes images with questions, human answers and the generators'."""
    cards, decode = [], test.vocabulary.decode
    heads = ["question", "human", *map(ROWS.get, answers)]
    for index in range(min(12, len(test))):
        (questions,), (humans,) = test.question([index]), test.answer([index])
        table = [[f"<th>{head}</th>" for head in heads]]
        for r in np.flatnonzero(questions.any(axis=-1)):
            human, row = decode(humans[r]), index * len(questions) + r
            said = [x[row] + " ✓" * (x[row] == human) for x in answers.values()]
            cells = [decode(questions[r]), human, *said]
            table.append([f"<td>{html.escape(cell)}</td>" for cell in cells])
        table = "".join(f"<tr>{''.join(cells)}</tr>" for cells in table)
        caption = decode(test.captions[index])
        cards.append(
            f"<article><figure>{picture(pictures[index], caption)}"
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
            f'<div class="scroll"><table>{table}</table></div></article>'
        )
    lines = ["✓: word for word the human answer. Others may be true, too."]
    write_html(path, "Answers about test images", lines, cards)


def show(options, results):
    """Prints a table; writes figures, and points for the Trade-off tab."""
    print("\n" + " " * 14 + "".join(f"{name:>14}" for name in COLUMNS))
    for name, title in ROWS.items():
        found = results[name]
        cells = (f"{found[x]:.3g}" if x in found else "" for x in COLUMNS)
        print(f"{title:14}" + "".join(f"{cell:>14}" for cell in cells))
        with TradeoffWriter(options.out / "tradeoff" / name, title) as writer:
            writer.point(step=options.epochs, metrics=found)
    path = options.out / "results.json"
    path.write_text(json.dumps(results, indent=1))
    print(f"\nFigures: {path}\nDialogs: {options.out / 'page.html'}")
    print(f"Curves: tensorboard --logdir {options.out}")


def talk(generator, test, features, index):
    """Answers questions about a test image, until the dialog is full."""
    known, greedy = test.vocabulary, tfcap.decoding.Greedy(MAX_LENGTH)
    batches = tfcap.data.DialogBatches(test, features, 1)
    batch = batches.inputs(np.array([index]))
    asked, history = batch["question"] * 0, batch["history"] * 0
    history[0, 0] = batch["history"][0, 0]  # the caption
    print(f"\n{known.decode(test.captions[index])}\nAsk about it:", flush=True)
    for r, text in zip(range(asked.shape[1]), sys.stdin):
        words = [*tfcap.text.word_tokenize(text.rstrip("? \n")), "?"]
        words = known.encode(words, asked.shape[2])
        asked[0, r, : len(words)] = words
        inputs = {**batch, "question": asked, "history": history}
        state = generator.begin(inputs)
        answer = np.asarray(greedy.decode(generator, state).tokens)[r, 0]
        print(known.decode(answer), flush=True)
        said = [*words, *answer[answer > generator.eos]][: history.shape[2]]
        history[0, r + 1 : r + 2, : len(said)] = said


def main(arguments=None):
    options = parse(arguments)
    if options.workers and not os.environ.get("TF_CONFIG"):
        given = sys.argv[1:] if arguments is None else arguments
        command = [sys.executable, __file__, *map(str, given)]
        run_as_workers(command, options.workers, options.trusted_network)
    strategy = tfcap.training.open_strategy()
    human, test, features, pictures, judge = load(options)
    prior, answers = tfcap.metrics.answer_prior(human, test), {}
    results = {"prior": prior.result()}

    def batches(split, **how):
        dialogs, size = (human, test)[split], options.batch_size
        images, size = features[split], min(size, len(dialogs))
        how["seed"] = options.seed
        return tfcap.data.DialogBatches(dialogs, images, size, **how)

    def evaluate(name, network):
        candidates = batches(1, shuffle=False)
        ranks = tfcap.training.rank_candidates(network, candidates)
        results[name] = ranks.result()
        if network is generator:
            greedy = tfcap.decoding.Greedy(MAX_LENGTH)
            said = tfcap.training.generate(network, greedy, candidates)
            answers[name] = [test.vocabulary.decode(x) for x in said[:, 0]]
            if judge:
                results[name]["true_answers"] = judge(answers[name])

    with strategy.scope():
        keras.utils.set_random_seed(options.seed)
        dialogs = batches(0)
        ranked = batches(0, negatives=10, in_batch_negatives=20)
        first, few = dialogs.inputs(np.arange(1)), max(1, options.epochs // 5)
        generator, discriminator = make_networks(human.vocabulary.size, first)

        clip = {"global_clipnorm": 5.0}
        mle = tfcap.methods.dialog_mle(generator, **clip)
        train("hciae_g_mle", mle, dialogs, options.epochs, 4e-3, options)
        evaluate("hciae_g_mle", generator)

        # A warm start, where the paper trains for 30 epochs.
        for part in "embedding", "encoder":
            weights = getattr(generator, part).get_weights()
            getattr(discriminator, part).set_weights(weights)
        n_pair = tfcap.methods.n_pair(discriminator)
        train("hciae_d_np_att", n_pair, ranked, few, 2e-3, options, **clip)
        evaluate("hciae_d_np_att", discriminator)

        how = {"max_length": MAX_LENGTH, "seed": options.seed, **clip}
        gdis = tfcap.methods.gdis(generator, discriminator, **how)
        train("hciae_g_dis", gdis, dialogs, few, 3e-4, options, beta_1=0.5)
        evaluate("hciae_g_dis", generator)
    if tfcap.training.is_chief():
        show(options, results)
        write_page(options.out / "page.html", test, pictures, answers)
        if options.talk is not None:
            talk(generator, test, features[1], options.talk)
    with strategy.scope():
        tfcap.training.from_chief(None)  # all wait for the first one's files
    return results


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("Stopped. The same command resumes the run.")

"""A speaker that is trained for CIDEr-D and stays diverse.

    python examples/diverse_captions.py             # the embedded world
    python examples/diverse_captions.py --quick     # to see it run
    python examples/diverse_captions.py --rows xe,sll,sll_sle,pg_cider
    python examples/diverse_captions.py --data flickr8k --root DIR

Trains a speaker by maximum likelihood, and then for rewards: sequence-level
learning (sll) loses diversity; sequence-level exploration (sll_sle) rewards
captions of an image for being different. Scores, captions, a page and
TensorBoard logs are written to a folder. Ctrl-C stops the run, and the same
command resumes it. With `--workers 2`, two processes train one model.
"""

import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce.captioning import write_caption_page
from reproduce.example import example_parser
from reproduce.example import parse_example
from reproduce.example import run_example
from reproduce.paper_sweep import paper_sweep
from reproduce.sle.paper import SLE
from reproduce.sle.paper import kept_several
from tfcap._io import command


def parse(argv):
    parser = example_parser(__doc__.splitlines()[0], "diverse", SLE)
    add = parser.add_argument
    add("--rows", default="xe,sll,sll_sle", help="with commas")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    return parse_example(parser, argv)


def show(rows, data, options):
    """Sets several captions of an image by each speaker side by side."""
    reports = kept_several(options.out, rows, options.seed)
    if reports:
        page = options.out / "page.html"
        write_caption_page(page, reports, data.test_images, note=options.note)
        print(f"\nSeveral samples of an image, by each speaker: {page}")


@command()
def main(argv=None):
    options = parse(argv)
    rows, seed = options.rows.split(","), options.seed

    def work(data, settings):
        about = options.out, data, settings, SLE.grid(rows, [seed])
        sweep = paper_sweep(SLE, *about)
        return sweep.work(), sweep.records(), data

    status, found = run_example(__file__, argv, options, SLE, work)
    if found is None:
        return status or 0
    status, records, data = found
    tables = SLE.tables(records, data.name)
    print("\n\n".join([options.note, *map(str, tables)]))
    show(rows, data, options)
    print(f"Networks and every caption: {options.out / f'seed_{seed}'}")
    print(f"To watch: tensorboard --logdir {options.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""Captions that tell their image from others, and still read well.

    python examples/distinctive_captions.py             # the embedded world
    python examples/distinctive_captions.py --quick     # to see it run
    python examples/distinctive_captions.py --rows tf,wtf,wtf_rl,rl
    python examples/distinctive_captions.py --data flickr8k --root DIR

Trains two retrievers on human captions and a speaker by maximum likelihood, and
then the speaker for the first retriever: on human captions weighted by their
distinctiveness (wtf), on its own (rl), or on both (wtf_rl), beside a
discriminator that keeps the language natural. The second, held-out retriever
measures whether the gain transfers. Scores, captions with their ranks, a page
and TensorBoard logs are written to a folder. Ctrl-C stops the run, and the same
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
from reproduce.point_log import kept_report
from reproduce.wtf_rl.paper import WTF_RL
from tfcap._io import command


def parse(argv):
    parser = example_parser(__doc__.splitlines()[0], "distinctive", WTF_RL)
    add = parser.add_argument
    add("--rows", default="tf,wtf_rl,rl", help="with commas")
    add("--seed", type=int, default=0, help="of weights, batches and samples")
    return parse_example(parser, argv)


def show(rows, data, options):
    """Sets captions of the rows side by side."""
    points = {row: {"method": row, "seed": options.seed} for row in rows}
    reports = {
        row: kept_report(options.out, WTF_RL, point)
        for row, point in points.items()
    }
    reports = {row: report for row, report in reports.items() if report}
    if reports:
        page = options.out / "page.html"
        write_caption_page(page, reports, data.test_images, note=options.note)
        print(f"\nCaptions and ranks: {page}")


@command()
def main(argv=None):
    options = parse(argv)
    rows, seed = options.rows.split(","), options.seed

    def work(data, settings):
        about = options.out, data, settings, WTF_RL.grid(rows, [seed])
        sweep = paper_sweep(WTF_RL, *about)
        return sweep.work(), sweep.records(), data

    status, found = run_example(__file__, argv, options, WTF_RL, work)
    if found is None:
        return status or 0
    status, records, data = found
    tables = WTF_RL.tables(records, data.name)
    print("\n\n".join([options.note, *map(str, tables)]))
    show(rows, data, options)
    print(f"Networks and every caption: {options.out / f'seed_{seed}'}")
    print(f"To watch: tensorboard --logdir {options.out}")
    return status


if __name__ == "__main__":
    sys.exit(main())

"""Best of Both Worlds (Lu et al., NIPS 2017), from images to tables.

    python examples/visdial_gdis.py             # a synthetic world
    python examples/visdial_gdis.py --quick     # a minute, to see it run
    python examples/visdial_gdis.py --talk      # ask the trained model
    python examples/visdial_gdis.py --data visdial --root DIR
    python examples/visdial_gdis.py --data visdial --root DIR --ranks

Trains discriminators and generators, ranks their answers, and leaves tables,
figures, a page to look at and TensorBoard logs in a folder. Ctrl-C stops it;
the same command goes on. With `--workers 2`, two processes train as one. With
`--ranks`, a file of ranks of the Visual Dialog Challenge's test split is
written for every network, in the format of its server.

To adapt it, add a row: a method of `tfcap.methods`, and the encoder that its
network is made of, or the rows that its networks start from. With networks
and data of your own you need no rows: call `tfcap.methods.gdis()` itself.
"""

import os
import pathlib
import sys

# `reproduce` stands beside this folder, and is not installed.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from reproduce import visdial
from tfcap import methods

#: A row of your own, which `--rows lf_g_dis` trains.
visdial.ROWS["lf_g_dis"] = {
    "about": "Late fusion, trained through HCIAE's discriminator (not in the "
    "paper).",
    "method": methods.gdis,
    "start": {"generator": "lf_g", "discriminator": "hciae_d_np_att"},
}


def main(arguments=None):
    return visdial.main(arguments, program=[os.path.relpath(__file__)])


if __name__ == "__main__":
    sys.exit(main())

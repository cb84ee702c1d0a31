"""Checks on two replicas, in one process: a TensorFlow takes long to start.

Run by a test, in which every module is a test; exits with 0 if all is well:
`PYTHONPATH=. python tests/two_replicas.py losses.two_replicas`
"""

import importlib
import sys
import traceback

import tensorflow as tf


def main(names):
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0],
        [tf.config.LogicalDeviceConfiguration()] * 2,
    )
    # One strategy a process: the collectives of two would mix.
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    # It takes longer to improve a graph than to run it these few times.
    tf.config.optimizer.set_experimental_options(
        {"disable_meta_optimizer": True}
    )
    failed = False
    for name in names:
        print(f"tests.{name}:", flush=True)
        module = importlib.import_module(f"tests.{name}")
        try:
            module.check_all(strategy)
        except (Exception, SystemExit):
            failed = True
            print(traceback.format_exc())
        else:
            print(f"tests.{name} is well", flush=True)
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

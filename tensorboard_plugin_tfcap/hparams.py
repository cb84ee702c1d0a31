"""Settings of runs, as TensorBoard's HParams plugin keeps them."""

from google.protobuf import json_format
from tensorboard.plugins.hparams import metadata

from tensorboard_plugin_tfcap.metadata import plain_parameters


def run_hparams(log):
    """Settings by run.

    Args:
        log: `Log`.

    Returns:
        Dict of dicts of numbers and words by name, by run.
    """
    found = {}
    for run, tags in log.tensors(metadata.PLUGIN_NAME).items():
        series = tags.get(metadata.SESSION_START_INFO_TAG)
        if series is None:
            continue
        started = metadata.parse_session_start_info_plugin_data(
            series.plugin_content
        )
        values = {
            name: json_format.MessageToDict(value)
            for name, value in started.hparams.items()
        }
        found[run] = plain_parameters(values)
    return found

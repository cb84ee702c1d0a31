"""Events of TensorBoard's files."""

import time

import numpy as np

from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.metadata import encode_content


def event_file(directory):
    """A writer of a new event file in a folder."""
    # TensorBoard is slow to import, and most importers never write.
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    return EventFileWriter(directory)


def summary_event(kind, tag, step, value, metrics, others=()):
    """A record of the plugin as an event of TensorBoard.

    Args:
        kind: String, one of `metadata.KINDS`.
        value: Bytes of JSON; for samples, an array of these and of pictures.
        metrics: Iterable of `Metric`, which the first record of a tag
            describes; `None` for later ones.
        others: Values of other plugins that are written with it.
    """
    from tensorboard.compat.proto import summary_pb2
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
    from tensorboard.util.tensor_util import make_tensor_proto

    classes = {"samples": summary_pb2.DATA_CLASS_BLOB_SEQUENCE}
    metadata = None
    if metrics is not None:
        metadata = SummaryMetadata(
            plugin_data=SummaryMetadata.PluginData(
                plugin_name=PLUGIN_NAME, content=encode_content(kind, metrics)
            ),
            data_class=classes.get(kind, summary_pb2.DATA_CLASS_TENSOR),
        )
    tensor = make_tensor_proto(np.array(value, dtype=object))
    one = Summary.Value(tag=tag, tensor=tensor, metadata=metadata)
    summary = Summary(value=[one, *others])
    return Event(wall_time=time.time(), step=int(step), summary=summary)

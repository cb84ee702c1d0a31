"""Points for TensorBoard's other tabs: scalars and HParams."""

#: The group that TensorBoard opens: it sorts capitals before other letters.
FIRST = "Scores/"


def scalar_values(metrics, training):
    """Summary values of metrics, for Time Series.

    Scores that papers print, the loss and the rewards are in the first group.

    Args:
        metrics: Dict of floats by name, as of `grouped_name()`, NaN and
            infinity among them.
        training: Dict of floats by name, what training logs.
    """
    from tensorboard.compat.proto.summary_pb2 import Summary

    values = dict(metrics)
    for name, value in training.items():
        detail = "/" in name and not name.endswith("/loss")
        name = name if detail else name.replace("/", "_")
        values[f"train{'/' if detail else '_'}{name}"] = value
    return [
        Summary.Value(
            tag=name if "/" in name else f"{FIRST}{name}", simple_value=value
        )
        for name, value in values.items()
    ]


def settings_value(about):
    """Summary value of a run's settings, for HParams.

    Args:
        about: Dict of `method`, `params`, and `seed` and `split`, which may
            be `None`.
    """
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.plugins.hparams import metadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    content = HParamsPluginData()
    hparams = content.session_start_info.hparams
    names = ("method", "seed", "split")
    settings = {name: about[name] for name in names} | about["params"]
    for name, value in settings.items():
        if isinstance(value, bool):
            hparams[name].bool_value = value
        elif isinstance(value, int | float):
            hparams[name].number_value = value
        elif value is not None:
            hparams[name].string_value = value
    return Summary.Value(
        tag=metadata.SESSION_START_INFO_TAG,
        metadata=metadata.create_summary_metadata(content),
        tensor=metadata.NULL_TENSOR,
    )

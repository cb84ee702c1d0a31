"""Logs as torch, Keras and Lightning write them."""

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
from tensorboard.plugins.hparams import api_pb2
from tensorboard.plugins.hparams import metadata
from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
from tensorboard.summary.writer.event_file_writer import EventFileWriter


def write_scalars(folder, values, *summaries):
    """Values by tag and step, and summaries before them."""
    writer = EventFileWriter(str(folder))
    for summary in summaries:
        writer.add_event(Event(summary=summary))
    for tag, series in values.items():
        for step, value in enumerate(series):
            one = Summary.Value(tag=tag, simple_value=value)
            writer.add_event(Event(step=step, summary=Summary(value=[one])))
    writer.close()


def hparams(settings):
    """The summary of a session's start, without a tensor as torch has it."""
    content = HParamsPluginData()
    values = content.session_start_info.hparams
    for name, value in settings.items():
        if isinstance(value, str):
            values[name].string_value = value
        else:
            values[name].number_value = value
    return _summary(metadata.SESSION_START_INFO_TAG, content)


def hparams_config(*metrics):
    """The summary of an experiment: pairs of group and tag of its metrics."""
    infos = [
        api_pb2.MetricInfo(name=api_pb2.MetricName(group=group, tag=tag))
        for group, tag in metrics
    ]
    experiment = api_pb2.Experiment(metric_infos=infos)
    content = HParamsPluginData(experiment=experiment)
    return _summary(metadata.EXPERIMENT_TAG, content)


def _summary(tag, content):
    data = SummaryMetadata.PluginData(
        plugin_name=metadata.PLUGIN_NAME, content=content.SerializeToString()
    )
    about = SummaryMetadata(plugin_data=data)
    return Summary(value=[Summary.Value(tag=tag, metadata=about)])


def write_torch(logs, steps=3, models=("cnn", "mlp"), rates=(1, 2, 4)):
    """Runs of torch's `SummaryWriter`: `add_scalars()`, `add_hparams()`."""
    for place, model in enumerate(models):
        for rate in rates:
            for seed in (0, 1):
                run = logs / f"{model}_{rate}_{seed}"
                up = [(step + rate) / (step + 9) for step in range(steps)]
                accuracy = [0.9 * u - 0.1 * place + 0.01 * seed for u in up]
                loss = [1 / (0.2 + a) for a in accuracy]
                write_scalars(
                    run,
                    {
                        "epoch": range(steps),
                        "Accuracy/val": accuracy,
                        "Latency/val": [9.0 * rate + place + seed] * steps,
                        "learning_rate": [0.1 * rate] * steps,
                    },
                )
                for part in ("train", "val"):
                    write_scalars(run / f"Loss_{part}", {"Loss": loss})
                write_scalars(
                    run / f"17000000{place}{seed}.{rate}",
                    {"hparam/accuracy": accuracy[-1:]},
                    hparams_config(("", "hparam/accuracy")),
                    hparams({"lr": 0.1 * rate, "model": model, "seed": seed}),
                )


def write_keras(logs, rates=(0.1, 0.2), seeds=(0, 1), steps=3):
    """Runs of `keras.callbacks.TensorBoard`, named by their settings."""
    for rate in rates:
        for seed in seeds:
            run = logs / f"resnet_lr={rate}_seed={seed}"
            rise = [rate * (step + 1) + 0.01 * seed for step in range(steps)]
            fall = [1 - value for value in rise]
            common = {"epoch_accuracy": rise, "epoch_loss": fall}
            write_scalars(
                run / "train", {**common, "epoch_learning_rate": [rate] * steps}
            )
            write_scalars(
                run / "validation",
                {**common, "evaluation_loss_vs_iterations": fall},
            )


def write_lightning(logs, versions=2):
    """Runs of Lightning's `TensorBoardLogger`."""
    for version in range(versions):
        down = [2.0 - version, 1.0 - 0.1 * version]
        write_scalars(
            logs / "lightning_logs" / f"version_{version}",
            {
                **{"epoch": [0.0, 1.0], "hp_metric": [-1.0]},
                **{"train_loss_epoch": down, "train_loss_step": down},
                **{"val_acc": [0.5, 0.6], "val_loss": down, "lr-Adam": down},
            },
            hparams_config(("", "hp_metric")),
            hparams({"lr": 0.1 * (version + 1)}),
        )

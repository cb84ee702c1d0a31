"""Entry point for TensorBoard.

TensorBoard loads this module at each start and does not start if that fails,
so only Python and TensorBoard are imported here.
"""

from tensorboard.plugins import base_plugin

#: Records kept of a run; TensorBoard's own default is ten.
SAMPLES = 1000
_NAME = "tfcap_tradeoff"


class TradeoffLoader(base_plugin.TBLoader):
    """Loads the trade-off plugin."""

    def define_flags(self, parser):
        """Adds the plugin's flag to TensorBoard's."""
        parser.add_argument_group("Trade-off tab").add_argument(
            "--tfcap_comparison",
            metavar="FILE",
            default="",
            help="JSON file of titles, presets and published results: the "
            "arguments of tensorboard_plugin_tfcap.summary.write_comparison()",
        )

    def fix_flags(self, flags):
        """Keeps more than ten records of a run by default."""
        kept = dict(flags.samples_per_plugin or {})
        kept.setdefault(_NAME, SAMPLES)
        flags.samples_per_plugin = kept

    def load(self, context):
        """Makes the plugin."""
        from tensorboard_plugin_tfcap.plugin import TradeoffPlugin

        path = getattr(context.flags, "tfcap_comparison", "")
        return TradeoffPlugin(context, path)

"""The plugin: its routes, and what they answer."""

import functools
import os
from dataclasses import replace

from tensorboard import errors
from tensorboard import plugin_util
from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tensorboard_plugin_tfcap import static_files
from tensorboard_plugin_tfcap.dataset import presented
from tensorboard_plugin_tfcap.event_files import EventFiles
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.figure_view import tables_view
from tensorboard_plugin_tfcap.log import Log
from tensorboard_plugin_tfcap.memo import SeriesMemo
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.picture_file import FORMS
from tensorboard_plugin_tfcap.picture_file import parse_sheet
from tensorboard_plugin_tfcap.picture_file import picture_bytes
from tensorboard_plugin_tfcap.query import parse_query
from tensorboard_plugin_tfcap.query import whole_number
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.samples_view import read_picture
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.seen import SeenMethods
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.shown import Shown
from tensorboard_plugin_tfcap.sources import Sources
from tensorboard_plugin_tfcap.state_view import state_view
from tensorboard_plugin_tfcap.table_text import FORMATS
from tensorboard_plugin_tfcap.table_text import table_text

#: Seconds that a browser keeps Plotly, whose address tells its version.
_KEEP = 7 * 24 * 3600
#: Seconds in which one request checks event files.
_CHECK = 0.2
_JSON = "application/json"


class TradeoffPlugin(base_plugin.TBPlugin):
    """Plots recall against naturalness while runs train.

    Args:
        context: `base_plugin.TBContext`. Of it, the data provider alone is
            used, which every loader of TensorBoard provides.
        comparison: String, path of a file of JSON that says how logs are
            presented. See `load_comparison()`. Defaults to `""`, none.
    """

    plugin_name = PLUGIN_NAME

    def __init__(self, context, comparison=""):
        self._provider = context.data_provider
        self._comparison = comparison
        flags = getattr(context, "flags", None)
        self._kept = dict(getattr(flags, "samples_per_plugin", None) or {})
        self._datasets = SeriesMemo()
        self._memo = SeriesMemo()
        self._files = EventFiles(_CHECK)
        self._seen = SeenMethods()

    def get_plugin_apps(self):
        """The routes, below `/data/plugin/tfcap_tradeoff`."""
        routes = {
            "/static/*": self._static,
            "/plotly.js": self._plotly,
            "/state": self._state,
            "/figure": self._figure,
            "/tables": self._tables,
            "/table": self._table,
            "/picture": self._picture,
            "/samples": self._samples,
            "/blob": self._blob,
        }
        return {path: _application(route) for path, route in routes.items()}

    def is_active(self):
        """Leaves it to TensorBoard, which knows by the plugin's name."""
        return False

    def frontend_metadata(self):
        """Path of the page."""
        return base_plugin.FrontendMetadata(
            es_module_path="/static/index.js", tab_name="Trade-off"
        )

    def _state(self, request):
        query, sources = self._asked(request)
        source = sources.chosen(query.source)
        revision = self._revision(source)
        if request.args.get("rev") == revision:
            return _json(request, {"unchanged": True, "rev": revision})
        dataset = self._dataset(sources, query)
        version = static_files.plotly_version()
        counts = sources.counts(source.name)
        logdir = sources.log.location()
        view = state_view(dataset, query, counts, version, logdir)
        return _json(request, view)

    def _figure(self, request):
        return _json(request, figure_view(self._selected(request)))

    def _tables(self, request):
        return _json(request, tables_view(self._selected(request)))

    def _table(self, request):
        selection = self._selected(request)
        form = request.args.get("format", "markdown")
        text = table_text(selection, form, request.args.get("table"))
        return http_util.Respond(request, text, FORMATS[form][0])

    def _picture(self, request):
        sheet = parse_sheet(request.args)
        shown = Shown(self._selected(request))
        try:
            data = picture_bytes(shown, sheet)
        except ImportError as error:
            raise QueryError(str(error)) from error
        return http_util.Respond(request, data, FORMS[sheet.form])

    def _samples(self, request):
        query, sources = self._asked(request)
        run = request.args.get("run", "")
        page = whole_number("page", request.args.get("page", "0"))
        dataset = self._dataset(sources, query)
        view = samples_view(
            sources.log, run, query.step, page, dataset.about(run)
        )
        return _json(request, view)

    def _blob(self, request):
        query, sources = self._asked(request)
        number = whole_number("number", request.args.get("number", "0"))
        run = request.args.get("run", "")
        picture = read_picture(sources.log, run, query.step, number)
        if picture is None:
            raise errors.NotFoundError("There is no such picture.")
        return http_util.Respond(request, *picture)

    def _static(self, request):
        name = request.path.partition("/static/")[2]
        file_path = static_files.static_path(name)
        if file_path is None:
            raise errors.NotFoundError("There is no such file.")
        path, kind = file_path
        with open(path, "rb") as file:
            return http_util.Respond(request, file.read(), kind)

    def _plotly(self, request):
        path = static_files.plotly_path()
        if path is None:
            raise errors.NotFoundError(
                "Plotly, which draws the figure, is not installed beside "
                "TensorBoard. Run: pip install plotly."
            )
        with open(path, "rb") as file:
            kind = static_files.TYPES[".js"]
            return http_util.Respond(request, file.read(), kind, expires=_KEEP)

    def _asked(self, request):
        """The query of a request, and the sources of its log."""
        environ = request.environ
        log = Log(
            self._provider,
            plugin_util.context(environ),
            plugin_util.experiment_id(environ),
            self._kept,
            self._memo,
            self._files,
        )
        return parse_query(request.args), Sources(log)

    def _selected(self, request):
        query, sources = self._asked(request)
        return select(self._dataset(sources, query), query)

    def _dataset(self, sources, query):
        source = sources.chosen(query.source)
        key = (sources.log.experiment, source.name, *source.about(query))
        revision = self._revision(source)

        def read():
            dataset = replace(source.dataset(query), rev=revision)
            try:
                return presented(dataset, self._comparison)
            except (OSError, ValueError) as error:
                raise QueryError(f"--tfcap_comparison: {error}") from error

        dataset = self._datasets.result(key, revision, read)
        # Titles of another grouping have no place among these.
        dataset = self._seen.ordered((*key[:2], query.group), dataset)
        return dataset.directed(query)

    def _revision(self, source):
        """A text that changes with the log and with how it is presented."""
        if not self._comparison:
            return source.revision()
        try:
            about = os.stat(self._comparison)
        except OSError:
            # Reading the file reports the error.
            return f"{source.revision()}-"
        stamp = f"{about.st_mtime_ns}-{about.st_size}"
        return f"{source.revision()}-{stamp}"


def _application(route):
    """A route as a WSGI application that answers errors with sentences."""

    @wrappers.Request.application
    @functools.wraps(route)
    def application(request):
        try:
            if request.method not in ("GET", "HEAD"):
                return _json(request, {"error": "The method must be GET."}, 405)
            if _is_foreign(request):
                text = "Requests from pages of other sites are rejected."
                return _json(request, {"error": text}, 403)
            return route(request)
        except (QueryError, errors.InvalidArgumentError) as error:
            return _json(request, {"error": str(error)}, 400)
        except errors.NotFoundError as error:
            text = str(error).removeprefix("Not found: ")
            return _json(request, {"error": text}, 404)

    return application


def _is_foreign(request) -> bool:
    """Check whether a request comes from a page of another site.

    Requests that cost no more than reading a file are answered nevertheless.
    """
    site = request.headers.get("Sec-Fetch-Site", "none")
    cheap = request.path.endswith("/plotly.js") or "/static/" in request.path
    return site not in ("same-origin", "none") and not cheap


def _json(request, content, code=200):
    return http_util.Respond(request, content, _JSON, code)

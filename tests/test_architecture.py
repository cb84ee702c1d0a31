"""Rules about the sources: imports, sizes, exports and docstrings."""

import ast
import dataclasses
import functools
import importlib
import inspect
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
LIBRARY = sorted((ROOT / "tfcap").rglob("*.py"))
PLUGIN = sorted((ROOT / "tensorboard_plugin_tfcap").rglob("*.py"))
EXPERIMENTS = sorted((ROOT / "reproduce").rglob("*.py"))
#: Callers of the public interface.
CALLERS = [
    *EXPERIMENTS,
    *sorted((ROOT / "examples").rglob("*.py")),
    *sorted((ROOT / "benchmarks").rglob("*.py")),
]
SOURCES = [*LIBRARY, *PLUGIN, *EXPERIMENTS]
PACKAGES = sorted(
    path.parent.relative_to(ROOT).as_posix().replace("/", ".")
    for path in SOURCES
    if path.name == "__init__.py"
    and path.parent.name
    not in ("tfcap", "tensorboard_plugin_tfcap", "reproduce")
)
#: A module that every package may import.
PRINTED = "_printed"
#: Packages that a package may import, the lowest first.
BELOW = {
    "curves": (),
    "_io": (),
    "_ops": (),
    "text": ("_io",),
    "layers": ("_ops",),
    "losses": ("_ops",),
    "metrics": ("_ops", "text", "losses"),
    "data": ("_io", "text"),
    "decoding": ("_ops", "layers"),
    "models": ("_io", "_ops", "text", "layers"),
    "rewards": ("_ops", "text", "losses", "metrics", "decoding.rollout"),
}
BELOW["objectives"] = (*BELOW["rewards"], "layers", "data", "decoding")
BELOW["objectives"] += ("rewards",)
BELOW["training"] = (*BELOW["objectives"], "_io", "objectives", "models")
BELOW["methods"] = (*BELOW["training"], "training")
#: Modules that run as `python -m tfcap.evaluate`, and which packages they may
#: import.
COMMANDS = {
    "evaluate": ("data", "_io", "text"),
    "extract": ("data", "_io"),
    "launch": (),
}
#: Parts of the plugin that a package may import, to write logs.
PLUGIN_PARTS = {"training": ("summary",)}
#: Imports of the plugin when it is loaded, beside itself and Python.
PLUGIN_LOADS = (
    *("numpy", "tensorboard", "werkzeug", "google.protobuf"),
    "tfcap.curves",
)
PLUGIN_NAME = "tensorboard_plugin_tfcap"
#: Names of the plugin that others import, beside exports of its `tradeoff`.
PLUGIN_PUBLIC = {
    f"{PLUGIN_NAME}.html_page": ("picture", "write_html"),
    f"{PLUGIN_NAME}.notebook": ("show_tradeoff",),
    f"{PLUGIN_NAME}.summary": (
        *("Claim", "Sample", "TradeoffWriter"),
        *("write_comparison", "write_references"),
    ),
}
#: Public packages within packages.
PUBLIC_WITHIN = ("text.rewards",)
#: Files of `CALLERS` that still import private names. To be emptied.
PRIVATE_IMPORTS = {"benchmarks/host_scores.py"}
#: Packages that use tensors through `keras.ops` alone.
ANY_BACKEND = ("_ops", "layers", "losses", "rewards")
#: Packages without tensors.
HOST = ("curves", "_io", "text")
#: Exports that take files or a data set to be shown; examples/ shows them.
NEED_DATA = {
    "tfcap.data": {
        "DialogBatches",
        "load_features",
        "load_visdial",
        "named_backbone",
        "write_visdial_ranks",
    },
    "tfcap.decoding": {"stepwise_log_probs"},
    "tfcap.layers": {"ProbabilityChannel"},
    "tfcap.models": {
        "CLIPListener",
        "clip_retriever",
        "from_gguf",
        "prune_vocabulary",
    },
    "tfcap.rewards": {"LikelihoodReader"},
    "tfcap.training": {"candidate_scores", "generate", "rank_candidates"},
}
LONGEST_FILE, LONGEST_FUNCTION = 1000, 70


@functools.cache
def tree(path):
    return ast.parse(path.read_text())


def imported(nodes):
    """Full names of what a piece of source imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
            yield from (f"{node.module}.{a.name}" for a in node.names)


def at_load(path):
    """Nodes that run when a module is imported."""

    def walk(node):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.Lambda):
                yield child
                yield from walk(child)

    return list(walk(tree(path)))


def package_of(path):
    parts = path.relative_to(ROOT / "tfcap").parts
    return parts[0] if len(parts) > 1 else None


def title(path):
    return path.relative_to(ROOT).as_posix()


def within(name, allowed):
    return any(name == a or name.startswith(f"{a}.") for a in allowed)


def broken_imports(path):
    """Imports of one file that `BELOW` does not have."""
    own = package_of(path) or path.stem
    for name in imported(ast.walk(tree(path))):
        if name.startswith("."):
            yield name
        elif name.startswith("tfcap."):
            allowed = COMMANDS[own] if own in COMMANDS else (own, *BELOW[own])
            if not within(name.removeprefix("tfcap."), (*allowed, PRINTED)):
                yield name
        elif name.startswith("tensorboard_plugin_tfcap."):
            allowed = PLUGIN_PARTS.get(own, ())
            if not within(name.split(".", 1)[1], allowed):
                yield name


@pytest.mark.parametrize("own", BELOW)
def test_a_package_imports_only_packages_below(own):
    found = {
        title(path): sorted(set(broken_imports(path)))
        for path in LIBRARY
        if package_of(path) == own
    }
    assert found, f"there is no package {own}"
    assert not {path: names for path, names in found.items() if names}


def test_every_package_has_its_allowed_imports():
    packages = {package_of(path) for path in LIBRARY} - {None}
    assert packages == set(BELOW)


def test_commands_import_only_the_packages_that_they_need():
    paths = [p for p in LIBRARY if package_of(p) is None and p.stem[0] != "_"]
    assert {path.stem for path in paths} == set(COMMANDS)
    assert not [name for path in paths for name in broken_imports(path)]


def test_allowed_imports_have_no_cycle():
    for number, (name, allowed) in enumerate(BELOW.items()):
        below = list(BELOW)[:number]
        assert all(a.split(".")[0] in below for a in allowed), name


@pytest.mark.parametrize("own", [*ANY_BACKEND, *HOST])
def test_tensors_are_those_of_any_backend(own):
    forbidden = ["tensorflow", "jax", "torch"]
    if own in HOST:
        forbidden += ["keras", "tfcap._ops"]
    for path in LIBRARY:
        if package_of(path) == own:
            nodes = ast.walk(tree(path)) if own in HOST else at_load(path)
            names = {n for n in imported(nodes) if within(n, forbidden)}
            assert not names, f"{title(path)} imports {sorted(names)}"


@pytest.mark.parametrize("path", PLUGIN, ids=title)
def test_the_plugin_loads_little_and_of_tfcap_only_curves(path):
    everywhere = set(imported(ast.walk(tree(path))))
    forbidden = ["tfcap", "keras", "tensorflow", "reproduce"]
    found = {n for n in everywhere if within(n, forbidden)}
    assert not {n for n in found if not within(n, ["tfcap.curves"])}
    here = [*PLUGIN_LOADS, "tensorboard_plugin_tfcap", *sys.stdlib_module_names]
    assert not {n for n in imported(at_load(path)) if not within(n, here)}


def private_imports(path):
    """Imports but for `from tfcap.PACKAGE import EXPORTED`, and as of those."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (
                alias.name
                for alias in node.names
                if within(alias.name, ["tfcap", PLUGIN_NAME])
                and "." in alias.name
            )
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        package, _, rest = node.module.partition(".")
        if package in ("tfcap", PLUGIN_NAME) and rest:
            known = PLUGIN_PUBLIC.get(node.module, ())
            open_to_all = "." not in rest or rest in PUBLIC_WITHIN
            if rest == "tradeoff" or package == "tfcap" and open_to_all:
                known = exports(node.module)
            yield from (
                f"{node.module}.{alias.name}"
                for alias in node.names
                if alias.name not in known
            )


def test_callers_import_public_names_only():
    found = {title(p): sorted(set(private_imports(p))) for p in CALLERS}
    found = {path: names for path, names in found.items() if names}
    new = {p: n for p, n in found.items() if p not in PRIVATE_IMPORTS}
    assert not new, "import these from the package, or export them"
    assert not PRIVATE_IMPORTS - set(found), "take these off PRIVATE_IMPORTS"


def test_files_are_short():
    lines = {title(p): len(p.read_text().splitlines()) for p in SOURCES}
    assert not {k: v for k, v in lines.items() if v > LONGEST_FILE}


def body_lines(function):
    """Lines of a function after its docstring."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_functions_are_short():
    long = [
        f"{title(path)}: {node.name}"
        for path in SOURCES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef)
        and body_lines(node) > LONGEST_FUNCTION
    ]
    assert not long


def test_errors_are_neither_asserted_nor_swallowed():
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            found = isinstance(node, ast.Assert) or swallows(node)
            assert not found, f"{title(path)}:{node.lineno}"


def swallows(node):
    """Check whether a handler takes any error and does not look at it."""
    if not isinstance(node, ast.ExceptHandler):
        return False
    broad = {"Exception", "BaseException"}
    names = {n.id for n in ast.walk(node.type or node) if hasattr(n, "id")}
    if node.type is not None and not names & broad:
        return False
    inside = [n for statement in node.body for n in ast.walk(statement)]
    looked_at = any(getattr(n, "id", None) == node.name for n in inside)
    raised = any(isinstance(n, ast.Raise) for n in inside)
    return node.type is None or not (node.name and looked_at or raised)


@pytest.mark.parametrize(
    ("handler", "swallowed"),
    [
        ("except: raise", True),
        ("except Exception: pass", True),
        ("except (OSError, Exception): return 0", True),
        ("except BaseException as error: print('failed')", True),
        ("except Exception as error: told(error)", False),
        ("except BaseException: raise", False),
        ("except OSError: pass", False),
    ],
)
def test_swallowed_errors_are_seen(handler, swallowed):
    made = ast.parse(f"def f():\n    try: ...\n    {handler}")
    assert any(map(swallows, ast.walk(made))) == swallowed


def test_no_file_is_a_drawer_for_everything():
    drawers = {"utils.py", "util.py", "misc.py", "helpers.py", "common.py"}
    assert not [p for p in SOURCES if p.name in drawers]


def exports(package):
    module = importlib.import_module(package)
    return {
        name: value
        for name, value in vars(module).items()
        if name[0] != "_" and not inspect.ismodule(value)
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_are_imported_one_by_one_from_where_they_are(package):
    path = ROOT / package.replace(".", "/") / "__init__.py"
    for node in tree(path).body[1:]:
        assert isinstance(node, ast.ImportFrom), f"{package}:{node.lineno}"
        assert node.level == 0 and len(node.names) == 1
        assert node.module.startswith((package, "tensorboard_plugin_tfcap"))
        name = node.names[0].name
        module = importlib.import_module(node.module)
        exported = getattr(importlib.import_module(package), name)
        assert getattr(module, name) is exported
    assert ast.get_docstring(tree(path))


#: Openings of clauses: a docstring begins with a noun or a verb.
CLAUSES = re.compile(r"(What|Who|Whom|Whose|Whether|How|Where|When|Why)\b")


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_are_documented(package):
    for name, value in exports(package).items():
        if not callable(value):
            continue
        own = vars(value) if inspect.isclass(value) else {}
        doc = own.get("__doc__", value.__doc__) or ""
        assert doc.strip(), f"{package}.{name} has no docstring"
        first = doc.strip().splitlines()[0]
        assert first.endswith("."), f"{package}.{name}: {first}"
        assert not CLAUSES.match(first), f"{package}.{name}: {first}"


#: Openings that no docstring has, private ones included.
PRONOUNS = re.compile(r"(What|Who|Whom|Whose)\b")
#: Nodes of a source that have docstrings.
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_docstrings_open_with_a_noun_or_a_verb():
    found = [
        f"{title(path)}:{node.body[0].lineno}"
        for path in sorted({*SOURCES, *CALLERS})
        for node in ast.walk(tree(path))
        if isinstance(node, DOCUMENTED)
        and PRONOUNS.match(ast.get_docstring(node) or "")
    ]
    assert not found


#: Packages whose functions have typed signatures.
TYPED = ["tfcap.curves", "tfcap._io"]


@pytest.mark.parametrize("package", TYPED)
def test_signatures_are_typed(package):
    lacking = []
    for name, value in exports(package).items():
        methods = vars(value) if inspect.isclass(value) else {"": value}
        for key, method in methods.items():
            if key[:1] == "_" and key != "__init__":
                continue
            if inspect.isfunction(method):
                lacking += untyped(f"{name}.{key}", method)
    assert not lacking


def untyped(name, function):
    """Names of what a signature does not tell the type of."""
    signature = inspect.signature(function)
    found = [
        f"{name}({one.name})"
        for one in signature.parameters.values()
        if one.annotation is one.empty and one.name not in ("self", "cls")
    ]
    if signature.return_annotation is signature.empty:
        found += [f"{name} ->"] if not name.endswith("__init__") else []
    return found


def abstract(value):
    """Whether a class is there to be derived from or implemented."""
    return getattr(value, "_is_protocol", False) or (
        "raise NotImplementedError" in inspect.getsource(value)
    )


def record(value):
    """Whether a class only holds what its fields say."""
    return dataclasses.is_dataclass(value) or hasattr(value, "_fields")


@pytest.mark.parametrize("package", PACKAGES)
def test_exports_have_an_example_that_runs(package):
    lacking = {
        name
        for name, value in exports(package).items()
        if callable(value)
        and not (inspect.isclass(value) and (abstract(value) or record(value)))
        and ">>>" not in (value.__doc__ or "")
    }
    # An experiment takes data.
    if not package.startswith("reproduce"):
        assert not lacking - NEED_DATA.get(package, set())


@pytest.mark.parametrize("name", ["layers", "losses"])
def test_layers_and_losses_are_linked_at_the_top(name):
    link, wanted = ROOT / name, f"tfcap/{name}"
    if link.is_symlink():
        assert link.resolve() == (ROOT / wanted).resolve()
        assert not link.readlink().is_absolute()
    elif link.exists():
        # As Git writes a link where the system has none.
        assert link.read_text() == wanted
    else:
        assert (ROOT / "PKG-INFO").exists(), "a source distribution has none"

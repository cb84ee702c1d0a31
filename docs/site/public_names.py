"""Public names of the kit, read from the sources without importing them."""

import ast
import dataclasses
import functools
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
#: Public modules whose names are defined where they stand, but for these.
MODULES = {"tensorboard_plugin_tfcap.summary": ("Claim",)}
#: Packages within packages that are public, too.
WITHIN = {"tfcap.text.rewards"}
#: Names that `tfcap` itself offers, and where they are defined.
TOP = {"show_tradeoff": "tensorboard_plugin_tfcap.notebook"}


@dataclasses.dataclass(frozen=True)
class PublicName:
    """A name to be documented.

    Attributes:
        path: String, as a user writes it: `"tfcap.layers.SoftEmbedding"`.
        source: String, where it is defined: module and name.
        summary: String, the first line of its docstring or comment.
    """

    path: str
    source: str
    summary: str

    @property
    def anchor(self) -> str:
        """The path by which griffe finds it, and its anchor on its page.

        Where a module has the name of its function, `tfcap.methods.psst` is
        the module to griffe.
        """
        outside = not self.source.startswith(self.path.rpartition(".")[0])
        module = (ROOT / self.path.replace(".", "/")).with_suffix(".py")
        return self.source if outside or module.exists() else self.path


@functools.cache
def parsed(path: pathlib.Path) -> ast.Module:
    return ast.parse(path.read_text())


def file_of(module: str) -> pathlib.Path:
    """Path of a module's or a package's source."""
    path = ROOT / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def summary_of(module: str, name: str) -> str:
    """First line of a docstring; of a constant, the comment `#:` above it."""
    path = file_of(module)
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            if node.name == name:
                doc = ast.get_docstring(node) or ""
                return " ".join(doc.split("\n\n")[0].split())
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = getattr(node, "targets", None) or [node.target]
            if name in (getattr(target, "id", None) for target in targets):
                return _comment(path.read_text().splitlines(), node.lineno - 1)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return summary_of(node.module, alias.name)
    raise LookupError(f"{path.relative_to(ROOT)} does not define {name}")


def _comment(lines, line):
    text = []
    while line and lines[line - 1].startswith("#:"):
        line -= 1
        text.insert(0, lines[line].removeprefix("#:").strip())
    return " ".join(text).split(". ")[0].rstrip(".") + "." if text else ""


def _imports(package):
    """Pairs of module and name that a package's `__init__` imports."""
    for node in parsed(file_of(package)).body:
        if isinstance(node, ast.ImportFrom):
            yield from ((node.module, alias.name) for alias in node.names)


@functools.cache
def public_names() -> dict[str, dict[str, PublicName]]:
    """Dict of package to dict of name to `PublicName`, sorted.

    Raises:
        LookupError: If a package exports what its source does not define.
    """
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "tfcap").rglob("__init__.py")
    }
    outer = {name for name in packages if name.count(".") == 1}
    public = {name for name in outer | WITHIN if "._" not in name}
    pairs = {name: _imports(name) for name in public}
    pairs["tfcap"] = ((module, name) for name, module in TOP.items())
    for module, imported in MODULES.items():
        own = [
            (module, node.name)
            for node in parsed(file_of(module)).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        ]
        own += [pair for pair in _imports(module) if pair[1] in imported]
        pairs[module] = own
    found = {}
    for package, exported in pairs.items():
        names = {
            name: PublicName(
                f"{package}.{name}",
                f"{module}.{name}",
                summary_of(module, name),
            )
            for module, name in exported
            if name[0] != "_"
        }
        if names:
            found[package] = dict(sorted(names.items(), key=_alphabet))
    # The plugin stands last.
    return dict(sorted(found.items(), key=lambda x: (x[0] in MODULES, x[0])))


def _alphabet(item):
    return item[0].lower(), item[0]


@functools.cache
def by_short_name() -> dict[str, str]:
    """Dict of a name to its anchor, of names that only one package has."""
    paths = {}
    for names in public_names().values():
        for name, public in names.items():
            paths.setdefault(name, []).append(public.anchor)
    return {k: v[0] for k, v in paths.items() if len(v) == 1 and k[0].isupper()}


def documentation(package: str) -> str:
    """Docstring of a package or module."""
    return ast.get_docstring(parsed(file_of(package))) or ""


def options_of(module: str, name: str):
    """Yields name, default and description of a data class's fields.

    What its docstring does not describe has an empty description.
    """
    (node,) = (
        node
        for node in parsed(file_of(module)).body
        if isinstance(node, ast.ClassDef) and node.name == name
    )
    doc = ast.get_docstring(node).partition("Args:\n")[2].split("\n\n")[0]
    entries = re.findall(r"^    (\w+): ((?:.|\n(?!    \w))*)", doc, re.M)
    texts = {key: " ".join(text.split()) for key, text in entries}
    for field in node.body:
        if isinstance(field, ast.AnnAssign):
            key = field.target.id
            default = "" if field.value is None else ast.unparse(field.value)
            yield key, default, texts.get(key, "")

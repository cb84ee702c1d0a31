"""Pages that MkDocs makes of files outside `docs`, and their links.

Nothing is written twice: the reference comes from docstrings, the pages of
papers from `reproduce`, guides from notebooks, examples from their sources.
"""

import json
import os
import pathlib
import re
import sys

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from notebook_pages import notebook_page
from public_names import ROOT
from public_names import documentation
from public_names import options_of
from public_names import public_names
from references import linked
from references import outside_fences
from references import unknown_names

#: Pages that are files elsewhere in the repository, by their address.
ELSEWHERE = {
    "architecture.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "papers/index.md": "PAPERS.md",
    "benchmarks.md": "benchmarks/README.md",
}
#: Headings of the pages that would have none that says enough.
TITLES = {"architecture.md": "Architecture and contributing"}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s#]+)(#[^)]*)?\)")
_INCLUDE = re.compile(r"^<!-- include (\S+): (.*?) -->$", re.M)
_OPTIONS = re.compile(r"^<!-- options (\S+): (\w+) -->$", re.M)
_LIST = re.compile(r"\s*(?:[-*+]|\d+\.) ")
_LANGUAGES = {".py": "python", ".cfg": "ini", ".sh": "bash", ".json": "json"}


class Site:
    """Addresses of pages, by the repository's files that they are made of."""

    def __init__(self, config):
        self.config, self.pages, self.texts = config, {}, {}

    def add(self, uri, source, text):
        """A page made here, with the file that its links are relative to."""
        self.pages[source], self.texts[uri] = uri, (text, source)

    def file(self, uri, content):
        return File.generated(self.config, uri, content=content)


site: Site = None


def on_files(files, config):
    """Adds all pages that are not files in `docs`."""
    global site
    site = Site(config)
    for file in files.documentation_pages():
        source = f"docs/{file.src_uri}"
        text = _with_includes((ROOT / source).read_text(), source)
        site.add(file.src_uri, source, text)
    written = set(site.texts)
    sections = {
        "Guides": _unlisted(config.nav, written | _notebooks(files)),
        "Examples": _examples(),
        "Papers": _papers(),
        "Reference": _reference(),
    }
    for uri, source in ELSEWHERE.items():
        _include(uri, source)
    for text, source in list(site.texts.values()):
        for path in _outside(text, source):
            _add_outside(path, files)
    for uri in set(site.texts) - written:
        files.append(site.file(uri, site.texts[uri][0]))
    for title, pages in sections.items():
        _extend(config.nav, title, pages)
    return files


def _with_includes(text, source):
    """Puts sections of other files where a comment names them."""

    def section(match):
        path, title = match.groups()
        parts = re.split(r"^(?=## )", (ROOT / path).read_text(), flags=re.M)
        for part in parts:
            if part.startswith(f"## {title}\n"):
                return _moved(part.strip(), path, source)
        raise PluginError(f"{source} includes {title!r}, which {path} lacks.")

    return _OPTIONS.sub(_options, _INCLUDE.sub(section, text))


def _options(match):
    """A table of a data class's fields: name, default and description."""
    rows = [
        f"| `{name}` | `{default}` | {text} |"
        for name, default, text in options_of(*match.groups())
    ]
    head = ["| name | default | description |", "|---|---|---|"]
    return "\n".join([*head, *rows])


def _moved(text, old, new):
    """Text of one file whose links hold in another one."""
    folder = os.path.dirname(new)

    def lead(match):
        mark, label, target, anchor = match.groups()
        path = os.path.normpath(os.path.join(os.path.dirname(old), target))
        moved = os.path.relpath(path, folder or ".")
        return f"{mark}[{label}]({moved}{anchor or ''})"

    return "\n".join(
        _LINK.sub(lead, line) if is_text else line
        for line, is_text in outside_fences(text)
    )


def _include(uri, source):
    text = (ROOT / source).read_text()
    if uri in TITLES:
        text = re.sub(r"\A# .*", f"# {TITLES[uri]}", text)
    site.add(uri, source, text)


def _notebooks(files):
    """Guides, each a notebook that has been run, with what it printed."""
    pages = set()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        text, pictures = notebook_page(path)
        uri = f"guides/{path.stem}.md"
        site.add(uri, f"notebooks/{path.name}", text)
        for name, content in pictures.items():
            files.append(site.file(f"guides/{name}", content))
        files.append(site.file(f"guides/{path.name}", path.read_text()))
        pages.add(uri)
    return pages


def _examples():
    pages = []
    for path in sorted((ROOT / "examples").glob("*.py")):
        code = path.read_text()
        title, _, text = code.split('"""')[1].partition("\n\n")
        # What is indented is commands.
        uri = f"examples/{path.stem}.md"
        site.add(
            uri,
            f"examples/{path.name}",
            f"# {title.rstrip('.')}\n\n{text.strip(chr(10))}\n\n"
            f"## `examples/{path.name}`\n\n```python\n{code}```\n",
        )
        pages.append({f"{path.stem}.py": uri})
    return pages


def _papers():
    # In the order of PAPERS.md; what it does not link to comes last.
    index = (ROOT / "PAPERS.md").read_text()
    sources = re.findall(r"reproduce/[\w/]+/README\.md", index)
    found = sorted(ROOT.glob("reproduce/**/README.md"))
    sources += [str(path.relative_to(ROOT)) for path in found]
    pages = {
        source: f"papers/{source.split('/')[-2]}.md"
        for source in dict.fromkeys(sources)
    }
    for source, uri in pages.items():
        _include(uri, source)
    return list(pages.values())


def _reference():
    """A page a name, an index of each package, and one of all packages."""
    pages, rows = ["reference/index.md"], []
    for package, names in public_names().items():
        index = f"reference/{package}/index.md"
        text = documentation(package)
        site.add(index, f"reference/{package}", _index(package, text, names))
        rows.append(f"| [`{package}`]({package}) | {text.splitlines()[0]} |")
        section = [index]
        for name, public in names.items():
            uri = f"reference/{package}/{name}.md"
            site.add(uri, f"reference/{package}/{name}", _entry(public))
            section.append({name: uri})
        pages.append({package: section})
    table = "\n".join(["| package | holds |", "|---|---|", *rows])
    site.add(pages[0], "reference/index", f"# Reference\n\n{table}\n")
    return pages


def _index(package, text, names):
    rows = [
        f"| [`{name}`][{public.anchor}] | {public.summary} |"
        for name, public in names.items()
    ]
    title = f"# {package} {{#{package}}}"
    table = ["| name | description |", "|---|---|", *rows]
    return "\n".join([title, "", text, "", *table])


def _entry(public):
    """Everything that mkdocstrings knows of a name."""
    anchor = f'<a id="{public.path}"></a>\n\n'
    return (
        f"{anchor if public.anchor != public.path else ''}"
        f"::: {public.anchor}\n"
        "    options:\n"
        "      heading_level: 1\n"
        f"      heading: {public.path}\n"
    )


def _unlisted(nav, written):
    """Pages in `docs`, and notebooks, that `mkdocs.yml` does not list."""
    listed = set(re.findall(r"[\w./]+\.md", json.dumps(nav)))
    return sorted(written - listed)


def _extend(nav, title, pages):
    for section in nav:
        if title in section:
            section[title].extend(pages)
            return
    raise PluginError(f"`nav` of mkdocs.yml must have a section {title!r}.")


def _links(text, source):
    """Pairs of a link's match and the repository's file that it names."""
    for line, is_text in outside_fences(text):
        for match in _LINK.finditer(line) if is_text else ():
            folder = os.path.dirname(source)
            yield match, os.path.normpath(os.path.join(folder, match[3]))


def _outside(text, source):
    """Files that a page names and that are no page themselves."""
    for _, path in _links(text, source):
        if path not in site.pages and (ROOT / path).is_file():
            yield path


def _add_outside(path, files):
    """Shows a source as a page, and copies what is no text."""
    if path in site.pages or path.startswith("docs/"):
        return
    suffix = pathlib.PurePath(path).suffix
    if suffix in (".png", ".svg", ".jpg", ".ipynb"):
        site.pages[path] = f"repository/{path}"
        content = (ROOT / path).read_bytes()
        files.append(site.file(f"repository/{path}", content))
        return
    text = (ROOT / path).read_text()
    if suffix != ".md":
        language = _LANGUAGES.get(suffix, "text")
        text = f"# {path}\n\n```{language}\n{text.rstrip()}\n```\n"
    text = f"---\nsearch:\n  exclude: true\n---\n\n{text}"
    site.add(f"repository/{path.removesuffix('.md')}.md", path, text)


def on_page_markdown(markdown, page, config, files):
    """Leads links to pages of the site, and names to the reference."""
    uri = page.file.src_uri
    source = site.texts[uri][1]
    markdown = _with_includes(markdown, source)
    if uri.startswith("repository/"):
        return markdown
    if wrong := unknown_names(markdown):
        raise PluginError(
            f"{source} names {', '.join(wrong)}, which no public package "
            "exports. Write the new name, or export it from its package."
        )
    lines, before = [], ""
    for line, is_text in outside_fences(markdown):
        if is_text:
            line = _LINK.sub(lambda match: _led(match, uri, source), line)
            # A list may follow a line of text, as on GitHub.
            if _LIST.match(line) and before.strip():
                if not _LIST.match(before) and before[0] not in " |":
                    lines.append("")
        lines.append(line)
        before = line
    text = "\n".join(lines)
    return text if uri.startswith("reference/") else linked(text)


def _led(match, uri, source):
    mark, label, target, anchor = match.groups()
    path = os.path.normpath(os.path.join(os.path.dirname(source), target))
    if (ROOT / path).is_dir():
        return label
    led = target
    if path in site.pages:
        led = os.path.relpath(site.pages[path], os.path.dirname(uri) or ".")
    found = f"{mark}[{label}]({led}{anchor or ''})"
    # A picture leads to itself at full size.
    return f"[{found}]({led})" if mark else found


def on_post_build(config):
    """Checks that every public name is there, and nothing needs a network."""
    folder = pathlib.Path(config.site_dir)
    missing = []
    for package, names in public_names().items():
        for name, public in names.items():
            page = folder / "reference" / package / name / "index.html"
            text = page.read_text()
            found = f'id="{public.anchor}"' in text
            if not found or "doc-symbol-module" in text:
                missing.append(public.path)
    if missing:
        raise PluginError(f"The reference lacks {', '.join(missing)}.")
    loaded = re.compile(
        r"<(?:script|img|iframe)[^>]* src=\"?https?://[^\s>\"]+"
    )
    styles = re.compile(r"<link[^>]* rel=\"?stylesheet[^>]*https?://[^\s>\"]+")
    for page in folder.rglob("*.html"):
        text = page.read_text()
        if found := loaded.findall(text) + styles.findall(text):
            raise PluginError(f"{page} loads from the network: {found[0]}")

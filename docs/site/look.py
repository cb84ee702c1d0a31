"""Looks at the built site in Chromium: screenshots, search, accessibility.

    mkdocs build --strict && npm pack axe-core && tar -xf axe-core-*.tgz
    python docs/site/look.py --axe package/axe.min.js --out build/look

Each page is taken wide and narrow, on light and on dark ground. Exits with 1
if the search does not find a public name, or axe finds a serious fault.
"""

import argparse
import functools
import http.server
import pathlib
import shutil
import sys
import threading

from playwright.sync_api import sync_playwright

SITE = pathlib.Path(__file__).parents[2] / "build" / "site"
PAGES = (
    *("", "guides/drop_in_layer/", "guides/health/", "guides/own_parts/"),
    *("tensorboard/", "coming_from/", "results/", "reference/"),
    *("reference/tfcap.layers/", "reference/tfcap.training/JointTraining/"),
    *("papers/psst/", "examples/visdial_gdis/"),
    *("architecture/", "repository/reproduce/psst/settings.py/"),
)
WIDTHS = {"wide": 1400, "narrow": 390}
SEARCHED = {"PartialSamplingST": "reference/tfcap.layers/PartialSamplingST/"}


def serve():
    """Serves the site on a free port of this machine."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_port}/"


def faults(page, axe):
    """Serious and critical faults, each with the elements that have it."""
    page.add_script_tag(path=str(axe))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{x['impact']}: {x['id']}: {node['target']} {node['html'][:160]}"
        for x in found["violations"]
        if x["impact"] in ("serious", "critical")
        for node in x["nodes"][:3]
    ]


def search(page, address, word):
    """Addresses that the search offers for a word."""
    page.goto(address, wait_until="networkidle")
    page.keyboard.press("s")
    page.keyboard.type(word)
    page.wait_for_selector(".md-search-result__link", timeout=20_000)
    links = page.query_selector_all(".md-search-result__link")
    return [link.get_attribute("href") for link in links]


def main(arguments=None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--axe", type=pathlib.Path)
    parser.add_argument(
        "--out", type=pathlib.Path, default=SITE.parent / "look"
    )
    parser.add_argument("--pages", nargs="*", default=PAGES)
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    server, address = serve()
    found = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        for scheme in ("light", "dark"):
            for shape, width in WIDTHS.items():
                page = chromium.new_page(
                    color_scheme=scheme,
                    viewport={"width": width, "height": 900},
                )
                for path in options.pages:
                    page.goto(address + path, wait_until="networkidle")
                    name = path.strip("/").replace("/", "_") or "index"
                    file = options.out / f"{name}_{shape}_{scheme}.png"
                    page.screenshot(path=file)
                    if options.axe:
                        where = f"{path or 'index'} ({shape}, {scheme})"
                        found += [
                            f"{where}: {fault}"
                            for fault in faults(page, options.axe)
                        ]
                page.close()
        page = chromium.new_page()
        for word, wanted in SEARCHED.items():
            links = search(page, address, word)
            if not any(wanted in link for link in links):
                found.append(f"search for {word}: {links}")
        chromium.close()
    server.shutdown()
    print("\n".join(found) or "No serious fault.")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())

"""Takes the pictures of the Trade-off tab for its page.

    PYTHONPATH=. python docs/site/shoot_tab.py

Run it again when the tab has changed. It shows the sweep over photographs of
the browser's tests, and the records of two sweeps in `results`. Needs Chromium
and Playwright.
"""

import pathlib
import shutil
import sys
import tempfile
import urllib.parse

from playwright.sync_api import sync_playwright

from reproduce.point_log import log_sweep
from reproduce.psst.paper import PSST
from reproduce.sweep import load_records
from tests.tensorboard_plugin_tfcap.browser import servers

RESULTS = pathlib.Path(__file__).parents[2] / "results"
OUT = pathlib.Path(__file__).parents[1] / "pictures"
ENTRY = "data/plugin_entry.html?name=tfcap_tradeoff"
#: Options of the address for each picture of the page.
PICTURES = {
    "tab": {},
    "tab_level": {"along": "y", "value": "60"},
    "tab_seeds": {"seeds": "band", "pareto": "1"},
    "tab_scales": {"y": "mean_rank", "yscale": "log"},
    "tab_filter": {"where": "lambda>=0.001", "labels": "1"},
    "tab_dark": {"dark": "1", "seeds": "points"},
}
#: The same of sweeps of `results`, by their names.
SWEEPS = {
    "tradeoff_flickr8k": {
        OUT / "tab_held_out": {"preset": "held_out", "labels": "0"}
    },
    "tradeoff_world": {
        RESULTS / "tensorboard_tradeoff": {
            "runs": "^(psst_multinomial.*rho=0.5|psst_gumbel.*rho=0.5"
            "|st_multinomial|reinforce_joint|luo2018)"
        }
    },
}


def shoot(page, address, name, options):
    """Opens the tab's own page with options, and saves a picture."""
    page.emulate_media(color_scheme="dark" if "dark" in options else "light")
    words = urllib.parse.urlencode(
        {f"p.tfcap_tradeoff.{key}": value for key, value in options.items()}
    )
    page.goto("about:blank")
    page.goto(f"{address}/{ENTRY}#{words}")
    page.wait_for_selector("html[data-drawn]", state="attached")
    page.wait_for_timeout(500)  # fonts and the last redraw
    if "value" in options:
        # Below the figure are the tables of the level.
        page.mouse.move(700, 500)
        page.mouse.wheel(0, 420)
        page.wait_for_timeout(500)
    page.screenshot(path=f"{OUT / name}.png")
    print(f"{OUT / name}.png")


def main() -> int:
    """Runs the command."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        log = pathlib.Path(folder, "photographs")
        servers.write_sweep(log, steps=2, truth=False)
        logs = [(log, len(servers.sweep_records()), PICTURES)]
        for name, pictures in SWEEPS.items():
            records, log = load_records(RESULTS / name), log.with_name(name)
            log_sweep(log, PSST, {RESULTS / name: records})
            logs.append((log, len(records), pictures))
        chromium = p.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-gpu"],
        )
        page = chromium.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        for log, runs, pictures in logs:
            with servers.serve(log) as address:
                servers.wait_for_runs(address, runs)
                for name, options in pictures.items():
                    shoot(page, address, name, options)
        chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

import importlib.metadata
import shutil

import pytest

from tests.tensorboard_plugin_tfcap.browser import servers

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
#: A busy machine is no failure.
PATIENCE = 60_000
#: The plugin's page, and TensorBoard's frame around it.
ENTRY = "plugin_entry.html?name=tfcap_tradeoff"
IFRAME = 'iframe[src*="name=tfcap_tradeoff"]'


def _lacking():
    found = importlib.metadata.entry_points(group="tensorboard_plugins")
    if "tfcap_tradeoff" not in {point.name for point in found}:
        return "TensorBoard does not know the plugin: pip install -e ."
    if CHROMIUM is None:
        return "needs Chromium: apt-get install chromium"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "needs Playwright: pip install playwright"
    return None


@pytest.fixture(scope="session")
def browser():
    reason = _lacking()
    if reason:
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    # As root, which test machines are, Chromium wants no sandbox.
    flags = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=flags
        )
        # One context for all: what TensorBoard itself loads stays cached.
        context = chromium.new_context(accept_downloads=True)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        context.set_default_timeout(PATIENCE)
        yield context
        chromium.close()


@pytest.fixture(scope="session")
def sweep(browser, tmp_path_factory):
    """The address of a TensorBoard that shows a real sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    servers.write_sweep(folder)
    with servers.serve(folder) as address:
        servers.wait_for_runs(address, len(servers.sweep_records()))
        yield address


class View:
    """The plugin, open in a browser.

    Args:
        page: Playwright's page, TensorBoard.
        errors: List of strings, what the console has told of.
    """

    def __init__(self, page, errors):
        self.page = page
        self.errors = errors

    def open(self, address, query="", inside=False, **choices):
        """Opens the plugin at a deep link of these choices.

        Its page alone, under TensorBoard's policy, which is there sooner; or
        inside TensorBoard, at a query of its own.
        """
        words = "".join(
            f"&p.tfcap_tradeoff.{key}={value}" for key, value in choices.items()
        )
        if inside or query:
            self.page.goto(f"{address}/{query}#tfcap_tradeoff{words}")
        else:
            self.page.goto(f"{address}/data/{ENTRY}#{words[1:]}")
        return self.enter()

    def enter(self):
        """Waits for the plugin's own page."""
        self.find()
        self.frame.wait_for_selector(
            "html[data-drawn], .state", state="attached", timeout=PATIENCE
        )
        return self

    def find(self):
        """Finds the plugin's own page."""
        self.frame = self.page.main_frame
        if ENTRY not in self.page.url:
            self.page.wait_for_selector(IFRAME, timeout=PATIENCE)
            self.frame = self.page.query_selector(IFRAME).content_frame()

    def wait(self, condition, argument=None):
        """Waits until a JavaScript condition holds."""
        return self.frame.wait_for_function(
            condition, arg=argument, timeout=PATIENCE
        )

    def count(self, selector):
        return self.frame.locator(selector).count()

    def text(self, selector):
        return self.frame.locator(selector).first.inner_text()

    def marks(self):
        """What is drawn: a list of dicts of name, x and y."""
        return self.frame.evaluate(
            "() => document.querySelector('.plot').data"
            ".filter((t) => t.meta?.kind === 'curve')"
            ".map((t) => ({name: t.name, x: t.x, y: t.y, shown: t.visible}))"
        )

    def names(self):
        return [mark["name"] for mark in self.marks()]

    def titled(self, text):
        """Waits until the figure's title has some words."""
        self.wait(
            "(text) => document.querySelector('h2').innerText.includes(text)",
            text,
        )

    def button(self, name):
        return self.frame.get_by_role("button", name=name)

    def filter(self, text):
        """Filters runs by an expression."""
        label = "Filter runs by a regular expression"
        self.frame.get_by_label(label).fill(text)

    def place(self, row):
        """Where a row's mark is, in pixels of TensorBoard's page."""
        x, y = self.frame.evaluate(
            """(number) => {
              const plot = document.querySelector(".plot");
              for (const t of plot.data) {
                const at = t.customdata?.indexOf?.(number) ?? -1;
                if (at < 0) continue;
                const {xaxis, yaxis} = plot._fullLayout;
                const box = plot.getBoundingClientRect();
                return [
                  box.left + xaxis._offset + xaxis.d2p(t.x[at]),
                  box.top + yaxis._offset + yaxis.d2p(t.y[at]),
                ];
              }
            }""",
            row,
        )
        if self.frame is self.page.main_frame:
            return x, y
        box = self.frame.frame_element().bounding_box()
        return box["x"] + x, box["y"] + y


@pytest.fixture
def view(browser):
    page = browser.new_page()
    page.set_viewport_size({"width": 1400, "height": 1000})
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))

    def note(message):
        if "Content Security Policy" in message.text:
            errors.append(message.text)

    page.on("console", note)
    yield View(page, errors)
    page.close()
    assert not errors

"""A headless browser with an open page."""

import shutil
import tempfile

import pytest
from sklearn.datasets import load_digits

from tao_cluster import DirectForm, tao_path
from tao_cluster.page import to_html

OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK, PHONE = (1400, 900), (420, 800)


def started_browser():
    """Fixture: Chromium, closed at the end."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    driver, binary = shutil.which("chromedriver"), shutil.which("chromium")
    if driver is None or binary is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for option in [*OPTIONS, f"--user-data-dir={profile}"]:
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.ChromeService(executable_path=driver)
        browser = webdriver.Chrome(options=options, service=service)
        yield browser
        browser.quit()


def path_of_digits(digits, digits_reference):
    """Fixture: two trees of digits."""
    return tao_path(
        digits,
        10,
        [0.5, 10],
        reference=digits_reference,
        algorithm=DirectForm(n_init=1),
        random_state=0,
    )


def file_of_digits(path, digits, tmp_path_factory):
    """Fixture: a file with the page of these trees."""
    file = tmp_path_factory.mktemp("page") / "page.html"
    to_html(path, file, X=digits, y=load_digits().target, image_shape=(8, 8))
    return file


class Page:
    """A page that is open in a browser of the size of a desktop screen or a phone."""

    def __init__(self, browser, file, size=DESK, dark=False):
        self._browser = browser
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1}
        self.devtools("Emulation.setDeviceMetricsOverride", **screen, mobile=size == PHONE)
        self.devtools("Emulation.setTouchEmulationEnabled", enabled=size == PHONE)
        self.devtools("Emulation.setEmulatedMedia", media="", features=[scheme])
        browser.get(file.as_uri())

    def devtools(self, command, **arguments):
        return self._browser.execute_cdp_cmd(command, arguments)

    def show_as(self, media):
        """Show the page as on `media`, and wait until it has drawn itself anew."""
        self.devtools("Emulation.setEmulatedMedia", media=media, features=[])
        self.run_later("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")

    def run(self, script, *arguments):
        return self._browser.execute_script(script, *arguments)

    def run_later(self, script):
        return self._browser.execute_async_script(script)

    def all(self, selector):
        return self._browser.find_elements("css selector", selector)

    def one(self, selector):
        return self._browser.find_element("css selector", selector)

    def nodes(self):
        """Return the numbers of the nodes that are drawn."""
        return {int(group.get_attribute("data-node")) for group in self.all("g.node")}

    def node(self, number):
        return self.one(f'[data-node="{number}"]')

    def box(self, selector):
        """Return the position of an element on the screen."""
        script = "const b = document.querySelector(arguments[0]).getBoundingClientRect();"
        return self.run(
            script + "return {x: b.x, y: b.y, width: b.width, height: b.height}", selector
        )

    def type(self, selector, text):
        """Clear a field and type a text into it."""
        self.one(selector).clear()
        self.one(selector).send_keys(text)

    def press(self, *keys):
        """Press keys one after the other, for the element with the focus."""
        for key in keys:
            self._browser.switch_to.active_element.send_keys(key)

    def focused(self):
        """Return the number of the node with the focus; None if another element has it."""
        number = self._browser.switch_to.active_element.get_attribute("data-node")
        return None if number is None else int(number)

    def slide(self, value):
        script = "const s = document.getElementById('slider'); s.value = arguments[0];"
        self.run(script + "s.dispatchEvent(new Event('input'))", value)

    def touch(self, kind, *points):
        """Send one touch event with fingers at (x, y)."""
        fingers = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]
        self.devtools("Input.dispatchTouchEvent", type=kind, touchPoints=fingers)

    def scale(self):
        """Return the scale of the drawing."""
        return self.run("return document.getElementById('world').getCTM().a")

    def faults(self):
        return self._browser.get_log("browser")


def open_page(browser, file, request):
    """Fixture per screen size: the page of digits. It must not log errors."""
    page = Page(browser, file, request.param)
    yield page
    assert page.faults() == []

"""A headless Chromium (Debian's), driven by its own driver and the DevTools protocol."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import until
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
#: Without a sandbox, since tests are root; and without all that asks other hosts.
OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--no-first-run",
    "--disable-sync", "--disable-extensions", "--window-size=1500,1000",
)  # fmt: skip


def missing() -> str:
    """What there is not; empty where all is there."""
    return ", ".join(each for each in (CHROMIUM, DRIVER) if shutil.which(each) is None)


class Browser:
    """A page. What it logs as an error, and what it asks for, is kept."""

    def __init__(self, driver: webdriver.Chrome, downloads: Path) -> None:
        self.driver, self.downloads = driver, downloads

    def open(self, url: str) -> None:
        self.leave()  # what only differs behind `#` would not be loaded again
        self.driver.get(url)

    def leave(self) -> None:
        """Nothing is asked for any more."""
        self.driver.get("about:blank")

    def run(self, script: str, *arguments: Any) -> Any:
        """What a function's body returns in the page."""
        return self.driver.execute_script(script, *arguments)

    def text(self, selector: str) -> str:
        found = self.run("return document.querySelector(arguments[0])?.innerText", selector)
        return str(found or "")

    def until(self, holds: Callable[[], Any], what: str, seconds: float = 20) -> Any:
        return until(holds, what, seconds)

    def shows(self, selector: str, text: str, seconds: float = 20) -> None:
        self.until(lambda: text in self.text(selector), f"{selector} shows {text!r}", seconds)

    def click(self, selector: str, text: str = "") -> None:
        """An element with this text."""
        done = self.run(
            "const all = [...document.querySelectorAll(arguments[0])];"
            "const found = all.find((each) => each.textContent.includes(arguments[1]));"
            "found?.click(); return Boolean(found)", selector, text,
        )  # fmt: skip
        assert done, f"there is no {selector} with {text!r}"

    def saved(self, ending: str) -> Path:
        """A file that was saved, whole."""

        def there() -> list[Path]:
            return [each for each in self.downloads.iterdir() if each.name.endswith(ending)]

        self.until(there, f"a file *{ending}")
        return there()[0]

    def clear(self) -> None:
        """Delete what was saved."""
        for each in self.downloads.iterdir():
            each.unlink()

    def errors(self) -> list[str]:
        """What the page logged as an error since the last call."""
        logged: Any = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [each["message"] for each in logged if each["level"] == "SEVERE"]

    def busy(self) -> float:
        """Seconds of CPU time that the page's main thread has taken so far."""
        self.driver.execute_cdp_cmd("Performance.enable", {"timeDomain": "threadTicks"})
        found = self.driver.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
        return float(next(each["value"] for each in found if each["name"] == "TaskDuration"))

    def requests(self) -> list[str]:
        """Every address that was asked for since the page was opened."""
        found = self.run("return performance.getEntriesByType('resource').map((e) => e.name)")
        return [str(each) for each in found]


@contextmanager
def chromium(directory: Path) -> Iterator[Browser]:
    """`directory`: for its profile, and what it saves."""
    downloads = directory / "saved"
    downloads.mkdir()
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for each in (*OPTIONS, f"--user-data-dir={directory / 'profile'}"):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                               {"behavior": "allow", "downloadPath": str(downloads)})  # fmt: skip
        yield Browser(driver, downloads)
    finally:
        driver.quit()

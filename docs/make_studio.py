"""Writes the screenshots of the studio to docs/studio/: every page at 1280 and 390 pixels, one of them dark too.

python docs/make_studio.py
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.studio.browsing import find_missing, open_browser, start_studio  # noqa: E402

FOLDER = ROOT / "docs" / "studio"
WIDTHS = {1280: 900, 390: 844}
"""The widths of screenshots, and the height of the window of each."""


def visit(path: str) -> Callable[[Any], None]:
    """Return a function that opens a page and waits for its pictures."""

    def go(page: Any) -> None:
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + path)
        settle(page)

    return go


def settle(page: Any) -> None:
    """Wait until nothing is being loaded or drawn."""
    page.wait_for_load_state("networkidle")
    idle = "!document.querySelector('.loading') && document.getElementById('job').hidden"
    page.wait_for_function(idle, timeout=120_000)


def open_patients(page: Any) -> None:
    """Open the example of patients."""
    visit("/open")(page)
    page.click("button[value=patients]")
    settle(page)


def train(page: Any) -> None:
    """Train a model."""
    visit("/train")(page)
    page.click("#train")
    page.wait_for_selector("text=How good is it?", timeout=120_000)
    settle(page)


def compare(page: Any) -> None:
    """Compare learners."""
    visit("/compare")(page)
    page.click("#compare")
    page.wait_for_selector("text=Advice", timeout=240_000)
    settle(page)


SHOTS: dict[str, Callable[[Any], None]] = {
    "start": visit("/open"),
    "open": open_patients,
    "train": train,
    "look": visit("/look?picture=boundary&x=temperature&y=age"),
    "look-densities": visit("/look?picture=densities"),
    "look-nomogram": visit("/look?picture=nomogram"),
    "compare": compare,
    "take-away": visit("/take-away"),
}
"""The screenshots, in the order in which they are taken, and how to get to each."""


def main() -> None:
    """Take all screenshots, or those that are named."""
    if missing := find_missing():
        sys.exit(missing)
    FOLDER.mkdir(exist_ok=True)
    with start_studio() as address, open_browser() as browser:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.goto(address)
        for name, go in SHOTS.items():
            page.set_viewport_size({"width": 1280, "height": WIDTHS[1280]})
            go(page)
            for width, height in WIDTHS.items():
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_timeout(150)
                page.screenshot(path=FOLDER / f"{name}-{width}.png", full_page=True)
            if name == "train":
                page.set_viewport_size({"width": 1280, "height": WIDTHS[1280]})
                page.emulate_media(color_scheme="dark")
                page.screenshot(path=FOLDER / "train-dark.png", full_page=True)
                page.emulate_media(color_scheme="light")
            print(name)


if __name__ == "__main__":
    main()

"""Writes the screenshots of the studio to docs/studio/: every page at 1280 and 390 pixels, one of them dark too.

python docs/make_studio.py
"""

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.studio.browsing import find_missing, open_browser, start_studio  # noqa: E402

FOLDER = ROOT / "docs" / "studio"
N_COLOURS = 128
WIDTHS = {1280: 900, 390: 844}
"""The widths of screenshots, and the height of the window of each."""


def visit(path: str) -> Callable[[Any], None]:
    """Return a function that opens a page and waits for its pictures."""

    def go(page: Any) -> None:
        page.goto(page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2] + path)
        wait_until_idle(page)

    return go


def wait_until_idle(page: Any) -> None:
    """Wait until nothing is being loaded or drawn."""
    page.wait_for_load_state("networkidle")
    idle = "!document.querySelector('.loading') && document.getElementById('job').hidden"
    page.wait_for_function(idle, timeout=120_000)


def open_patients(page: Any) -> None:
    """Open the example of patients."""
    visit("/open")(page)
    page.click("button[value=patients]")
    wait_until_idle(page)


def train(page: Any) -> None:
    """Train a model."""
    visit("/train")(page)
    page.click("#train")
    page.wait_for_selector("text=How good is it?", timeout=120_000)
    wait_until_idle(page)


def compare(page: Any) -> None:
    """Compare learners."""
    visit("/compare")(page)
    page.click("#compare")
    page.wait_for_selector("text=Advice", timeout=240_000)
    wait_until_idle(page)


def correct(page: Any) -> None:
    """Correct the first doubtful label."""
    visit("/correct")(page)
    page.click("button:has-text('Apply') >> nth=0")
    page.wait_for_selector("text=is now labelled")
    page.wait_for_selector("text=log-loss")
    wait_until_idle(page)


def draw_digit(page: Any) -> None:
    """Have a handwritten three recognised."""
    visit("/digits")(page)
    page.click("[data-digit='3']")
    page.wait_for_timeout(500)
    wait_until_idle(page)


def read_mail(page: Any) -> None:
    """Find the messages of which the filter is unsure."""
    visit("/mail")(page)
    page.click("text=Read the messages")
    page.wait_for_selector("text=Its clues", timeout=120_000)
    wait_until_idle(page)


def read_texts(page: Any) -> None:
    """Train a model of texts, and show what it reads."""
    visit("/open")(page)
    page.click("summary:has-text('Open another table')")
    page.click("button[value=messages]")
    train(page)
    visit("/texts?row=1")(page)


SHOTS: dict[str, Callable[[Any], None]] = {
    "start": visit("/open"),
    "open": open_patients,
    "train": train,
    "look": visit("/look?picture=boundary&x=temperature&y=age"),
    "look-densities": visit("/look?picture=densities"),
    "look-nomogram": visit("/look?picture=nomogram"),
    "compare": compare,
    "ask": visit("/ask?row=2"),
    "correct": correct,
    "take-away": visit("/take-away"),
    "digits": draw_digit,
    "calculator": visit("/calculator"),
    "mail": read_mail,
    "texts": read_texts,
}
"""The screenshots, in the order in which they are taken, and how to get to each."""


def take_shots(page: Any, name: str) -> None:
    """Write the screenshots of the present page, in few colours, which are enough for it."""
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.wait_for_timeout(150)
        shoot(page, f"{name}-{width}")
    page.set_viewport_size({"width": 1280, "height": WIDTHS[1280]})
    if name == "ask":
        shoot(page, "studio", full_page=False)
    if name == "train":
        page.emulate_media(color_scheme="dark")
        shoot(page, "train-dark")
        page.emulate_media(color_scheme="light")


def shoot(page: Any, name: str, full_page: bool = True) -> None:
    """Write one screenshot."""
    raw = page.screenshot(full_page=full_page)
    image = Image.open(io.BytesIO(raw)).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    image.save(FOLDER / f"{name}.png", optimize=True)


def prepare_mail(folder: str) -> list[str]:
    """Make a mail store of the example's messages in a folder, and return the options that show it."""
    for words in (
        "example mailbox --folder Maildir",
        "mail learn --ham Maildir/cur --spam Maildir/.Junk --store mail.db",
    ):
        subprocess.run([sys.executable, "-m", "deciban", *words.split()], cwd=folder, check=True)
    return ["--mail", "mail.db", "--messages", "Maildir/new"]


def main() -> None:
    """Take all screenshots."""
    if missing := find_missing():
        sys.exit(missing)
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        options = prepare_mail(folder)
        with start_studio(*options, cwd=folder) as address, open_browser() as browser:
            page = browser.new_context(viewport={"width": 1280, "height": WIDTHS[1280]}).new_page()
            page.goto(address)
            for name, go in SHOTS.items():
                go(page)
                take_shots(page, name)
                print(name)


if __name__ == "__main__":
    main()

"""The studio in Chromium: from a file to a corrected label, on a phone, by the keyboard, in the dark, accessible."""

import io
import time
from pathlib import Path

import numpy as np
import pytest

from deciban.cli.example import FOLDER
from deciban.studio.access import Access
from deciban.studio.pages import PAGES
from deciban.studio.settings import StudioSettings
from deciban.studio.workspace import Workspace
from tests.studio.browsing import find_missing, open_browser, serve_studio, start_studio
from tests.thorough import thorough_beyond

MISSING = find_missing()
pytestmark = [pytest.mark.skipif(bool(MISSING), reason=MISSING), pytest.mark.xdist_group("browser")]

AXE = Path(__file__).parents[2] / "build" / "axe-core" / "package" / "axe.min.js"
MAX_CLICKS = 8
"""The clicks from a file to a corrected label."""


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


class Visit:
    """A page of a browser in a studio of its own; clicks are counted, and errors of scripts are failures."""

    def __init__(self, context, address, workspace, access):
        self.workspace, self.address, self.clicks = workspace, address, 0
        self.page = context.new_page()
        self.errors = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.set_default_timeout(60_000)
        self.page.goto(address + access.path)

    def click(self, selector):
        self.clicks += 1
        self.page.click(selector)

    def drop(self, name, content):
        """Choose a file, which is one click; dropping it has the same handler."""
        self.clicks += 1
        file = {"name": name, "mimeType": "text/csv", "buffer": content.encode()}
        self.page.set_input_files("input[type=file] >> nth=0", file)
        self.page.wait_for_selector(f"h1:has-text('{name}')")

    def open_example(self, name):
        self.click(f"button[value={name}]")
        self.page.wait_for_selector(f"h1:has-text('{name}.csv')")

    def go(self, path):
        self.page.goto(self.address + path)
        self.wait_until_idle()

    def wait_until_idle(self):
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_function("!document.querySelector('.loading') && document.getElementById('job').hidden")

    def train(self):
        self.click("#train")
        self.page.wait_for_selector("h1:has-text('How good is it?')")


@pytest.fixture
def visit(browser, tmp_path):
    access = Access(0)
    workspace = Workspace(StudioSettings(tmp_path, FOLDER, max_upload_bytes=2_000_000))
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    with serve_studio(workspace, access) as address:
        visit = Visit(context, address, workspace, access)
        yield visit
        context.close()
    assert visit.errors == []


def write_bunch(load):
    """Return a data set of scikit-learn as CSV, its class last."""
    found = load()
    names = [str(name).replace(",", " ") for name in found.feature_names]
    out = io.StringIO()
    out.write(",".join([*names, "class"]) + "\n")
    for row, k in zip(found.data, found.target):
        out.write(",".join([*(f"{value:g}" for value in row), str(np.asarray(found.target_names)[k])]) + "\n")
    return out.getvalue()


def make_table(name):
    from sklearn import datasets

    if name in ("tennis", "messages"):
        return (FOLDER / f"{name}.csv").read_text()
    return write_bunch(getattr(datasets, f"load_{name}"))


NAMES = ["wine", "messages", "breast_cancer", "digits", "iris", "tennis"]


@pytest.mark.parametrize("name", thorough_beyond(1, NAMES, "starts a browser: three seconds each"))
def test_from_a_file_to_a_corrected_label_in_few_clicks(visit, name):
    visit.drop(f"{name}.csv", make_table(name))
    visit.click("text=Continue to Train")
    visit.train()
    rows, n = visit.workspace.model.ledger.rows.copy(), visit.workspace.model.ledger.n_rows
    visit.click("main a:has-text('Correct')")
    visit.click("button:has-text('Apply') >> nth=0")
    visit.page.wait_for_selector("text=is now labelled")
    assert visit.clicks <= MAX_CLICKS
    assert visit.workspace.model.ledger.n_rows == n  # one label was changed, exactly
    assert np.abs(visit.workspace.model.ledger.rows - rows).sum() == 2
    visit.click("text=Undo the last")
    visit.page.wait_for_selector("text=was taken back")
    assert np.array_equal(visit.workspace.model.ledger.rows, rows)


@pytest.mark.thorough(reason="starts a browser")
def test_a_file_is_dropped_with_the_mouse(visit):
    visit.page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["x,class\\n" + "1,a\\n2,b\\n".repeat(20)], "dropped.csv"));
            const zone = document.querySelector("[data-drop]");
            for (const name of ["dragenter", "dragover", "drop"]) {
                zone.dispatchEvent(new DragEvent(name, {dataTransfer: data, bubbles: true, cancelable: true}));
            }
        }"""
    )
    visit.page.wait_for_selector("h1:has-text('dropped.csv')")
    assert visit.workspace.data.columns == ("x", "class")


@pytest.mark.thorough(reason="starts a browser")
def test_a_role_and_the_target_change_by_a_click(visit):
    visit.go("/open")
    visit.open_example("patients")
    with visit.page.expect_navigation():
        visit.page.select_option("select[name='role:age']", "skip")
    assert visit.workspace.roles == {"age": "skip"}
    visit.page.select_option("select[name=target]", "cough")
    visit.page.wait_for_selector("tr.chosen:has-text('cough')")
    assert visit.workspace.target == "cough"


@pytest.mark.thorough(reason="starts a browser")
def test_a_click_before_the_script_has_arrived_is_not_lost(visit):
    visit.open_example("tennis")
    visit.page.route("**/static/studio.js*", lambda route: (time.sleep(1), route.continue_()))
    visit.page.goto(visit.address + "/train", wait_until="commit")
    visit.train()


@pytest.mark.thorough(reason="starts a browser")
def test_a_file_that_is_too_large_is_refused_before_it_is_sent(visit):
    content = "x,class\n" + "1,a\n" * 600_000
    visit.page.set_input_files(
        "input[type=file] >> nth=0", {"name": "big.csv", "mimeType": "text/csv", "buffer": content.encode()}
    )
    visit.page.wait_for_selector("[role=alert]:has-text('larger than 2 MB')")
    assert visit.workspace.data is None


@pytest.mark.thorough(reason="starts a browser")
def test_an_error_is_shown_where_it_happens(visit):
    visit.page.fill("input[name=path]", "/nowhere.csv")
    visit.page.click("form[action='/open/path'] button")
    visit.page.wait_for_selector("[role=alert]:has-text('/nowhere.csv')")
    visit.errors.clear()  # the browser logs the status of the answer


@pytest.mark.thorough(reason="starts a browser")
def test_hostile_cells_do_nothing(visit):
    hostile = '"<img src=x onerror=""window.hacked=1""><script>window.hacked=1</script>"'
    visit.drop("hostile.csv", f"x,{hostile},class\n" + f"1,{hostile},a\n2,b,{hostile}\n" * 30)
    visit.go("/train")
    visit.train()
    for page in PAGES:
        visit.go(f"/{page.name}")
        assert visit.page.evaluate("window.hacked") is None, page.name


@pytest.mark.thorough(reason="starts a browser")
def test_pictures_change_with_their_options_and_are_downloaded(visit):
    visit.open_example("iris")
    visit.go("/train")
    visit.train()
    visit.go("/look?picture=boundary")
    before = visit.page.inner_html(".sheet")
    visit.page.select_option("select[name=covariance]", "tied")
    visit.page.wait_for_url("**covariance=tied**")
    visit.wait_until_idle()
    assert visit.page.inner_html(".sheet") != before
    with visit.page.expect_download() as download:
        visit.page.click("text=SVG")
    assert download.value.suggested_filename == "boundary.svg"
    assert "<svg" in Path(download.value.path()).read_text()


@pytest.mark.thorough(reason="starts a browser")
def test_learners_are_compared_and_the_best_is_trained(visit):
    visit.open_example("iris")
    visit.go("/compare")
    visit.page.click("#compare")
    visit.page.wait_for_selector("text=Advice", timeout=200_000)
    visit.wait_until_idle()
    assert visit.page.locator(".sheet svg").count() == 1


@pytest.mark.thorough(reason="starts a browser")
def test_the_model_and_the_report_are_downloaded(visit):
    visit.open_example("tennis")
    visit.go("/train")
    visit.train()
    visit.go("/take-away")
    names = []
    for path in ("model", "predictions", "report.html", "steps.py", "steps.sh"):
        with visit.page.expect_download() as download:
            visit.page.click(f"a[href='/take-away/{path}']")
        names.append(download.value.suggested_filename)
    assert names == ["tennis.deciban", "tennis-predictions.csv", "report.html", "steps.py", "steps.sh"]


def prepare_all(visit):
    """Open the patients, and train."""
    visit.go("/open")
    visit.open_example("patients")
    visit.go("/train")
    visit.train()


@pytest.mark.thorough(reason="starts a browser")
def test_no_page_is_wider_than_a_phone(visit):
    prepare_all(visit)
    visit.page.set_viewport_size({"width": 390, "height": 844})
    for page in PAGES:
        visit.go(f"/{page.name}")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390, page.name
    visit.page.click("summary:has-text('Menu')")
    visit.page.click("nav a:has-text('Open')")
    visit.page.wait_for_url("**/open")


@pytest.mark.thorough(reason="starts a browser")
def test_long_names_make_no_page_wider_than_the_window(visit, tmp_path):
    path = tmp_path / f"{'folder-with-a-name-' * 4}.csv"
    path.write_text(
        f"{'a_column_with_a_long_name_' * 4},class\n"
        + "".join(f"{i % 7 + 3 * (i % 2)},{'the class of a plant with a long name ' * 3}{i % 2}\n" for i in range(60))
    )
    visit.page.fill("input[name=path]", str(path))
    visit.page.click("form[action='/open/path'] button")
    visit.page.wait_for_selector("text=Continue to Train")
    visit.go("/train")
    visit.train()
    for width in (1280, 390):
        visit.page.set_viewport_size({"width": width, "height": 844})
        for page in PAGES:
            visit.go(f"/{page.name}")
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width, (page.name, width)


@pytest.mark.thorough(reason="starts a browser")
def test_the_studio_works_by_the_keyboard_alone(visit):
    press = visit.page.keyboard.press
    visit.page.focus("button[value=tennis]")
    press("Enter")
    visit.page.wait_for_selector("h1:has-text('tennis.csv')")
    visit.page.focus("text=Continue to Train")
    outline = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    press("Enter")
    visit.page.wait_for_selector("#train")
    visit.page.focus("#train")
    press("Space")
    visit.page.wait_for_selector("h1:has-text('How good is it?')")
    assert outline != "none"
    press("Tab")
    assert visit.page.evaluate("document.activeElement.tagName") != "BODY"


@pytest.mark.thorough(reason="starts a browser")
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there (.ci/programs fetches it)")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit, scheme):
    visit.page.emulate_media(color_scheme=scheme)
    empty = [f"/{page.name}" for page in PAGES]
    found = {path: check_accessibility(visit, path) for path in empty}
    prepare_all(visit)
    more = ["/look?picture=nomogram", "/look?picture=dependence"]
    found |= {f"{path} with a model": check_accessibility(visit, path) for path in [*empty, *more]}
    assert {path: problems for path, problems in found.items() if problems} == {}


def check_accessibility(visit, path):
    """Return the problems of a page that axe-core takes for serious or critical: rule, and the first elements."""
    visit.go(path)
    # The policy of the page allows no scripts but its own; the debugger's protocol is not a page.
    visit.page.evaluate(AXE.read_text())
    results = visit.page.evaluate("axe.run({resultTypes: ['violations']})")
    assert "color-contrast" in {rule["id"] for rule in results["passes"]}  # the rules were applied
    return [
        (problem["id"], [node["target"] for node in problem["nodes"][:3]])
        for problem in results["violations"]
        if problem["impact"] in ("serious", "critical")
    ]


@pytest.mark.thorough(reason="starts a browser")
def test_the_command_opens_a_table_and_prints_a_new_address_after_each_use(browser):
    with start_studio(str(FOLDER / "iris.csv")) as address:
        page = browser.new_context().new_page()
        page.goto(address)
        assert page.inner_text("h1").endswith("iris.csv")
        assert "token" not in page.url
        other = browser.new_context().new_page()
        assert other.goto(address).status == 401

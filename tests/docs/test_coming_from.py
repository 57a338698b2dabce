"""The pages for those who come from other programs run both sides, where the other is installed."""

import pytest

from tests.cli.test_documents import make_guide, shows_what_is_printed

PAGES = {name: needed for name, needed in make_guide.OPTIONAL_DOCUMENTS.items() if "/coming-from/" in name}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PAGES)
def test_both_sides_print_what_is_shown(name):
    if not make_guide.is_installed(PAGES[name]):
        pytest.skip(f"needs {PAGES[name]}")
    shows_what_is_printed(name)

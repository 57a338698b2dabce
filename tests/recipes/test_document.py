"""Everything that the document prints is tested: every block has a name, by which a test finds it."""

import re

from tests.recipes.document import DOCUMENT, FILES


def test_every_block_has_a_name_of_its_own():
    assert len(re.findall(r"^```\w", DOCUMENT.read_text(), flags=re.MULTILINE)) == len(FILES)


def test_every_block_is_taken_by_some_test():
    tests = "".join(path.read_text() for path in DOCUMENT.parents[2].glob("tests/recipes/test_*.py"))
    by_kind = {name for name in FILES if name.endswith((".sieve", ".service"))}  # one test takes all of them
    assert [name for name in FILES if name not in by_kind and f'"{name}"' not in tests] == []

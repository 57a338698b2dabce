"""The gallery shows every picture, and the commands that it shows draw them."""

import contextlib
import importlib.util
import re
import shlex
from pathlib import Path

import pytest

import deciban.plots
from deciban.cli.plot import GROUP
from tests.cli.terminal import done
from tests.thorough import thorough_beyond

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
make_gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_gallery)

TEXT = make_gallery.GALLERY.read_text()
CHAPTERS = make_gallery.split_chapters(TEXT)
TABLES = "The tables"
COMMANDS = list(GROUP.commands)
EXAMPLE_CHAPTERS = [name for name in CHAPTERS if name not in ("", TABLES)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tables and models that the gallery is drawn from; commands run here, which is quicker."""
    made = tmp_path_factory.mktemp("gallery")
    with contextlib.chdir(made):
        for kind, session in make_gallery.make_guide.BLOCK.findall(CHAPTERS[TABLES]):
            if kind == "pycon":
                make_gallery.make_guide.run_block(kind, session, made, {}, {})
            for arguments, file in re.findall(r"^\$ deciban (.*) > (\S+)$", session, flags=re.MULTILINE):
                Path(file).write_text(done(*shlex.split(arguments)).stdout)
    return made


@pytest.mark.parametrize("name", sorted({*deciban.plots.__all__, *COMMANDS}))
def test_every_picture_has_a_chapter_with_the_command_that_draws_it(name):
    assert name in CHAPTERS, f"the gallery has no chapter {name}. Hint: docs/gallery.md"
    assert make_gallery.list_pictures(CHAPTERS[name])
    if name in COMMANDS:
        assert f"$ deciban plot {name} " in CHAPTERS[name]


def test_the_pictures_are_those_that_are_shown_and_not_large():
    files = {path.name: path.stat().st_size for path in make_gallery.PICTURES.iterdir()}
    assert sorted(files) == sorted(make_gallery.list_pictures(TEXT)), "Hint: make gallery"
    assert sum(files.values()) <= make_gallery.MAX_BYTES


@pytest.mark.parametrize("name", thorough_beyond(5, EXAMPLE_CHAPTERS, "draws pictures: a second each"))
def test_the_commands_draw_what_is_shown_and_say_so(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    chapter = CHAPTERS[name]
    for command in make_gallery.list_commands(chapter):
        program, *arguments = shlex.split(command)
        assert program == "deciban"
        said = done(*arguments).output.splitlines()
        assert said
        assert all(line in chapter for line in said), "Hint: make gallery"
    for picture in make_gallery.list_pictures(chapter):
        assert (folder / picture).stat().st_size > 5000

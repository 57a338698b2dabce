"""`deciban demo`: the main job on scikit-learn's bundled data, from training to a picture."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from deciban import __version__
from deciban.cli.output import print_json
from deciban.cli.output_folder import check_writable, write
from deciban.plain_json import json_text

PICTURE, REPORT = "boundary.png", "report.json"


def run(folder: Path, as_json: bool) -> None:
    """Compute everything, write the files, and tell; nothing is written before all is known."""
    check_writable(folder)
    talk = Console(stderr=True, highlight=False)
    with talk.status("reading, training, judging …"):
        from deciban.cli import demo_results as lessons

        diagnosis, digits = lessons.diagnosis(), lessons.digits()
        forgetting = lessons.forgetting()
    with talk.status("drawing …"):
        picture = _picture(talk)
    figures: dict[str, Any] = {
        "version": __version__,
        "breast_cancer": asdict(diagnosis),
        "digits": asdict(digits),
        "forgetting": [asdict(line) for line in forgetting],
    }
    report = json_text(figures, indent=2).encode() + b"\n"
    files = write(folder, {**({PICTURE: picture} if picture else {}), REPORT: report})
    _tell(figures, diagnosis, digits, forgetting, files, as_json, talk)


def _picture(talk: Console) -> bytes | None:
    """The picture, or a word on how to get one."""
    from deciban.cli.demo_picture import three_boundaries
    from deciban.errors import MissingExtraError

    try:
        return three_boundaries()
    except MissingExtraError as missing:
        talk.print(f"no picture: {missing}", markup=False, soft_wrap=True)
        return None


def _tell(
    figures: dict[str, Any], diagnosis: Any, digits: Any, forgetting: Any, files: list[Path], as_json: bool, talk: Any
) -> None:
    from deciban.cli.demo_report import closing, report

    if as_json:
        print_json({**figures, "files": [str(path) for path in files]})
        closing(talk, files)
        return
    out = Console(highlight=False)
    report(out, diagnosis, digits, forgetting)
    closing(out, files)

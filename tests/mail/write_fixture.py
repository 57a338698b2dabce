"""Writes the mail store of version 0.1 that later versions must open: `python -m tests.mail.write_fixture MAILDIR`.

It ran once, on the Maildir that `deciban example mailbox` made in that version; its files are never written again.
"""

import gzip
import json
import sys
from pathlib import Path

from deciban import MailFilter

FOLDER = Path(__file__).parent / "version-0.1"
MODELS = ("evidence", "bayes", "logistic", "fisher")


def main(maildir: Path) -> None:
    store = FOLDER / "mail.db"
    paths = {"ham": sorted((maildir / "cur").iterdir()), "spam": sorted((maildir / ".Junk" / "cur").iterdir())}
    with MailFilter(store) as mail:
        for label in paths:
            for path in paths[label][::4]:
                mail.learn(path.read_bytes(), label)
        mail.refit(force=True)
    asked = {path.name.split(".home")[0]: path.read_bytes() for label in paths for path in paths[label][2::16]}
    for name, raw in asked.items():
        (FOLDER / f"{name}.eml").write_bytes(raw)
    expected = {}
    for model in MODELS:
        with MailFilter(store, model=model, read_only=True) as mail:
            verdicts = {name: mail.classify(raw) for name, raw in asked.items()}
            expected[model] = {
                name: {"label": v.label, "probability": v.probability, "decibans": v.decibans}
                for name, v in verdicts.items()
            }
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    (FOLDER / "mail.db.gz").write_bytes(gzip.compress(store.read_bytes(), mtime=0))
    store.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

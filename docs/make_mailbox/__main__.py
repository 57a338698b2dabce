"""Write the packed example mailbox into the package: `python -m docs.make_mailbox`."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from docs.make_mailbox.mailbox import files

ARCHIVE = Path(__file__).parents[2] / "src" / "deciban" / "cli" / "examples" / "mailbox.tar.xz"


def main() -> None:
    """Write one member for each message, without times and owners."""
    with tarfile.open(ARCHIVE, "w:xz", format=tarfile.USTAR_FORMAT) as archive:
        for name, raw in files().items():
            member = tarfile.TarInfo(name)
            member.size = len(raw)
            archive.addfile(member, io.BytesIO(raw))


if __name__ == "__main__":
    main()

"""Files that are dropped on a page: received into the studio's folder, within a limit."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from starlette.requests import Request

from deciban.formatting import format_size
from deciban.server.problems import Problem
from deciban.studio.opening import clean_name
from deciban.studio.requests import get_workspace


def describe_limit(limit: int) -> str:
    """Describe that a file is too large to be dropped, and what to do instead."""
    return (
        f"the file is larger than {format_size(limit)}, the most that can be dropped here. "
        f"Hint: open it by its path, which has no limit"
    )


async def receive_file(request: Request) -> Path:
    """Write the body of a request into a new folder, under the name in its query; refuse one too long or empty.

    The bytes are written as they come, so that memory does not grow with the file.
    """
    settings = get_workspace(request).settings
    limit, too_large = settings.max_upload_bytes, describe_limit(settings.max_upload_bytes)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > limit:
        raise Problem(413, too_large, {"connection": "close"})
    folder = Path(tempfile.mkdtemp(prefix="dropped-", dir=settings.folder))
    path, size = folder / clean_name(request.query_params.get("name", "")), 0
    try:
        with open(path, "wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > limit:
                    raise Problem(413, too_large, {"connection": "close"})
                file.write(chunk)
        if not size:
            raise Problem(422, f"{path.name} is empty. Hint: a table has a header and rows")
    except BaseException:
        remove_file(path)
        raise
    return path


def remove_file(path: Path) -> None:
    """Remove a file that was dropped, and its folder."""
    path.unlink(missing_ok=True)
    os.rmdir(path.parent)

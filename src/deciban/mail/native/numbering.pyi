from collections.abc import Iterable

from deciban.mail.numbering import Said

class Numbering:
    def __init__(self) -> None: ...
    def said(self, raws: Iterable[bytes], digests: bool = True) -> Said: ...

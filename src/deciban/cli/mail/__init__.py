"""`deciban mail`: a filter for one's own mailbox; one file a command, or a few that belong together.

Exit codes are those of all commands, but for two. `classify` answers by its own (0 spam, 1 ham, 2 unsure, 3 error),
and `filter` ends with 0 whatever happens, as long as the message could be passed on. Wrong usage is no answer either,
so that it too is 3 of `classify`, and passes the message on unchanged through `filter`.

To add a command: a file with `command` and `EXAMPLE`, a line in `COMMANDS` (`commands.py`), and a section
`### mail NAME` in `docs/cli.md` with `<!-- options of mail NAME -->` and `<!-- end -->`, which `make guide` fills in.

What a mail system calls for each message (`classify` and `filter`, of standard input) must answer at once, and what
scripts call for a few (`learn`, `classify PATH`) not much later. So `at_once.py` answers the usual calls before any
library is loaded that reads options, and `one.py`, `many.py`, `passing.py`, `learning.py` and what they use know of
none. An option of these commands goes the long way until it is named there.
"""

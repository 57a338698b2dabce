"""`deciban mail`: a spam filter for one's own mailbox; one module per command or per few related commands.

Exit codes are those of all commands, with two exceptions. `classify` of standard input returns its verdict (0 spam,
1 ham, 2 unsure, 3 error), and `filter` returns 0 in every case in which the message was passed on. Wrong usage is not
a verdict: it is 3 in `classify`, and `filter` then passes the message on unchanged.

To add a command: a function with the decorator `mail_inputs.command`, a line in `GROUP` (`commands.py`), and a
section `### mail NAME` in `docs/cli.md` with `<!-- options of mail NAME -->` and `<!-- end -->`, which `make guide`
fills in.

A mail system starts `classify` or `filter` once for each message, so their start-up time counts: these commands are
parsed by argparse and import nothing heavy at module level. With Typer, `mail classify` of one message took 0.45 s of
CPU time in place of 0.2 s.
"""

"""The generator of the example mailbox: one person's wanted mail and spam in eleven languages, composed of phrases.

`python -m docs.make_mailbox` writes the archive that `deciban example mailbox` unpacks. Nobody wrote or received any
of these messages, all addresses are in domains reserved for examples, and the advertised products do not exist.

    languages/    phrases, a file for each language
    phrases.py    composes texts of phrases
    people.py     senders
    draw.py       reproducible random draws
    drafts.py     messages, their headers and their encoding as bytes
    pages.py      texts as HTML
    ham.py        wanted mail
    spam.py       spam
    mailbox.py    all messages, with their places in a Maildir
"""

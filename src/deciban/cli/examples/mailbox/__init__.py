"""A made-up mailbox: one person's letters and junk in eleven languages, put together from phrases, always the same.

Nobody wrote or received any of it, all addresses are in domains that are kept free for examples, and what the junk
advertises does not exist.

    phrases/      what is said, a file for each language
    texts.py      how phrases become a text
    people.py     who writes
    letter.py     what a letter is
    mime.py       how it is written as bytes
    headers.py    the headers that the way of a letter leaves on it
    ham.py        wanted mail
    spam.py       the rest
    maildir.py    all of it, as a Maildir
"""

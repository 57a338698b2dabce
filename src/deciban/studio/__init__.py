"""The studio: pages in a browser, served on this machine only, to open a table, train, look, ask and correct.

`application` makes the ASGI application, `gate` decides which requests are answered, `workspace` has everything that
is open, and each page is a module of `pages`, whose docstring says how to add one.
"""

"""What can go wrong, as a tree; each kind is also the built-in exception people already catch.

    DecibanError
    ├── InputError      (ValueError)   data or an argument breaks a rule
    ├── SchemaError     (ValueError)   two ledgers or models count different things
    ├── ForgetError     (ValueError)   asked to take away what was never learned
    ├── ModelFileError  (ValueError)   a model file cannot be read or written; the text says why
    ├── MissingExtraError (ImportError) an optional part needs a library that is not installed
    └── UndefinedError  (TypeError and AttributeError)  the model has no such quantity; the text says why

    DecibanWarning      (UserWarning)  the answer stands, but the user should know something

Every message names the thing, the rule, the value and the way out.
"""

from __future__ import annotations


class DecibanError(Exception):
    """Anything deciban refuses to do."""


class InputError(DecibanError, ValueError):
    """The data or an argument breaks a rule."""


class SchemaError(DecibanError, ValueError):
    """Two ledgers or models do not count the same things."""


class ForgetError(DecibanError, ValueError):
    """A subtraction would take away what was never learned."""


class ModelFileError(DecibanError, ValueError):
    """A model file cannot be written, or is not what was written."""


class MissingExtraError(DecibanError, ImportError):
    """A library that an optional part needs is not installed."""


class UndefinedError(DecibanError, TypeError, AttributeError):
    """The model has no such quantity."""


class DecibanWarning(UserWarning):
    """The answer stands, but something about it should be known."""

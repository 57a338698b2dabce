"""What can go wrong, as a tree; each kind is also the built-in exception people already catch.

    DecibanError
    ├── InputError      (ValueError)   data or an argument breaks a rule
    ├── SchemaError     (ValueError)   two ledgers or models count different things
    ├── ForgetError     (ValueError)   asked to take away what was never learned
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


class UndefinedError(DecibanError, TypeError, AttributeError):
    """The model has no such quantity."""


class DecibanWarning(UserWarning):
    """The answer stands, but something about it should be known."""

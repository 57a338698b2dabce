"""The tests; helpers are imported as `tests.PACKAGE.MODULE`."""

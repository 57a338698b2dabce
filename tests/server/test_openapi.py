"""The OpenAPI document describes what the server does: schemathesis calls it with thousands of odd requests."""

import os

import pytest
import requests
from hypothesis import HealthCheck, given, settings

import deciban
from deciban.server.openapi import OPERATIONS, make_document

schemathesis = pytest.importorskip("schemathesis")

CALLS = int(os.environ.get("DECIBAN_SCHEMA_CALLS", "1000"))
"""The number of calls of the thorough test."""


def load_schema():
    """Return the document with the names of a model that there is, and of one that there is not."""
    document = make_document("1", needs_token=True)
    for path in document["paths"].values():
        for operation in path.values():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] == "name":
                    parameter["schema"] = {"type": "string", "enum": ["clinic", "nobody"]}
    return schemathesis.openapi.from_dict(document)


def call_operations(clinic, n_calls):
    """Call every operation with generated requests, valid and invalid, and check each answer; return their number."""
    from schemathesis.specs.openapi.checks import positive_data_acceptance  # rules of data are beyond a schema

    count, session = 0, requests.Session()
    operations = [each.ok() for each in load_schema().get_all_operations()]
    assert len(operations) == len(OPERATIONS)
    with_input = [each for each in operations if each.body or each.query or each.path_parameters]
    modes = schemathesis.GenerationMode
    todo = [(each, mode) for each in with_input for mode in (modes.POSITIVE, modes.NEGATIVE)]
    todo += [(each, modes.POSITIVE) for each in operations if each not in with_input]
    for operation, mode in todo:

        @settings(
            max_examples=max(2, n_calls // len(todo)), deadline=None, derandomize=True, database=None,
            suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(case=operation.as_strategy(mode))
        def check(case):
            nonlocal count
            count += 1
            case.call_and_validate(clinic.url, session, clinic.headers, excluded_checks=[positive_data_acceptance])

        check()
    return count


def test_some_generated_requests_are_answered_as_described(clinic):
    assert call_operations(clinic, 60) >= 40


@pytest.mark.thorough(reason="starts server processes, and waits for them")
def test_thousands_of_generated_requests_are_answered_as_described(clinic):
    n_calls, done = CALLS, 0
    while done < n_calls:
        before = done
        done += call_operations(clinic, n_calls)
        assert done > before


def test_the_document_lists_every_operation(clinic):
    document = clinic.client.get("/openapi.json").json()
    assert document == make_document(deciban.__version__, needs_token=True)
    assert {(path, method) for path, methods in document["paths"].items() for method in methods} == {
        (operation.path, operation.method.lower()) for operation in OPERATIONS
    }

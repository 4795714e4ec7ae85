"""The API against its own description: Schemathesis makes requests, right and wrong, and no answer is a fault."""

import os

import pytest
from running_service import dark_binarizer, running

schemathesis = pytest.importorskip("schemathesis", reason="the API is fuzzed with schemathesis")
from hypothesis import HealthCheck, given, settings  # noqa: E402
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    not_a_server_error,
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
]
EXAMPLES = 300 if os.environ.get("DRMAMBA_FULL") else 5


@pytest.fixture(scope="module")
def server():
    with dark_binarizer() as binarizer, running(binarizer) as server:
        yield server


@pytest.mark.filterwarnings("default")  # schemathesis' and its libraries' own
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_no_request_makes_a_fault(server, mode):
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    assert {operation.path for operation in operations} >= {"/v1/binarize", "/v1/results/{name}", "/metrics"}
    statuses = set()
    for operation in operations:
        if mode is schemathesis.GenerationMode.NEGATIVE and not any(operation.iter_parameters()):
            continue  # there is nothing to get wrong

        @settings(max_examples=EXAMPLES, deadline=None, database=None, derandomize=True,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy(mode))
        def call(case):
            statuses.add(case.call_and_validate(checks=CHECKS).status_code)

        call()
    assert max(statuses) < 500
    assert len(statuses) > 1

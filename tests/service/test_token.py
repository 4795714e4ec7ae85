"""The token that clients must send."""

import http.client

import pytest
from running_service import dark_binarizer, post, problem, running

from drmamba.config import ServiceConfig
from drmamba.errors import ConfigError
from drmamba.service.guard import check_token
from drmamba.service.server import Server

httpx = pytest.importorskip("httpx")


def test_the_token(dark):
    with dark_binarizer() as binarizer, running(binarizer, token="s3cret") as server:
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        assert httpx.get(f"{server.url}/readyz").status_code == 200
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": "Basic s3cret"},
                        {"cookie": "drmamba_token=wrong"}, {"cookie": "=;=,"}):  # fmt: skip
            problem(post(server, headers=headers), 401)
        for path in ("/v1/models", "/metrics", "/openapi.json", "/"):
            problem(httpx.get(server.url + path), 401)
        assert post(server, headers={"authorization": "Bearer s3cret"}).status_code == 200
        browser = httpx.Client(base_url=server.url)
        problem(browser.get("/v1/models?token=wrong"), 401)
        assert browser.get("/v1/models?token=s3cret").status_code == 303
        assert browser.get("/v1/models").status_code == 200
        browser.close()
    assert httpx.get(f"{dark.url}/v1/models").status_code == 200


@pytest.mark.parametrize("token", ["two words", "schlüssel", "a=b", "=", "x\n"])
def test_a_token_that_nobody_could_show_is_refused_at_the_start(token):
    with dark_binarizer() as binarizer, pytest.raises(ConfigError, match=r"service\.token") as caught:
        Server(binarizer, ServiceConfig(port=0, page=False, token=token))
    assert token not in str(caught.value) or len(token) == 1  # it is a secret
    assert "\n" not in str(caught.value)


def test_every_token_of_rfc_6750_opens_the_door():
    token = "aZ09-._~+/=="
    check_token(token)
    check_token("")
    with dark_binarizer() as binarizer, running(binarizer, token=token) as server:
        assert httpx.get(f"{server.url}/v1/models", headers={"authorization": f"Bearer {token}"}).is_success
        for shown in (token, token.replace("+", "%2B")):
            browser = httpx.Client(base_url=server.url)
            assert browser.get(f"/v1/models?token={shown}").status_code == 303
            assert browser.get("/v1/models").status_code == 200
            browser.close()


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("//evil.example/x", "/evil.example/x"),
        ("/%5Cevil.example", "/%5Cevil.example"),
        ("/a%0d%0aSet-Cookie:b", "/a%0D%0ASet-Cookie%3Ab"),
        ("/", "/"),
    ],
)
def test_the_token_s_redirect_stays_here(path, place):
    with dark_binarizer() as binarizer, running(binarizer, token="s3cret") as server:
        line = http.client.HTTPConnection(*server.socket.getsockname())
        line.request("GET", f"{path}?token=s3cret")
        answer = line.getresponse()
        line.close()
    assert (answer.status, answer.headers["location"]) == (303, place)

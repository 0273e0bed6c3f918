"""Servers and clients for the tests: each test runs on every server, and many in both protocols."""

import subprocess

import pytest

from servers import BINARIES, Server


def pytest_report_header():
    """States which servers the tests run on."""
    for kind, binary in sorted(BINARIES.items()):
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
        yield f"{kind}: {said.stdout.strip()}"


@pytest.fixture(scope="session", params=sorted(BINARIES))
def kind(request):
    return request.param


@pytest.fixture(scope="session")
def shared(kind):
    """A server for tests that need nothing special; emptied before each."""
    server = Server(kind)
    yield server
    assert server.process.poll() is None, f"the server ended: {server.log()[-3000:]}"
    server.remove()


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def client(request, shared):
    client = shared.client(protocol=request.param)
    client.flushall()
    yield client
    client.close()


@pytest.fixture
def start(kind):
    """Starts servers of its own for a test."""
    servers = []

    def start(*options, **more):
        servers.append(Server(kind, *options, **more))
        return servers[-1]

    yield start
    for server in servers:
        server.remove()

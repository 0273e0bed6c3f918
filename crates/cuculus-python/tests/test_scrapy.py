"""The duplicates filter in real crawls of a local server: every page once, also when stopped and resumed."""

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from cuculus import Filter

PAGES = int(os.environ.get("CUCULUS_CRAWL_PAGES", "600"))
LINKS = int(os.environ.get("CUCULUS_CRAWL_LINKS", "20"))


class Site:
    """Pages with links to other pages, all of which can be reached from the first."""

    def __init__(self, pages):
        self.pages, self.visits = pages, Counter()
        self.loop, started = asyncio.new_event_loop(), threading.Event()
        threading.Thread(target=self.run, args=[started], daemon=True).start()
        started.wait()

    def run(self, started):
        async def serve():
            server = await self.loop.create_server(lambda: Connection(self), "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            started.set()
            await server.serve_forever()

        self.loop.run_until_complete(serve())

    def answer(self, request):
        query = request.split(b" ", 2)[1].decode().split("?", 1)[1]
        page = int(dict(part.split("=") for part in query.split("&"))["page"])
        self.visits[page] += 1
        return json.dumps(self.links(page)).encode()

    def links(self, page):
        chosen = random.Random(page)
        links = [2 * page + 1, 2 * page + 2] + [chosen.randrange(self.pages) for _ in range(LINKS - 2)]
        return [(link, chosen.randrange(2)) for link in links if link < self.pages]


class Connection(asyncio.Protocol):
    """Requests without bodies, answered in turn."""

    def __init__(self, site):
        self.site, self.received = site, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        *requests, self.received = (self.received + data).split(b"\r\n\r\n")
        for request in requests:
            body = self.site.answer(request)
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


@pytest.fixture
def site():
    return Site(PAGES)


def crawl(site, **settings):
    command = [sys.executable, Path(__file__).parent / "crawl.py", str(site.port), str(LINKS), json.dumps(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600 + PAGES / 50, check=True)
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def every_page_once(site, runs=1):
    """Scrapy does not filter the URL that a run begins with; links spell that page otherwise."""
    visits = dict(site.visits)
    first = visits.pop(0)
    return first <= runs + 1 and len(visits) == PAGES - 1 and set(visits.values()) == {1}


def test_a_crawl(site):
    done = crawl(site)
    assert done["links"] > 0.9 * PAGES * LINKS and every_page_once(site), site.visits.most_common(3)


def test_stopped_and_resumed(site, tmp_path):
    job = str(tmp_path / "job")
    # Saved several times meanwhile.
    first = crawl(site, JOBDIR=job, CLOSESPIDER_PAGECOUNT=PAGES // 3, CUCULUS_SAVE_EVERY=PAGES / 10_000)
    assert first["reason"] == "closespider_pagecount"
    before = sum(site.visits.values())
    assert PAGES // 4 < before < PAGES // 2
    seen = Filter.load(tmp_path / "job/requests.cuculus")
    assert len(seen) >= before
    second = crawl(site, JOBDIR=job)
    assert second["reason"] == "finished" and every_page_once(site, 2), site.visits.most_common(3)
    # Finished: another run has nothing to do.
    crawl(site, CUCULUS_FILE=str(tmp_path / "job/requests.cuculus"))
    assert every_page_once(site, 3)


def test_in_a_server(site):
    sys.path.append(str(Path(__file__).parents[2] / "cuculus-valkey/tests"))
    from servers import HOST, Server

    server = Server("redis")
    try:
        crawl(site, CUCULUS_URL=f"redis://{HOST}:{server.port}", CUCULUS_NAME="seen")
        # One in 100,000 is lost on average.
        assert max(site.visits.values()) <= 2 and len(site.visits) >= PAGES - 1
        assert server.client().hget("seen", "parts") == b"256"
        crawl(site, CUCULUS_URL=f"valkey://{HOST}:{server.port}", CUCULUS_NAME="seen")
        assert sum(site.visits.values()) <= PAGES + 2
    finally:
        server.remove()

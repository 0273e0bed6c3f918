"""The duplicates filter in real crawls of a local server: every page once, also when stopped and resumed."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from math import sqrt
from pathlib import Path

import pytest

from cuculus_filter import Filter

PAGES = int(os.environ.get("CUCULUS_CRAWL_PAGES", "600"))
LINKS = int(os.environ.get("CUCULUS_CRAWL_LINKS", "20"))
# The default of the duplicates filter.
RATE = 1e-6


class Site:
    """Pages with links to other pages, all of which can be reached from the first."""

    def __init__(self, pages):
        self.pages, self.visits = pages, [0] * pages
        # What to do when that many pages were served.
        self.served, self.alarm = 0, (None, None)
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
        words = request[: request.index(b" HTTP/")].partition(b"page=")[2]
        page = int(words.partition(b"&")[0])
        self.visits[page] += 1
        self.served += 1
        if self.served == self.alarm[0]:
            self.alarm[1]()
        return b"".join(
            b'<a href="/?page=%d&a=%d">' % (link, link % 7)
            if spelling
            else b'<a href="/?a=%d&page=%d">' % (link % 7, link)
            for link, spelling in self.links(page)
        )

    def links(self, page):
        """Two pages of a tree and some anywhere: most of them were linked to before."""
        for link in (2 * page + 1, 2 * page + 2):
            if link < self.pages:
                yield link, link & 4
        state = page
        for _ in range(LINKS - 2):
            state = state * 0x5851F42D4C957F2D + 0x14057B7EF767814F & (1 << 64) - 1
            yield (state >> 32) % self.pages, state >> 63


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


def crawl(site, stop_after=None, **settings):
    """Crawls the site, and stops as with Ctrl-C when it has served that many pages."""
    command = [sys.executable, Path(__file__).parent / "crawl.py", str(site.port), json.dumps(settings)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        site.alarm = stop_after, lambda: process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=600 + PAGES / 50)
    assert process.returncode == 0 and not errors, errors
    return json.loads(said)


def every_page_once(site, runs=1):
    """Scrapy does not filter the URL that a run begins with; links spell that page otherwise.

    A page that is taken for another one is not asked for, and neither are pages to which only such pages link.
    """
    first, *others = site.visits
    lost = {page for page, visits in enumerate(others, 1) if not visits}
    linked = (
        {link for page in range(site.pages) if site.visits[page] for link, _ in site.links(page)} if lost else set()
    )
    taken, expected = len(lost & linked), PAGES * RATE
    outcome = {
        "pages": PAGES,
        "served": site.served,
        "first page": first,
        "served twice": sum(visits > 1 for visits in others),
        "not asked for": len(lost),
        "taken for others": taken,
        "expected at most": expected,
        "seconds": time.process_time(),
    }
    print(json.dumps(outcome))
    return first <= runs + 1 and max(others) == 1 and taken <= expected + 5 * sqrt(expected), outcome


def test_a_crawl(site):
    done = crawl(site)
    assert done["links"] > 0.9 * PAGES * (LINKS - 1)
    is_so, outcome = every_page_once(site)
    assert is_so, outcome


def test_stopped_and_resumed(site, tmp_path):
    job = str(tmp_path / "job")
    # Saved several times meanwhile.
    first = crawl(site, PAGES // 3, JOBDIR=job, CUCULUS_SAVE_EVERY=PAGES / 10_000)
    print(first)
    assert first["reason"] == "shutdown"
    before = site.served
    assert PAGES // 3 <= before < PAGES // 2
    seen = Filter.load(tmp_path / "job/requests.cuculus")
    assert len(seen) >= before
    print(seen)
    second = crawl(site, JOBDIR=job)
    print(second)
    assert second["reason"] == "finished"
    is_so, outcome = every_page_once(site, 2)
    assert is_so, outcome
    seen = Filter.load(tmp_path / "job/requests.cuculus")
    print(seen, seen.stats())
    # Finished: another run has nothing to do.
    crawl(site, CUCULUS_FILE=str(tmp_path / "job/requests.cuculus"))
    is_so, outcome = every_page_once(site, 3)
    assert is_so, outcome


def test_in_a_server(site):
    sys.path.append(str(Path(__file__).parents[2] / "cuculus-valkey/tests"))
    from servers import HOST, Server

    server = Server("redis")
    try:
        crawl(site, CUCULUS_URL=f"redis://{HOST}:{server.port}", CUCULUS_NAME="seen")
        # One in 100,000 is lost on average.
        assert max(site.visits) <= 2 and sum(map(bool, site.visits)) >= PAGES - 1
        assert server.client().hget("seen", "parts") == b"256"
        crawl(site, CUCULUS_URL=f"valkey://{HOST}:{server.port}", CUCULUS_NAME="seen")
        assert site.served <= PAGES + 2
    finally:
        server.remove()

"""A duplicates filter for Scrapy in a few bytes per request, kept in a file or in a cluster.

In the settings of a project: `DUPEFILTER_CLASS = "cuculus_filter.scrapy.DupeFilter"`.
"""

from __future__ import annotations

import importlib
import time
from pathlib import Path
from typing import Any

from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.job import job_dir

from ._cuculus import Filter
from .cluster import PartitionedFilter

__all__ = ["DupeFilter"]

#: The name of the file in JOBDIR.
_FILE = "requests.cuculus"


class DupeFilter(RFPDupeFilter):
    """Filters requests with the same fingerprint, as Scrapy's own class does, in less memory.

    A new request is taken for a duplicate with the probability CUCULUS_FALSE_POSITIVE_RATE at most, one in a
    million by default.
    """

    def __init__(
        self,
        seen: Filter | PartitionedFilter,
        *,
        path: Path | None = None,
        save_every: float = 60.0,
        debug: bool = False,
        fingerprinter: Any = None,
    ) -> None:
        super().__init__(None, debug, fingerprinter=fingerprinter)
        self.seen, self.path, self.save_every = seen, path, save_every
        self._saved = time.monotonic()

    @classmethod
    def from_crawler(cls, crawler: Any) -> DupeFilter:
        settings = crawler.settings
        rate = settings.getfloat("CUCULUS_FALSE_POSITIVE_RATE", 1e-6)
        items = settings.getint("CUCULUS_EXPECTED_ITEMS") or None
        path: Path | None = None
        seen: Filter | PartitionedFilter
        if url := settings.get("CUCULUS_URL"):
            name = settings.get("CUCULUS_NAME") or f"scrapy:{crawler.spider.name}"
            client = _client(url, settings.getbool("CUCULUS_CLUSTER"))
            # The module's smallest rate.
            rate = max(rate, 1e-5)
            seen = PartitionedFilter(client, name, false_positive_rate=rate, expected_items=items)
        else:
            path = _path(settings)
            if path is not None and path.exists():
                seen = Filter.load(path)
            else:
                seen = Filter(rate, expected_items=items)
        return cls(
            seen,
            path=path,
            save_every=settings.getfloat("CUCULUS_SAVE_EVERY", 60.0),
            debug=settings.getbool("DUPEFILTER_DEBUG"),
            fingerprinter=crawler.request_fingerprinter,
        )

    def request_seen(self, request: Any) -> bool:
        fingerprint = self.fingerprinter.fingerprint(request)
        if isinstance(self.seen, PartitionedFilter):
            return not self.seen.add_new([fingerprint])[0]
        is_new = self.seen.add_new(fingerprint)
        if is_new and self.path is not None and time.monotonic() - self._saved > self.save_every:
            self._save()
        return not is_new

    def close(self, reason: str) -> None:
        self._save()
        super().close(reason)

    def _save(self) -> None:
        if self.path is not None and isinstance(self.seen, Filter):
            self.seen.save(self.path)
            self._saved = time.monotonic()


def _path(settings: Any) -> Path | None:
    """The file of a crawl that can be resumed."""
    if file := settings.get("CUCULUS_FILE"):
        return Path(file)
    directory = job_dir(settings)
    return Path(directory, _FILE) if directory else None


def _client(url: str, is_cluster: bool) -> Any:
    library = importlib.import_module("valkey" if url.startswith("valkey") else "redis")
    names = ("ValkeyCluster", "RedisCluster") if is_cluster else ("Valkey", "Redis")
    name = next(name for name in names if hasattr(library, name))
    return getattr(library, name).from_url(url)

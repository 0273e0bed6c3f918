"""A crawl of a made-up site: `python crawl.py PORT SETTINGS`, with the settings as JSON.

Every page links to others, under several spellings of the same URL; prints the number of links followed, why the
crawl ended, and its processor time in seconds.
"""

import gc
import json
import re
import sys
import time

import scrapy
from scrapy.crawler import CrawlerProcess

SITE = f"http://127.0.0.1:{int(sys.argv[1])}"
LINK = re.compile(rb'href="([^"]*)"')


class Spider(scrapy.Spider):
    name = "made-up"
    start_urls = [f"{SITE}/?page=0"]
    links = 0

    def parse(self, response):
        for link in LINK.findall(response.body):
            self.links += 1
            yield scrapy.Request(SITE + link.decode())

    def closed(self, reason):
        print(json.dumps({"links": self.links, "reason": reason, "seconds": time.process_time()}))


settings = {
    "DUPEFILTER_CLASS": "cuculus_filter.scrapy.DupeFilter",
    "LOG_LEVEL": "ERROR",
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "DOWNLOAD_DELAY": 0,
    # A machine that is busy with other work may stop for a while. Without its middleware the setting means
    # nothing, and a request fails after ten seconds.
    "DOWNLOAD_TIMEOUT": 3600,
    "DOWNLOADER_MIDDLEWARES_BASE": {"scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": 350},
    # What such a site does not need takes more time than the rest. The HTTP client, the scheduler and its queues
    # on disk are those of any crawl.
    "SPIDER_MIDDLEWARES_BASE": {},
    "EXTENSIONS_BASE": {},
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    # Scrapy starts that many tasks for every page, 100 by default: more than half of the time of a small page.
    "CONCURRENT_ITEMS": 1,
}
# Requests that wait are many objects, none of them garbage.
gc.set_threshold(100_000)
process = CrawlerProcess(settings | json.loads(sys.argv[2]))
process.crawl(Spider)
process.start()

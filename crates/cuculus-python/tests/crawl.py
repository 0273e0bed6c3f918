"""A crawl of a made-up site: `python crawl.py PORT LINKS SETTINGS`, with the settings as JSON.

Every page links to others, under several spellings of the same URL; prints the number of links followed.
"""

import json
import sys

import scrapy
from scrapy.crawler import CrawlerProcess

PORT, LINKS = int(sys.argv[1]), int(sys.argv[2])


class Spider(scrapy.Spider):
    name = "made-up"
    start_urls = [f"http://127.0.0.1:{PORT}/?page=0"]
    links = 0

    def parse(self, response):
        for page, spelling in json.loads(response.body):
            self.links += 1
            words = [f"page={page}", f"a={page % 7}"][:: 1 if spelling else -1]
            yield scrapy.Request(f"http://127.0.0.1:{PORT}/?{'&'.join(words)}")

    def closed(self, reason):
        print(json.dumps({"links": self.links, "reason": reason}))


settings = {
    "DUPEFILTER_CLASS": "cuculus.scrapy.DupeFilter",
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
    "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    "DOWNLOAD_DELAY": 0,
    # A machine that is busy with other work may stop for a while.
    "DOWNLOAD_TIMEOUT": 3600,
    # What such a site does not need takes more time than the rest.
    "DOWNLOADER_MIDDLEWARES_BASE": {},
    "SPIDER_MIDDLEWARES_BASE": {},
    "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
}
process = CrawlerProcess(settings | json.loads(sys.argv[3]))
process.crawl(Spider)
process.start()

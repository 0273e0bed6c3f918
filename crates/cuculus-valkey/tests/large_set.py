"""One large set over a cluster, as `cargo xtask bench-valkey --cluster N` runs it: added by the tool while a
primary is killed, looked up, exported, and imported into a fresh cluster.

Every id must be found; what is printed says how long it took, and what the set takes."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from cluster import PRIMARIES, Cluster
from servers import wait_until

TOOL = os.environ["CUCULUS_TOOL"]
#: Other ids, for the rate.
ABSENT = 10_000_000
#: The rate of sets of which nothing else is said.
RATE = 0.001
TICK = os.sysconf("SC_CLK_TCK")


def cpu(server):
    """Seconds of processor time of a server that runs."""
    with open(f"/proc/{server.process.pid}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / TICK


def running(cluster):
    return [server for server in cluster.servers if server.process]


def start(cluster, *words, ids=None):
    """Starts `cuculus cluster`, with the ids of a range as its lines."""
    nodes = [f"--node=redis://127.0.0.1:{server.port}" for server in running(cluster)]
    lines = None
    if ids:
        lines = subprocess.Popen(["seq", str(ids[0]), str(ids[1])], stdout=subprocess.PIPE)
    command = [TOOL, "cluster", *words, *nodes]
    # What it says of its progress goes where ours goes.
    source = lines.stdout if lines else subprocess.DEVNULL
    return subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, text=True)


def finish(process):
    said, _ = process.communicate()
    assert process.returncode == 0, process.args
    return said


def tool(cluster, *words, ids=None):
    return finish(start(cluster, *words, ids=ids))


def stats(cluster, name):
    return json.loads(tool(cluster, "stats", name, "--json"))


class Course:
    """Prints each step with its time when it ends."""

    def __init__(self, items):
        self.items = items

    def step(self, what, cluster, run):
        """Runs a step. Servers that end during it are not counted."""
        before = {server: cpu(server) for server in running(cluster)}
        own, begun = os.times(), time.monotonic()
        result = run()
        spent = os.times()
        client = sum(spent[2:4]) - sum(own[2:4])
        servers = sum(cpu(server) - before[server] for server in before if server.process)
        wall = time.monotonic() - begun
        per_id = 1e6 / self.items
        print(
            f"{what}: {wall:.0f} s; processor time per id: client {client * per_id:.2f} us, "
            f"servers {servers * per_id:.2f} us",
            flush=True,
        )
        return result

    def found(self, cluster, name):
        ids = (1, self.items)
        found = int(tool(cluster, "query", "--count", name, ids=ids))
        assert found == self.items, f"{self.items - found} of {self.items} ids are lost"

    def rate(self, cluster, name):
        first = self.items + 1
        found = int(tool(cluster, "query", "--count", name, ids=(first, first + ABSENT - 1)))
        rate = found / ABSENT
        print(f"  false positives: {rate:.4%}")
        # Five sigmas above what is promised.
        assert rate < RATE + 5 * (RATE / ABSENT) ** 0.5, rate


def add(cluster, course, name):
    """Adds all ids, and kills a primary when two fifths are there."""
    adding = start(cluster, "add", name, ids=(1, course.items))
    killed = []

    def kill():
        while adding.poll() is None:
            there = stats(cluster, name)["items"]
            if there >= 0.4 * course.items:
                cluster.servers[1].kill()
                killed.append(there)
                return
            time.sleep(0.5)

    killer = threading.Thread(target=kill)
    killer.start()
    told = json.loads(finish(adding))
    killer.join()
    assert killed, "the ids were added before a primary could be killed: use more"
    assert told["read"] == course.items
    print(f"  a primary was killed after {killed[0]:,} items; sent again: {told['sent_again']:,}")


def main():
    items = int(sys.argv[1])
    kind = sys.argv[2] if len(sys.argv) > 2 else "valkey"
    course = Course(items)
    with tempfile.TemporaryDirectory() as directory:
        file = os.path.join(directory, "seen.parts")
        cluster = Cluster(kind)
        try:
            said = running(cluster)[0].client().info("server")
            version = said.get("valkey_version") or said["redis_version"]
            print(f"{items:,} ids, {PRIMARIES} primaries with a replica each, {kind} {version}")
            tool(cluster, "create", "seen", "--items", str(items))
            course.step("added", cluster, lambda: add(cluster, course, "seen"))
            wait_until(lambda: all(map(cluster.is_ok, running(cluster))), "a replica has taken over")
            course.step("every id found", cluster, lambda: course.found(cluster, "seen"))
            course.rate(cluster, "seen")
            seen = stats(cluster, "seen")
            counts = [primary["items"] for primary in seen["primaries"]]
            shares = ", ".join(f"{PRIMARIES * count / sum(counts):.1%}" for count in counts)
            print(f"  {seen['parts']} parts; of an even share each primary has {shares}")
            print(f"  {seen['bytes_per_item']:.2f} bytes per id")
            course.step("exported", cluster, lambda: tool(cluster, "export", "seen", file))
            print(f"  {os.path.getsize(file) / items:.2f} bytes per id in the file")
        finally:
            cluster.remove()
        cluster = Cluster(kind)
        try:
            imported = lambda: tool(cluster, "import", "again", file)
            course.step("imported into a fresh cluster", cluster, imported)
            course.step("every id found there", cluster, lambda: course.found(cluster, "again"))
            course.rate(cluster, "again")
        finally:
            cluster.remove()


main()

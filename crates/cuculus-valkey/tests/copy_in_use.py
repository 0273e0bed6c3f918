"""A large filter copied to another server by CF.SCANDUMP and CF.LOADCHUNK while items are added to it, as
`cargo xtask bench-valkey --copy N` runs it.

The copy must hold every item that was there at the start. What is printed is the servers' processor time of
each call."""

import os
import subprocess
import sys

from servers import HOST, SLOTS, Server, free_port, wait_until

TOOL = os.environ["CUCULUS_TOOL"]
#: Items that are added between two calls.
ADDED = 500


def start(kind):
    """A cluster of one server, as the tool needs it."""
    server = Server(kind, "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    client = server.client()
    client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    wait_until(lambda: b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO"), "it works")
    return server, client


def tool(server, *words, ids=None):
    lines = subprocess.Popen(["seq", str(ids)], stdout=subprocess.PIPE) if ids else None
    command = [TOOL, "cluster", *words, "--replicas", "0", f"--node=redis://{HOST}:{server.port}"]
    source = lines.stdout if lines else subprocess.DEVNULL
    return subprocess.run(command, stdin=source, stdout=subprocess.PIPE, text=True, check=True).stdout


class Calls:
    """Milliseconds of processor time of a server's calls."""

    def __init__(self, server):
        self.path = f"/proc/{server.process.pid}/schedstat"
        self.times = []

    def spent(self):
        with open(self.path) as times:
            return int(times.read().split()[0])

    def run(self, client, *words):
        before = self.spent()
        reply = client.execute_command(*words)
        self.times.append((self.spent() - before) / 1e6)
        return reply

    def __str__(self):
        times = sorted(self.times)
        middle, late = times[len(times) // 2], times[len(times) * 999 // 1000]
        return f"half {middle:.2f} ms or less, 99.9 % {late:.2f}, the longest {times[-1]:.2f}"


def main():
    items = int(sys.argv[1])
    kind = sys.argv[2] if len(sys.argv) > 2 else "redis"
    (source, ours), (target, theirs) = start(kind), start(kind)
    try:
        tool(source, "create", "seen", "--parts", "1")
        tool(source, "add", "seen", ids=items)
        [key] = (key for key in ours.scan_iter("seen:*"))
        print(f"{items:,} items, {ours.execute_command('MEMORY', 'USAGE', key) / items:.2f} bytes each")
        dumps, loads = Calls(source), Calls(target)
        position, added, most = 0, 0, 0
        while True:
            position, data = dumps.run(ours, "CF.SCANDUMP", key, position)
            if position == 0:
                break
            most = max(most, len(data))
            assert loads.run(theirs, "CF.LOADCHUNK", key, position, data) == b"OK"
            new = [f"on the way {i}" for i in range(added, added + ADDED)]
            assert ours.execute_command("CF.INSERT", key, "ITEMS", *new) == [1] * ADDED
            added += ADDED
        print(f"{len(loads.times):,} chunks of at most {most:,} bytes, {added:,} items added meanwhile")
        print(f"CF.SCANDUMP: {dumps}")
        print(f"CF.LOADCHUNK: {loads}")
        # The tool asks the copy as it asks the set.
        theirs.hset("seen", mapping=ours.hgetall("seen"))
        found = int(tool(target, "query", "--count", "seen", ids=items))
        assert found == items, f"{items - found} of {items} items are lost"
        print("every item is in the copy")
    finally:
        source.remove()
        target.remove()


main()

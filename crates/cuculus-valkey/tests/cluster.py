"""A cluster of three primaries with a replica each, on this machine."""

import redis
from redis.backoff import ConstantBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.retry import Retry

from servers import HOST, SLOTS, Server, free_port, wait_until

PRIMARIES = 3


class Cluster:
    def __init__(self, kind):
        self.servers = []
        try:
            for _ in range(2 * PRIMARIES):
                bus = str(free_port())
                words = f"--cluster-enabled yes --cluster-node-timeout 1500 --cluster-port {bus}"
                self.servers.append(Server(kind, *words.split()))
                self.servers[-1].bus = bus
            self.join()
        except BaseException:
            self.remove()
            raise

    def join(self):
        first, *others = self.servers
        for server in others:
            words = "CLUSTER", "MEET", HOST, first.port, first.bus
            server.client().execute_command(*words)
        for i, server in enumerate(self.servers[:PRIMARIES]):
            first, last = i * SLOTS // PRIMARIES, (i + 1) * SLOTS // PRIMARIES - 1
            server.client().execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
        wait_until(
            lambda: all(self.knows_all(server) for server in self.servers), "all know each other"
        )
        for primary, replica in zip(
            self.servers[:PRIMARIES], self.servers[PRIMARIES:], strict=True
        ):
            replica.client().execute_command("CLUSTER", "REPLICATE", self.name(primary))
        wait_until(lambda: all(map(self.is_ok, self.servers)), "the cluster works")
        wait_until(
            lambda: all(
                server.client().info("replication").get("master_link_status") == "up"
                for server in self.servers[PRIMARIES:]
            ),
            "the replicas follow",
        )

    def name(self, server):
        return server.client().execute_command("CLUSTER", "MYID").decode()

    def knows_all(self, server):
        return info(server)["cluster_known_nodes"] == str(len(self.servers))

    def is_ok(self, server):
        found = info(server)
        return found["cluster_state"] == "ok" and found["cluster_slots_assigned"] == str(SLOTS)

    def client(self, protocol=2):
        """A client that keeps trying while the cluster sorts itself out."""
        nodes = [ClusterNode(HOST, server.port) for server in self.servers if server.process]
        retry = Retry(ConstantBackoff(0.2), 100)
        return RedisCluster(startup_nodes=nodes, protocol=protocol, retry=retry)

    def owner(self, key):
        """The server on which a key lives."""
        asked = next(server for server in self.servers if server.process)
        slot = asked.client().execute_command("CLUSTER", "KEYSLOT", key)
        for first, last, (_, port, *_), *_ in asked.client().execute_command("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(server for server in self.servers if server.port == port)
        raise LookupError(key)

    def move(self, slot, source, target):
        """Moves a slot and its keys as tools for clusters do."""
        names = self.name(source), self.name(target)
        setslot = "CLUSTER", "SETSLOT", slot
        target.client().execute_command(*setslot, "IMPORTING", names[0])
        source.client().execute_command(*setslot, "MIGRATING", names[1])
        while keys := source.client().execute_command("CLUSTER", "GETKEYSINSLOT", slot, 10):
            words = HOST, target.port, "", 0, 60_000, "KEYS", *keys
            source.client().execute_command("MIGRATE", *words)
        for server in [target, source]:
            server.client().execute_command(*setslot, "NODE", names[1])

    def remove(self):
        for server in self.servers:
            server.remove()


def info(server):
    text = server.client().execute_command("CLUSTER", "INFO")
    if isinstance(text, dict):
        return {name: str(value) for name, value in text.items()}
    lines = text.decode().split("\r\n")
    return dict(line.split(":", 1) for line in lines if ":" in line)


def acknowledged(server, *commands):
    """Sends commands on one connection and waits until a replica has them too."""
    client = redis.Redis(HOST, server.port, single_connection_client=True)
    with client.pipeline(transaction=False) as pipe:
        for words in commands:
            pipe.execute_command(*words)
        pipe.execute_command("WAIT", 1, 60_000)
        *replies, replicas = pipe.execute()
    client.close()
    assert replicas >= 1
    return replies

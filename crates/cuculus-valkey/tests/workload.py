"""A random course of commands: filters that come, grow, shrink, are copied, moved and shipped."""

import itertools
import random

KEYS = [f"set:{i}" for i in range(6)]
BATCH = 500


class Workload:
    """The same seed gives the same commands."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        # Growing at first and then shrinking, again and again.
        self.growing = True

    def item(self):
        return self.random.randrange(30_000)

    def items(self):
        return [self.item() for _ in range(self.random.randrange(1, 30))]

    def command(self):
        choice, key = self.random.random(), self.random.choice(KEYS)
        if self.random.random() < 0.0002:
            self.growing = not self.growing
        if choice < 0.0001:
            return ["DEL", key]
        if choice < 0.0006:
            capacity = self.random.choice([4, 1000, 1024, 50_000])
            expansion = self.random.choice([0, 1, 2])
            rate = self.random.choice(["0.01", "0.00001", "0.3", "0.001"])
            return ["CF.RESERVE", key, capacity, "EXPANSION", expansion, "ERROR", rate]
        if choice < 0.0007:
            return ["COPY", key, self.random.choice(KEYS), "REPLACE"]
        if choice < 0.0009:
            return ["CF.COMPACT", key]
        if choice < 0.05:
            return ["CF.INSERT", key, "ITEMS", *self.items()]
        if choice < 0.1:
            return ["CF.INSERTNX", key, "CAPACITY", 5000, "ITEMS", *self.items()]
        if choice < 0.2:
            return ["CF.ADDNX", key, self.item()]
        if choice < (0.7 if self.growing else 0.35):
            return ["CF.ADD", key, self.item()]
        return ["CF.DEL", key, self.item()]

    def run(self, client, commands):
        """Sends this number of commands; some are refused, as they should be."""
        send(client, (self.command() for _ in range(commands)))

    def change(self, client, commands, keys):
        """Likewise, but only what changes these keys, and neither makes nor replaces one."""
        others = {"DEL", "COPY", "CF.RESERVE"}
        sent = (self.command() for _ in range(commands))
        send(client, (words for words in sent if words[0] not in others and words[1].encode() in keys))


def send(client, commands):
    """Sends commands in batches."""
    commands = iter(commands)
    while batch := list(itertools.islice(commands, BATCH)):
        with client.pipeline(transaction=False) as pipe:
            for words in batch:
                pipe.execute_command(*words)
            pipe.execute(raise_on_error=False)


def chunks_of(client, source):
    """What SCANDUMP returns, until it says that there is no more."""
    position = 0
    while True:
        position, data = client.execute_command("CF.SCANDUMP", source, position)
        if position == 0:
            return
        yield position, data


def ship(client, source, target):
    """SCANDUMP and LOADCHUNK, as a client does."""
    for position, data in chunks_of(client, source):
        client.execute_command("CF.LOADCHUNK", target, position, data)

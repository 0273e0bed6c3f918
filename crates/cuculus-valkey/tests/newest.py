"""Fetches the newest Redis that Debian has, with the libraries that it needs, and prints a command that
starts it. Nothing is installed: the packages are unpacked into a directory."""

import hashlib
import lzma
import pathlib
import subprocess
import sys
import urllib.request

ARCHIVE = "http://deb.debian.org/debian"
#: The later ones have newer versions, of few packages.
SUITES = ["sid", "experimental"]
#: The server is in redis-tools. What is missing here is taken from this machine.
PACKAGES = ["redis-tools", "libc6", "libstdc++6", "libgcc-s1", "libatomic1", "libjemalloc2", "liblzf1"]
PACKAGES += ["libssl3t64", "libsystemd0"]


def packages(architecture):
    """Fields of the newest packages by name."""
    found = {}
    for suite in SUITES:
        url = f"{ARCHIVE}/dists/{suite}/main/binary-{architecture}/Packages.xz"
        text = lzma.decompress(urllib.request.urlopen(url, timeout=120).read()).decode()
        for entry in text.split("\n\n"):
            name = entry.partition("\n")[0].removeprefix("Package: ")
            if name in PACKAGES:
                lines = [line for line in entry.split("\n") if not line.startswith(" ")]
                fields = dict(line.split(": ", 1) for line in lines if ": " in line)
                if name not in found or is_newer(fields["Version"], found[name]["Version"]):
                    found[name] = fields
    return found


def is_newer(version, other):
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", other], check=False).returncode == 0


def fetch(directory):
    command = ["dpkg", "--print-architecture"]
    architecture = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    found = packages(architecture)
    for name in PACKAGES:
        if name not in found:
            continue
        data = urllib.request.urlopen(f"{ARCHIVE}/{found[name]['Filename']}", timeout=120).read()
        if hashlib.sha256(data).hexdigest() != found[name]["SHA256"]:
            raise SystemExit(f"the package {name} has another checksum than the archive says")
        package = directory / f"{name}.deb"
        package.write_bytes(data)
        subprocess.run(["dpkg-deb", "-x", package, directory], check=True)
        package.unlink()


def main(directory):
    start = directory / "redis-server"
    if not start.exists():
        directory.mkdir(parents=True, exist_ok=True)
        fetch(directory)
        (loader,) = sorted(directory.glob("usr/lib*/ld-linux*"))[:1]
        libraries = ":".join(str(path) for path in directory.glob("usr/lib/*-linux-gnu"))
        server = directory / "usr/bin/redis-check-rdb"
        words = f'{loader} --argv0 redis-server --library-path {libraries}:/lib:/usr/lib {server}'
        start.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        start.chmod(0o755)
    print(start)


main(pathlib.Path(sys.argv[1]).resolve())

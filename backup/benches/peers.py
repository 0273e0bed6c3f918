"""The backup beside restic and borg on the same files. Each encrypts and writes to one directory.
`cargo xtask bench-backup --peers` builds what is measured and runs this."""

import argparse
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

import measure
import workloads
from measure import TARGET, Usage

PLACE = f"{TARGET}/backup-peers"
RESTORED = f"{PLACE}/restored"
PASSPHRASE = "a passphrase"


class Tool:
    """A tool, and how it is called for each step; the steps that two of them have in common are here."""

    def __init__(self, name, program, asked, environment):
        self.name, self.program = name, program
        self.place = f"{PLACE}/{name}"
        self.repository = f"{self.place}/repository"
        os.makedirs(self.place)
        values = {name: value.format(tool=self) for name, value in environment.items()}
        self.environment = os.environ | values
        # The second word of "borg 1.2.4", "restic 0.14.0 compiled with …".
        self.version = self.said(asked).split()[1]

    def said(self, *words):
        return subprocess.check_output([self.program, *words], env=self.environment, text=True)

    def run(self, *words, **options):
        return measure.run([self.program, *words], env=self.environment, **options)[0]

    def init(self):
        return self.run("init")

    def check(self):
        """That everything is there, without reading all data."""
        return self.run("check")


class Cuculus(Tool):
    def backup(self, path):
        return self.run("backup", path)

    def restore(self):
        return self.run("restore", "latest", "--target", RESTORED)

    def forget(self, oldest):
        names = [line.split()[0] for line in self.said("snapshots").splitlines()]
        return self.run("forget", "--prune", *names[:oldest])


class Restic(Tool):
    def backup(self, path):
        return self.run("backup", "--quiet", path)

    def restore(self):
        return self.run("restore", "latest", "--quiet", "--target", RESTORED)

    def forget(self, oldest):
        snapshots = len(self.said("list", "snapshots", "--quiet").split())
        words = ["--quiet", "--prune", "--group-by", "", "--keep-last", str(snapshots - oldest)]
        return self.run("forget", *words)


class Borg(Tool):
    def init(self):
        return self.run("init", "--encryption", "repokey-blake2")

    def backup(self, path):
        # By default it compresses less than the others, and stores more.
        return self.run("create", "--compression", "zstd,3", f"::{len(self.archives()):03}", path)

    def restore(self):
        os.makedirs(RESTORED)
        # It restores to the current directory.
        return self.run("extract", f"::{self.archives()[-1]}", cwd=RESTORED)

    def check(self):
        # The check of the repository reads everything; that of the archives does not.
        return self.run("check", "--archives-only")

    def forget(self, oldest):
        first, *others = self.archives()[:oldest]
        return self.run("delete", f"::{first}", *others) + self.run("compact")

    def archives(self):
        """Oldest first."""
        return self.said("list", "--short").split()


def tools():
    """Ours first."""
    ours = {
        "CUCULUS_BACKUP_REPO": "{tool.repository}",
        "CUCULUS_BACKUP_PASSPHRASE": PASSPHRASE,
        "XDG_CACHE_HOME": "{tool.place}/cache",
    }
    restic = {
        "RESTIC_REPOSITORY": "{tool.repository}",
        "RESTIC_PASSWORD": PASSPHRASE,
        "RESTIC_CACHE_DIR": "{tool.place}/cache",
    }
    borg = {
        "BORG_REPO": "{tool.repository}",
        "BORG_PASSPHRASE": PASSPHRASE,
        "BORG_BASE_DIR": "{tool.place}/base",
    }
    return [
        Cuculus("cuculus-backup", f"{TARGET}/release/cuculus-backup", "--version", ours),
        Restic("restic", "restic", "version", restic),
        Borg("borg", "borg", "--version", borg),
    ]


@dataclass
class Figures:
    """What is measured, in the order of the table: times, with the peak memory of the first, and sizes."""

    backups: Usage = field(default_factory=Usage)
    unchanged: Usage = None
    restore: Usage = None
    check: Usage = None
    forget: Usage = None
    before: int = 0
    after: int = 0


def files_below(path):
    for directory, _, names in os.walk(path):
        yield from (f"{directory}/{name}" for name in names)


def bytes_below(path):
    return sum(os.lstat(file).st_size for file in files_below(path))


def compare(tool, source):
    """Checks that the restored tree is exact, and removes it. All three write full paths."""
    diff = ["diff", "--recursive", "--no-dereference", "--brief", source, RESTORED + source]
    if subprocess.run(diff, stdout=sys.stderr).returncode:
        sys.exit(f"{tool.name} did not restore exactly")
    shutil.rmtree(RESTORED)


def measured(all_tools, sources):
    """Each step by all tools in turn, so that a slow minute of the machine affects all of them."""
    all_figures = [Figures() for _ in all_tools]
    for tool in all_tools:
        tool.init()
    for number, source in enumerate(sources):
        print(f"    version {number + 1} of {len(sources)}", file=sys.stderr)
        # Otherwise the first tool would read from disk, and the others from memory.
        for file in files_below(source):
            with open(file, "rb") as contents:
                while contents.read(1 << 20):
                    pass
        for tool, figures in zip(all_tools, all_figures):
            figures.backups += tool.backup(source)
    last, oldest = sources[-1], -(-len(sources) // 2)
    for tool, figures in zip(all_tools, all_figures):
        print(f"    {tool.name}: last version again, restore, forget, prune", file=sys.stderr)
        figures.before = bytes_below(tool.repository)
        figures.unchanged = tool.backup(last)
        figures.restore = tool.restore()
        compare(tool, last)
        figures.check = tool.check()
        figures.forget = tool.forget(oldest)
        figures.after = bytes_below(tool.repository)
        # The remaining snapshots can still be restored.
        tool.restore()
        compare(tool, last)
    return all_figures


def print_table(all_tools, all_figures):
    """CPU seconds, with wall seconds in brackets, and sizes."""
    time = lambda took: f"{took.cpu:.1f} ({took.wall:.1f})"
    size = lambda number: f"{number / 1e6:.1f}"
    rows = [
        ("backups, CPU s", lambda figures: time(figures.backups)),
        ("unchanged again, CPU s", lambda figures: time(figures.unchanged)),
        ("restore of the last, CPU s", lambda figures: time(figures.restore)),
        ("check, CPU s", lambda figures: time(figures.check)),
        ("forget half and prune, CPU s", lambda figures: time(figures.forget)),
        ("peak memory of a backup, MB", lambda figures: size(figures.backups.peak)),
        ("repository, MB", lambda figures: size(figures.before)),
        ("repository after the prune, MB", lambda figures: size(figures.after)),
    ]
    head = ["measured", *(f"{tool.name} {tool.version}" for tool in all_tools)]
    print(measure.table(head, [[name, *map(cell, all_figures)] for name, cell in rows]))


def judge(ours, restic, borg):
    """The promises of the documentation."""
    if ours.before > min(restic.before, borg.before):
        sys.exit("the repository of restic or of borg is smaller")
    if ours.backups.cpu > restic.backups.cpu:
        sys.exit("restic needed less CPU time for the backups")


def number_of_versions(text):
    if (number := int(text)) not in range(1, len(workloads.VERSIONS) + 1):
        raise ValueError
    return number


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench-backup --peers")
    parser.add_argument("--workload", choices=workloads.WORKLOADS, default="versions")
    parser.add_argument("--versions", type=number_of_versions, default=len(workloads.VERSIONS))
    options = parser.parse_args()
    sources = workloads.WORKLOADS[options.workload](options.versions)
    # Left from an interrupted run.
    shutil.rmtree(PLACE, ignore_errors=True)
    try:
        compared = tools()
        figures = measured(compared, sources)
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
    print(f"## peers-{options.workload}")
    print_table(compared, figures)
    judge(*figures)

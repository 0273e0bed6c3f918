"""Forks while other threads change a set: every child can use it, and so can the parent."""

import subprocess
import sys
from pathlib import Path

import pytest

FORKS = 15


@pytest.mark.parametrize("how", ["os", "multiprocessing"])
@pytest.mark.parametrize("name", ["Filter", "FixedFilter", "Maplet"])
def test_children_go_on(name, how):
    command = [sys.executable, "-W", "ignore", Path(__file__).parent / "forks.py", name, how, str(FORKS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0 and done.stdout == "0\n", (done.stdout, done.stderr)

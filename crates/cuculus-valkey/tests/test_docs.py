"""The programs in the manual do what it says."""

import pathlib
import re

import pytest

MANUAL = pathlib.Path(__file__).parents[3] / "docs/valkey.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_of_the_manual(shared, number):
    shared.client().flushall()
    program = PROGRAMS[number].replace("6379", str(shared.port))
    exec(compile(program, f"{MANUAL}, program {number}", "exec"), {})


def test_there_are_programs():
    assert len(PROGRAMS) >= 2

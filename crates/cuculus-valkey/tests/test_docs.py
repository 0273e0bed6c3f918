"""The programs in the manual do what it says."""

import os
import pathlib
import re
import subprocess

MANUAL = pathlib.Path(__file__).parents[3] / "docs/valkey.md"
EXAMPLE = pathlib.Path(__file__).parents[1] / "examples/client.rs"
PROGRAMS = re.findall(r"```python\n(.*?)```", MANUAL.read_text(), re.DOTALL)


def test_programs_of_the_manual(shared):
    """One after the other on one server, after its first commands, as a reader does."""
    client = shared.client()
    client.flushall()
    client.execute_command("CF.ADD", "seen", "page/1")
    for number, program in enumerate(PROGRAMS):
        program = program.replace("6379", str(shared.port))
        exec(compile(program, f"{MANUAL}, program {number}", "exec"), {})
    assert len(PROGRAMS) >= 2


def test_the_program_in_rust(shared):
    shared.client().flushall()
    (said,) = re.findall(r"```rust\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    done = [line.strip() for line in EXAMPLE.read_text().splitlines()]
    # All but the line with the address.
    lines = [line.strip() for line in said.splitlines()][1:]
    assert len(lines) >= 3
    assert [line for line in lines if line not in done] == []
    command = [os.environ["CUCULUS_CLIENT"], f"redis://127.0.0.1:{shared.port}/"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert answer == "page/1: true\npage/1 and page/2: [true, false]\n"

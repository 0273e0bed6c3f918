"""What the documents and docstrings say is true: their code runs."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import cuculus
from cuculus import _cuculus

ROOT = Path(__file__).parents[3]


def blocks(name):
    text = (ROOT / name).read_text()
    for at, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
        yield pytest.param(code, id=f"{name}-{at}")


BLOCKS = [
    block
    for name in ["README.md", "docs/python.md", "crates/cuculus-python/README.md"]
    for block in blocks(name)
]


@pytest.fixture(scope="module")
def port():
    sys.path.append(str(ROOT / "crates/cuculus-valkey/tests"))
    from servers import Server

    server = Server("redis")
    yield server.port
    server.remove()


@pytest.mark.parametrize("code", BLOCKS)
def test_blocks_of_documents(code, tmp_path, port):
    tool = Path(os.environ["CUCULUS_TOOL"]).parent
    environment = os.environ | {"PATH": f"{tool}{os.pathsep}{os.environ['PATH']}"}
    code = code.replace("6379", str(port))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for line in re.findall(r"print\(.*\) +# (.*)", code):
        assert line in done.stdout


def test_all_kinds_of_documents_have_blocks():
    assert len(BLOCKS) >= 8


@pytest.mark.parametrize("name", ["Filter", "FixedFilter", "Maplet"])
def test_docstrings(name):
    found = doctest.DocTestFinder(recurse=False).find(getattr(cuculus, name), name, module=False)
    assert found[0].examples
    assert doctest.DocTestRunner().run(found[0]).failed == 0


def test_everything_public_has_a_docstring():
    for name in ["Filter", "FixedFilter", "Maplet", "FullError", "DecodeError"]:
        described = getattr(cuculus, name)
        assert described.__doc__
        for method in vars(described):
            if not method.startswith("_") and name[0] in "FM" and "Error" not in name:
                assert getattr(described, method).__doc__, (name, method)
    assert cuculus.__version__ == _cuculus.__version__

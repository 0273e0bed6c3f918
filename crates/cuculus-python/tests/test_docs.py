"""What the documents and docstrings say is true: their code runs."""

import doctest
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cuculus_filter
from cuculus_filter import _cuculus

ROOT = Path(__file__).parents[3]


def blocks(name):
    text = (ROOT / name).read_text()
    for at, code in enumerate(re.findall(r"```python\n(.*?)```", text, re.DOTALL)):
        yield pytest.param(code, id=f"{name}-{at}")


DOCUMENTS = ["README.md", "docs/python.md", "crates/cuculus-python/README.md"]
BLOCKS = [block for name in DOCUMENTS for block in blocks(name)]


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
    found = doctest.DocTestFinder(recurse=False).find(getattr(cuculus_filter, name), name, module=False)
    assert found[0].examples
    assert doctest.DocTestRunner().run(found[0]).failed == 0


def test_everything_public_has_a_docstring():
    for name in ["Filter", "FixedFilter", "Maplet", "FullError", "DecodeError"]:
        described = getattr(cuculus_filter, name)
        assert described.__doc__
        for method in vars(described):
            if not method.startswith("_") and name[0] in "FM" and "Error" not in name:
                assert getattr(described, method).__doc__, (name, method)
    assert cuculus_filter.__version__ == _cuculus.__version__


def test_install_lines_lead_to_this_package():
    """`cuculus` is other people's software: documents name a directory of the checkout, or the distribution."""
    project = tomllib.loads((ROOT / "crates/cuculus-python/pyproject.toml").read_text())["project"]["name"]
    lines = [
        (name, installed)
        for name in DOCUMENTS
        for installed in re.findall(r"pip install ([^\s`]+)", (ROOT / name).read_text())
    ]
    assert len({name for name, _ in lines}) == len(DOCUMENTS), "each says how to install it"
    for name, installed in lines:
        is_ours = installed == project or (ROOT / installed / "pyproject.toml").exists()
        assert is_ours or installed in ("polars", "redis"), (name, installed)
    assert importlib.metadata.version(project) == cuculus_filter.__version__

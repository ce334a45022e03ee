"""`make dist`: wheel and source distribution are built, and each is installed in an environment of its own and used from there."""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import grokscope

ROOT = Path(__file__).parents[2]
USE = "import grokscope, sys; from grokscope.cli import main; print(grokscope.__file__); main(['list', 'tasks', 'modular'])"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """The folder that `make dist` fills."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run([sys.executable, "-m", "build", "-o", str(folder), str(ROOT)], capture_output=True, text=True)
    if "No matching distribution found for hatchling" in done.stdout + done.stderr:
        pytest.skip("hatchling, which builds the package, cannot be downloaded")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_holds_the_package_its_data_and_nothing_else(dist):
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith("METADATA")]
    tops = {name.split("/")[0] for name in names}
    assert tops == {"grokscope", f"grokscope-{grokscope.__version__}.dist-info"}
    inside = {
        str(p.relative_to(ROOT / "src"))
        for p in (ROOT / "src").rglob("*")
        if p.is_file() and "__pycache__" not in str(p)
    }
    assert {name for name in names if name.startswith("grokscope/")} == inside
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert not [line for line in needed if any(tool in line for tool in ("pytest", "mkdocs", "ruff", "build", "hatch"))]


def test_the_source_distribution_can_be_tested_and_documented(dist):
    (source,) = dist.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    wanted = {
        "Makefile",
        "mkdocs.yml",
        "CITATION.cff",
        "Dockerfile",
        "tools/README.md",
        "docs/index.md",
        "tests/conftest.py",
    }
    assert wanted <= names


@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
def test_it_works_where_it_is_installed(dist, kind, tmp_path):
    """Nothing but the package is installed; its dependencies are those of the environment that runs the tests."""
    (archive,) = dist.glob(kind)
    venv.create(tmp_path / "env", with_pip=True, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words):
        done = subprocess.run([str(python), *words], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "pip", "install", "--quiet", "--no-deps", str(archive))
    (site,) = (tmp_path / "env" / "lib").glob("python3*/site-packages")
    others = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    (site / "dependencies.pth").write_text("\n".join(others), encoding="utf-8")
    where, listed = run("-c", USE).split("\n", 1)
    assert Path(where).is_relative_to(site)
    assert listed.startswith("modular\n")
    version = subprocess.run([str(python.parent / "grokscope"), "--version"], env=clean, capture_output=True, text=True)
    assert version.stdout == f"{grokscope.__version__}\n"

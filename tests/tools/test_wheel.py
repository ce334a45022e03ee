"""What is in the wheel and what is not: the package alone, with the data that it reads."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGETS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]


def test_the_wheel_holds_the_package_and_no_tools():
    assert TARGETS["wheel"]["packages"] == ["src/grokscope"]
    assert "force-include" not in TARGETS["wheel"]
    assert not (ROOT / "src" / "tools").exists()


def test_the_source_distribution_holds_what_make_needs():
    assert {"src", "tests", "tools", "docs", "results", "Makefile"} <= set(TARGETS["sdist"]["include"])


def test_the_package_never_imports_the_tools():
    sources = (ROOT / "src").rglob("*.py")
    assert not [path for path in sources if "from tools" in (text := path.read_text("utf-8")) or "import tools" in text]

"""What is in the wheel and what is not: the package alone, with the data that it reads."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TARGETS = PROJECT["tool"]["hatch"]["build"]["targets"]


def test_the_wheel_holds_the_package_and_no_tools():
    assert TARGETS["wheel"]["packages"] == ["src/grokscope"]
    assert "force-include" not in TARGETS["wheel"]
    assert not (ROOT / "src" / "tools").exists()


def test_the_source_distribution_holds_what_make_needs():
    assert {"src", "tests", "tools", "docs", "results", "Makefile"} <= set(TARGETS["sdist"]["include"])


def test_the_package_never_imports_the_tools():
    sources = (ROOT / "src").rglob("*.py")
    assert not [path for path in sources if "from tools" in (text := path.read_text("utf-8")) or "import tools" in text]


def test_uplot_comes_with_its_licence_and_is_the_version_that_the_page_names():
    static = ROOT / "src" / "grokscope" / "pages" / "static"
    (licence,) = [path for path in PROJECT["project"]["license-files"] if "uPlot" in path]
    assert (ROOT / licence).parent == static and "MIT License" in (ROOT / licence).read_text("utf-8")
    version = re.search(r"\(v([\d.]+)\)", (static / "uPlot.iife.min.js").read_text("utf-8"))[1]
    assert f"uPlot](https://github.com/leeoniya/uPlot) {version} (MIT)" in (ROOT / "docs" / "live.md").read_text(
        "utf-8"
    )

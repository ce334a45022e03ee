"""What a release needs: one version everywhere, the papers' authors and links, no tools among the dependencies, a Dockerfile."""

import re
import tomllib
from pathlib import Path

import pytest

import grokscope

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CITATION = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
PAPERS = re.findall(r"^    url: (https://arxiv\.org/abs/\S+)$", CITATION, re.MULTILINE)
TOOLS = {"pytest", "hypothesis", "ruff", "mypy", "hatchling", "build", "mkdocs-material", "nbclient", "import-linter"}


def name_of(requirement: str) -> str:
    return re.split(r"[<>=!~;\[ ]", requirement)[0]


def test_the_version_is_the_same_everywhere():
    version, date = re.search(
        r"^## \[(\S+)\] – (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    ).groups()
    assert version == grokscope.__version__ == re.search(r"^version: (\S+)$", CITATION, re.MULTILINE)[1]
    assert (
        re.fullmatch(r"\d{4}-\d\d-\d\d", date)
        and date == re.search(r'^date-released: "(\S+)"$', CITATION, re.MULTILINE)[1]
    )


def test_the_three_papers_are_cited_with_their_authors_and_links():
    assert len(PAPERS) == 3
    assert set(PAPERS) == set(PROJECT["urls"].values())
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for entry, url in zip(CITATION.split("  - type: article\n")[1:], PAPERS, strict=True):
        title = re.search(r'title: "(.*)"', entry)[1]
        families = re.findall(r"family-names: (\w+)", entry)
        (line,) = [line for line in re.split(r"\n(?=- )|\n\n", readme) if url in line]
        assert " ".join(line.split()).count(title) == 1
        assert len(families) == 3 and all(family in line for family in families)


def test_installing_brings_no_tools_for_tests_or_builds():
    assert not {name_of(requirement) for requirement in PROJECT["dependencies"]} & TOOLS
    extras = PROJECT["optional-dependencies"]
    assert TOOLS - {"hatchling"} <= {name_of(r) for extra in ("test", "dev", "docs") for r in extras[extra]}


def test_the_classifiers_name_no_python_below_the_required_one():
    named = [
        c.removeprefix("Programming Language :: Python :: ") for c in PROJECT["classifiers"] if ":: Python :: 3." in c
    ]
    least = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    assert named and all(tuple(map(int, version.split("."))) >= least for version in named)


def test_the_dockerfile_installs_the_package_and_runs_the_demo():
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert 'ENTRYPOINT ["grokscope"]' in lines and 'CMD ["demo"]' in lines and "grokscope" in PROJECT["scripts"]
    (torch,) = [requirement for requirement in PROJECT["dependencies"] if name_of(requirement) == "torch"]
    assert f'whl/cpu "{torch}"' in text
    least = PROJECT["requires-python"].removeprefix(">=")
    assert lines[0] == f"FROM python:{least}-slim"
    kept = {
        line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text("utf-8").split() if line.startswith("!")
    }
    copied = {word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]}
    assert copied == kept and all((ROOT / name).exists() for name in copied)
    # what the build of the package reads
    needed = {"pyproject.toml", PROJECT["readme"], *PROJECT["license-files"], "src"}
    assert not [path for path in needed if path.split("/")[0] not in copied]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_shell_completes_commands_and_options(shell, monkeypatch, capsys):
    import os
    import subprocess
    import sys

    code = "import sys; sys.argv[0] = 'grokscope'; from grokscope.cli import main; main()"
    for line, place, wanted in [
        ("grokscope tr", "1", "train"),
        ("grokscope train --see", "2", "--seeds"),
        ("grokscope train --task par", "3", "parity"),
        ("grokscope reproduce si-fig1", "2", "si-fig10-parity"),
        ("grokscope list pri", "2", "priors"),
        ("grokscope runs --status gr", "3", "grokked"),
    ]:
        asked = {
            "_GROKSCOPE_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": line,  # bash
            "COMP_CWORD": place,
            "_TYPER_COMPLETE_ARGS": line,  # the others
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_WORD_TO_COMPLETE": line.split()[-1],
        }
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
        assert wanted in done.stdout, done.stderr

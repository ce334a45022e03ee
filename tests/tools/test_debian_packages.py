"""Packages of Debian that tests need: installed where that is possible, else named in one line."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "debian_packages.sh"


@pytest.fixture
def call(tmp_path):
    """Runs the script with these programs alone; calls of apt-get are noted in a file."""

    def run(words: list[str], **programs: str) -> tuple[int, str, list[str]]:
        for name, text in programs.items():
            path = tmp_path / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{text}\n")
            path.chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", str(SCRIPT), *words], env={"PATH": str(tmp_path)}, capture_output=True, text=True
        )
        log = tmp_path / "log"
        return done.returncode, done.stderr, log.read_text().splitlines() if log.exists() else []

    return run


WORDS = ["no-such-program", "some-package", "another"]
LINE = "not installed: no-such-program. Their tests are skipped; on Debian, as root: apt-get install some-package another\n"


def test_what_is_there_is_not_installed(call, tmp_path):
    assert call(["sh-like"], **{"sh_like": ":", "id": "echo 0", "apt_get": f"echo $@ >> {tmp_path}/log"}) == (0, "", [])


def test_root_installs_it(call, tmp_path):
    code, err, asked = call(WORDS, id="echo 0", apt_get=f"echo $@ >> {tmp_path}/log")
    assert (code, err) == (0, "")
    assert asked == ["update -qq", "install -y -qq --no-install-recommends some-package another"]


@pytest.mark.parametrize(
    "programs",
    [{"id": "echo 0"}, {"id": "echo 1000", "apt_get": "exit 0"}, {"id": "echo 0", "apt_get": "exit 100"}],
    ids=["no apt-get", "not root", "no network"],
)
def test_where_it_cannot_be_installed_one_line_says_what_to_do(call, programs):
    assert call(WORDS, **programs) == (0, LINE, [])

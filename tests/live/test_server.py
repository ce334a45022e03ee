"""The server over HTTP: token, host, port, and what is answered; without a browser."""

import http.client
import json
import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from made_up import finished

from grokscope.errors import ConfigError
from grokscope.live.address import Address, is_loopback, listen

pytest.importorskip("starlette", reason="needs grokscope[live]")
pytest.importorskip("uvicorn", reason="needs grokscope[live]")
TOKEN = "t" * 32


@pytest.fixture
def runs(tmp_path):
    finished(tmp_path / "runs", "abc", beta=0.3)
    return tmp_path / "runs"


@pytest.fixture
def server(runs):
    """A running command, and the address that it printed."""
    command = [sys.executable, "-m", "grokscope", "live", "--runs", str(runs)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    url = process.stdout.readline().strip()
    place, _, token = url.removeprefix("http://").partition("/?token=")
    yield process, place, token
    process.kill()
    process.communicate()


def ask(place, path, host=None):
    connection = http.client.HTTPConnection(place, timeout=60)
    connection.request("GET", path, headers={"Host": host or place})
    answer = connection.getresponse()
    return answer, connection


def test_nothing_is_answered_without_the_token_or_under_another_name(server):
    _, place, token = server
    wrong = ["", "?token=", f"?token={token[:-1]}", f"?token={token}x", "?token=ü", "?Token=" + token]
    for path in ("/", "/events", "/report", "/nothing/../here"):
        for query in wrong:
            answer, connection = ask(place, path + query.replace("ü", "%C3%BC"))
            assert answer.status == 403, path + query
            assert answer.read().count(b"\n") == 1
            connection.close()
        answer, connection = ask(place, f"{path}?token={token}", host="evil.example:80")
        assert answer.status == 403
        connection.close()
    answer, connection = ask(place, f"/?token={token}")
    page = answer.read().decode()
    assert answer.status == 200 and "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "http://" not in page.replace("http://www.w3.org", "") and "src=" not in page
    assert token not in page
    connection.close()
    connection = http.client.HTTPConnection(place, timeout=60)
    connection.request("POST", "/", headers={"Host": place})
    assert connection.getresponse().status == 403
    connection.close()
    answer, connection = ask(place, f"/static/../../page.py?token={token}")
    assert answer.status == 404
    connection.close()


def test_events_and_report(server):
    _, place, token = server
    answer, connection = ask(place, f"/events?token={token}")
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    line = b""
    while not line.startswith(b"data:"):
        line = answer.readline()
    assert json.loads(line.removeprefix(b"data:"))["order"] == ["abc"]
    connection.close()
    answer, connection = ask(place, f"/report?token={token}")
    assert answer.status == 200 and "abc" in answer.read().decode()
    connection.close()
    answer, connection = ask(place, f"/report?token={token}&view=%7B%22text%22%3A%22zzz%22%7D")
    assert answer.status == 400 and b"saved a row" in answer.read()
    connection.close()
    answer, connection = ask(place, f"/events?token={token}&view=%5B")
    assert answer.status == 400
    connection.close()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked_while_a_page_is_open(server, stop):
    process, place, token = server
    answer, connection = ask(place, f"/events?token={token}")
    answer.readline()
    process.send_signal(stop)
    _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    connection.close()


def test_the_same_folder_has_the_same_address_again(runs):
    first, address = listen(runs, "127.0.0.1", None)
    first.close()
    again, same = listen(runs, "127.0.0.1", None)
    assert same == address
    other, another = listen(runs.parent, "127.0.0.1", None)
    assert another.token != address.token
    beside, moved = listen(runs, "127.0.0.1", None)  # the port is taken: the token stays
    assert moved.token == address.token and moved.port != address.port
    for bound in (again, other, beside):
        bound.close()


def test_the_remembered_address_is_private(runs, monkeypatch):
    bound, address = listen(runs, "127.0.0.1", None)
    bound.close()
    (file,) = Path(os.environ["XDG_CACHE_HOME"]).rglob("*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)  # somebody may have read it
    bound, another = listen(runs, "127.0.0.1", None)
    bound.close()
    assert another.token != address.token
    for content in ("", "[]", '{"token": 1, "port": 2}', '{"token": "short", "port": 2}'):
        file.write_text(content)
        bound, another = listen(runs, "127.0.0.1", None)
        bound.close()
        assert len(another.token) >= 32
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    bound, _ = listen(runs, "127.0.0.1", None)
    bound.close()


def test_a_port_in_use_is_one_line(run, runs):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = run("live", "--runs", runs, "--port", port)
    assert (code, out) == (2, "")
    assert err == f"--port: {port} is in use; choose another one, or omit --port to take a free one\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--port", "70000"], "--port: 70000 is outside 0 … 65535\n"),
        (["--port", "-1"], "--port: -1 is outside 0 … 65535\n"),
        (
            ["--host", "no-such-host.invalid"],
            "--host: unknown host 'no-such-host.invalid'; 127.0.0.1 is this machine\n",
        ),
        (["--host", "192.0.2.1"], "--host: 192.0.2.1 is not an address of this machine; 127.0.0.1 is\n"),
    ],
)
def test_addresses_that_cannot_be_listened_on(run, runs, words, problem):
    assert run("live", "--runs", runs, *words) == (2, "", problem)


def test_a_run_in_place_of_a_folder_of_runs_and_a_file(run, runs):
    code, _, err = run("live", "--runs", runs / "abc")
    assert code == 2 and err.endswith("give the folder above it\n")
    (runs / "file").write_text("")
    code, _, err = run("live", "--runs", runs / "file")
    assert code == 2 and err.count("\n") == 1


def test_other_hosts_are_served_with_a_warning(run, runs, monkeypatch):
    served = []
    monkeypatch.setattr("grokscope.live.server.serve", lambda folder, bound, address: served.append(bound.close()))
    code, out, err = run("live", "--runs", runs, "--host", "0.0.0.0")
    assert code == 0 and served and "warning: 0.0.0.0 can be reached from other machines" in err
    assert socket.gethostname() in out
    code, out, err = run("live", "--runs", runs)
    assert (code, err) == (0, "") and out.startswith("http://127.0.0.1:")
    code, out, err = run("live", "--runs", "later")
    assert code == 0 and err.startswith("later does not exist yet")


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_a_missing_package_is_one_line(run, package, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("grokscope.live.server", package))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = run("live")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "pip install 'grokscope[live]'" in err


def test_names_that_a_server_goes_by():
    address = Address("127.0.0.1", 80, TOKEN)
    for header in ("127.0.0.1:80", "localhost:80", "[::1]:80", "10.0.0.1", "LOCALHOST", socket.gethostname()):
        assert address.accepts(header), header
    for header in ("", "evil.example", "127.0.0.1.evil.example:80", "localhost.evil.example", "[evil]:80"):
        assert not address.accepts(header), header
    assert Address("box.lab", 80, TOKEN).accepts("box.lab:80")
    assert Address("::1", 80, TOKEN).url == f"http://[::1]:80/?token={TOKEN}"


def test_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.0.0.5", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "box.lab", "")))


def test_no_other_command_imports_the_server():
    code = (
        "import sys; from grokscope.cli.front import register; register(['train', 'runs', 'demo', 'report', 'live']);"
    )
    code += "print([name for name in sys.modules if name.split('.')[0] in ('starlette', 'uvicorn', 'anyio')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_ports_below_1024_need_privileges(runs, monkeypatch):
    def refuse(host, port):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("grokscope.live.address._bound", refuse)
    with pytest.raises(ConfigError, match="above 1023"):
        listen(runs, "127.0.0.1", 80)

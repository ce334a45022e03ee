"""Whether the live page keeps up: frame times in Chromium with many runs that grow, and how late rows arrive.

    python -m tools.live_speed [--runs 500] [--rows 1000] [--growing 100] [--seconds 20]

Writes runs of made-up curves into a temporary folder; some of them get a row per second. Needs `grokscope[live]` and playwright.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from grokscope.config import RunConfig
from grokscope.store import RunFolder

EVERY = 25
FRAMES = """() => new Promise(done => {
  const gaps = []; let last = performance.now(); const end = last + SECONDS * 1000;
  const step = now => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(step) : done(gaps); };
  requestAnimationFrame(step); })"""
WATCH = """() => {
  window.took = []; window.late = [];
  const take = receive, write = RunTable.prototype.write;
  receive = message => { const begin = performance.now(); take(message); window.took.push(performance.now() - begin); };
  RunTable.prototype.write = function (row, own) {
    write.call(this, row, own);
    if (own.seed === 0) window.late.push([own.epoch, Date.now() / 1000]);
  }; }"""


def row(epoch: int, seed: int, beta: float) -> dict[str, float]:
    """A run that memorises at once and generalises at an epoch of its own."""
    noise = random.Random(1000 * seed + epoch).gauss(0, 0.02)
    done = 1 / (1 + math.exp(-(epoch - 4000 * (1.5 - beta) - 40 * seed) / 600))
    return {
        "epoch": epoch,
        "seconds": epoch * 0.01,
        "train_loss": 1e-3 + math.exp(-epoch / 300),
        "train_accuracy": min(1.0, epoch / 200),
        "test_accuracy": min(1.0, max(0.0, done + noise)),
        "D": 2.0 * (1 - done) + 0.05 + abs(noise),
        "grad_logit": 0.1 * math.exp(-epoch / 2000) + 1e-4 + abs(noise) / 50,
        "bound": 0.5 * math.exp(-epoch / 3000) + 1e-2,
        "grad_M": 0.1 * math.exp(-epoch / 2000) + 1e-3,
        "mlp_norm": 20 + 5 * math.sin(epoch / 3000) + noise,
        "l2": 35 + 4 * math.sin(epoch / 4000) + noise,
        **{f"attention_{place}": (0.1 + 0.4 * done if place < 2 else 0.3 - 0.2 * done) for place in range(5)},
    }


def make(folder: Path, runs: int, rows: int, growing: int) -> list[tuple[RunFolder, int, float]]:
    """The runs on disk; those that grow stay open."""
    opened = []
    for number in range(runs):
        seed, beta = number // 5, (number % 5) / 5
        config = RunConfig().to_dict() | {"seed": seed, "epochs": 2 * rows * EVERY}
        config["prior"] = {**config["prior"], "beta": beta}
        run = RunFolder.create_or_open(folder, f"run{number:05d}", config, device="cpu")
        history = [row(EVERY * (place + 1), seed, beta) for place in range(rows)]
        status = "running" if number < growing else "grokked"
        run.save(rows * EVERY, history, {}, {}, {"test_accuracy": history[-1]["test_accuracy"]}, status=status)
        if number < growing:
            opened.append((run, seed, beta))
        else:
            run.close()
    return opened


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("runs", 500), ("rows", 1000), ("growing", 100), ("seconds", 20)):
        parser.add_argument(f"--{name}", type=int, default=default)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs"
        opened = make(folder, given.runs, given.rows, given.growing)
        command = [sys.executable, "-m", "grokscope", "live", "--runs", str(folder)]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        try:
            measured = grow_and_measure(sync_playwright, server.stdout.readline().strip(), opened, given)
        finally:
            server.terminate()
            server.wait()
    print(json.dumps(measured, indent=2))


def grow_and_measure(
    sync_playwright: Any, url: str, opened: list[tuple[RunFolder, int, float]], given: Any
) -> dict[str, Any]:
    from threading import Event, Thread

    stop, written = Event(), dict[int, float]()

    def grow() -> None:
        epoch = given.rows * EVERY
        while not stop.wait(1.0):
            epoch += EVERY
            written[epoch] = time.time()
            for run, seed, beta in opened:
                run.append([row(epoch, seed, beta)])

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": 1280, "height": 900}, bypass_csp=True
        )  # to evaluate our own script in it
        begin = time.monotonic()
        page.goto(url)
        page.wait_for_function(
            f"document.querySelectorAll('#rows tr').length >= {min(given.runs, 500)}", timeout=120_000
        )
        page.wait_for_selector("#panel-accuracy.filled")
        filled = time.monotonic() - begin
        page.evaluate(WATCH)
        Thread(target=grow, daemon=True).start()
        time.sleep(5)
        gaps = page.evaluate(FRAMES.replace("SECONDS", str(given.seconds)))
        seen = {int(epoch): at for epoch, at in reversed(page.evaluate("window.late"))}
        took = page.evaluate("window.took")
        stop.set()
        browser.close()
    late = [seen[epoch] - at for epoch, at in written.items() if epoch in seen]
    return {
        "runs": given.runs,
        "rows": given.rows,
        "growing": given.growing,
        "seconds_to_fill": round(filled, 2),
        "frames": len(gaps),
        "frame_ms_median": round(quantile(gaps, 0.5), 1),
        "frame_ms_99": round(quantile(gaps, 0.99), 1),
        "frame_ms_max": round(max(gaps), 1),
        "message_ms_median": round(quantile(took, 0.5), 1),
        "message_ms_max": round(max(took), 1),
        "seconds_late_median": round(quantile(late, 0.5), 2) if late else None,
        "seconds_late_max": round(max(late), 2) if late else None,
    }


if __name__ == "__main__":
    main()

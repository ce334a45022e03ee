"""A track that takes seconds, for `--load`. The first worker process that loads it interrupts the command, if it is told to."""

import multiprocessing
import os
import signal
from pathlib import Path

from grokscope.models.transformer import Transformer
from grokscope.race.tracks.base import Track, tracks
from grokscope.tasks.modular import Modular


@tracks.register("T")
class Tiny(Track):
    """Addition mod 5 among one distractor."""

    title = "tiny"
    task = Modular(p=5, distractors=1, alphabet=2, train_fraction=0.8)
    model = Transformer(d=8, d_mlp=16)
    horizon = 10
    every = 5


mark = os.environ.get("INTERRUPT_ONCE")
if mark and multiprocessing.parent_process() is not None and not Path(mark).exists():
    Path(mark).touch()
    os.kill(os.getppid(), signal.SIGINT)

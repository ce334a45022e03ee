"""The results of a scope: a table and a page like those of any run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import GrokscopeError
from ..report.runs import build_page
from ..settings import flatten
from ..store import list_runs, save_file
from .storing import Stored

if TYPE_CHECKING:
    import pandas as pd

    from .scope import Scope


def frame(scope: Scope) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(scope.rows)
    stored = scope._stored
    status = stored.folder.state.status if stored else "running"
    settings = {"run": scope.id or "", "status": status, **flatten(scope.config())}
    first = pd.DataFrame({name: [value] * len(table) for name, value in settings.items() if name not in table})
    return pd.concat([first, table], axis=1)


def report(scope: Scope, path: str | Path, title: str, everything: bool) -> Path:
    if not scope.rows:
        raise GrokscopeError("report: there is no row yet; call scope.step() after every optimizer step")
    stored = scope._stored
    with tempfile.TemporaryDirectory() as folder:
        if stored is None:
            stored = Stored(folder, scope.config(), device="")
            for row in scope.rows:
                stored.add(row)
            stored.finish()
        elif scope.is_open:
            stored.save()
        runs = [run for run in list_runs(stored.path.parent) if not run.problem] if everything else [stored.info()]
        page = build_page(runs, command="grokscope.watch", title=title or scope.name)
    return Path(save_file(Path(path), page.html))

"""Store: run folders, checkpoints and metric tables. The only component that knows disk paths; it never pickles.

Training goes through `RunFolder`, everything else reads. Importing this component, listing and finding runs need neither
torch nor pyarrow.
"""

from .added import added_measures
from .catalogue import RunInfo, find_run, kept_epochs, list_runs, read_checkpoint, read_run, run_folders
from .checkpoints import Checkpoint
from .disk import check_writable, save_file
from .folder import RunFolder
from .follow import Columns, Follower
from .frames import load_runs, read_each, read_metrics
from .lock import is_held
from .manifest import last_numerics
from .omitted import omitted_lines
from .removal import delete_runs
from .runs_folder import check_runs_folder, nearest_folder
from .state import FINISHED, State
from .tags import read_tags, write_tags

__all__ = [
    "FINISHED",
    "Checkpoint",
    "Columns",
    "Follower",
    "RunFolder",
    "RunInfo",
    "State",
    "added_measures",
    "check_runs_folder",
    "check_writable",
    "delete_runs",
    "find_run",
    "is_held",
    "kept_epochs",
    "last_numerics",
    "list_runs",
    "load_runs",
    "nearest_folder",
    "omitted_lines",
    "read_checkpoint",
    "read_each",
    "read_metrics",
    "read_run",
    "read_tags",
    "run_folders",
    "save_file",
    "write_tags",
]

"""Where runs train: plan and chunks (pure), scheduler (threads and streams), local (this process), executors (GPUs, clusters)."""

from ..garbage import imports

with imports():
    from .local import train
    from .submit import train_all

__all__ = ["train", "train_all"]

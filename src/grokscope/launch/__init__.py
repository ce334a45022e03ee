"""Where runs train: plan (pure), scheduler (threads and streams), local (this machine)."""

from .local import train, train_all

__all__ = ["train", "train_all"]

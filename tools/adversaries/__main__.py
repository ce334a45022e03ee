"""`python -m tools.adversaries`: repeat the search, write tightness.json next to this file."""

from __future__ import annotations

from . import adversaries, search
from .base import Finding, save


def main() -> None:
    found: list[Finding] = []
    for adversary in adversaries.values():
        found.append(search(adversary))
        print(f"{found[-1].ratio:10.6f}  {adversary.paper} {adversary.number}", flush=True)
    save(found)


if __name__ == "__main__":
    main()

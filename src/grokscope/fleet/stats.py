"""Steps and seconds of training, and the fraction of busy lanes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(kw_only=True)
class TrainingStats:
    """Steps and seconds of one or several fleets."""

    run_steps: int = 0
    """Optimizer steps taken, summed over runs."""
    lane_steps: int = 0
    """Steps of all lanes, including idle ones."""
    seconds: float = 0.0
    """From opening the first run to the end of the last one."""

    def __iadd__(self, other: TrainingStats) -> TrainingStats:
        self.run_steps += other.run_steps
        self.lane_steps += other.lane_steps
        self.seconds += other.seconds
        return self

    def to_dict(self) -> dict[str, float]:
        rate = self.run_steps / self.seconds if self.seconds else 0.0
        busy = self.run_steps / self.lane_steps if self.lane_steps else 1.0
        return {
            "run_steps": self.run_steps,
            "seconds": round(self.seconds, 2),
            "run_steps_per_s": round(rate, 1),
            "lanes_busy": round(busy, 4),
        }

    def __str__(self) -> str:
        it = self.to_dict()
        return (
            f"{self.run_steps:,} run-steps in {self.seconds:,.1f} s, {it['run_steps_per_s']:,.0f} run-steps/s, "
            f"lanes busy {it['lanes_busy']:.0%}"
        )

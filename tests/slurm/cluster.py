"""A SLURM cluster of one node: munged, slurmctld and slurmd as ordinary processes, with a configuration in a temporary folder.

Nothing outside of that folder is read or written, and the processes end with the context. A requeued job waits for as long as
a credential is valid (`cred_expire`), here 30 seconds.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
CONF = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=30
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0,requeue_delay=1
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
KillWait=10
MinJobAge=300
JobRequeue=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """The reason for a skip where a program is not installed; empty if all are."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    absent = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    return f"not installed: {', '.join(absent)} (make slurm)" if absent else ""


@contextlib.contextmanager
def slurm_cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Start a cluster in `folder`, which must be short (sockets); yields the environment in which commands reach it."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    folder.chmod(0o700)
    host = socket.gethostname().split(".")[0]
    conf = CONF.format(folder=folder, host=host, user=getpass.getuser(), ports=_free_ports(2))
    (folder / "slurm.conf").write_text(conf)
    # ordinary processes may have no cgroups to use; earlier versions do not use them unless asked
    (folder / "cgroup.conf").write_text("CgroupPlugin=disabled\n" if _version() >= (23, 2) else "")
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    env = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
    env["PATH"] = os.pathsep.join([env.get("PATH", ""), "/usr/sbin", "/sbin"])
    munged = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={folder}/munge.sock"]
    munged += [f"--{name}-file={folder}/munged.{name}" for name in ("pid", "log", "seed")]
    commands = [munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]]
    with contextlib.ExitStack() as running:
        for command in commands:
            log = running.enter_context(open(folder / f"{command[0]}.out", "wb"))
            process = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
            running.callback(_end, process)
            if command is munged:
                _wait(lambda: (folder / "munge.sock").exists(), folder, "munged")
        _wait(lambda: "idle" in _answer(["sinfo", "-h", "-o", "%T"], env), folder, "slurmctld")
        try:
            yield env
        finally:
            _answer(["scancel", "--user", getpass.getuser()], env)
            with contextlib.suppress(RuntimeError):  # they are given KillWait seconds to save their runs
                _wait(lambda: not _answer(["squeue", "--noheader"], env).strip(), folder, "squeue")


def _version() -> tuple[int, ...]:
    words = _answer(["slurmd", "-V"], {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}).split()
    return tuple(int(number) for number in words[-1].split(".")[:2])


def _answer(command: list[str], env: dict[str, str]) -> str:
    return subprocess.run(command, env=env, capture_output=True, text=True).stdout


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(condition: object, folder: Path, name: str) -> None:
    deadline = time.monotonic() + 60
    while not condition():  # type: ignore[operator]
        if time.monotonic() > deadline:
            logs = "\n".join(f"{log.name}: {log.read_text(errors='replace')[-1500:]}" for log in folder.glob("*.out"))
            raise RuntimeError(f"{name} did not start\n{logs}")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]

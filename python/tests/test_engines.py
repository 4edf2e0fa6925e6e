"""One study by two engines: on this machine, and on a Ray cluster of two nodes of which one is killed in the middle."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import strewn

from conftest import interruptible, study

if not os.environ.get("STREWN_REQUIRE_ALL"):
    pytest.importorskip("ray", reason="pip install strewn[ray]")

#: Marks the processes of a test's cluster in their environment.
MARK = "STREWN_TEST_CLUSTER"
STUDY = study(
    scale_down=32,
    replicates=3,
    axis=[
        {"name": "alignment", "setting": "workload.alignment", "values": ["512 B", "4 KiB"]},
        {"name": "outstanding", "setting": "FAS2050.outstanding", "values": [8, 32, 128]},
    ],
)
RUNS = 18


def processes(mark):
    """The processes of a node, by their command lines: those that are marked, and those that they started, some of
    which write their title over their environment."""
    marked, parents, lines = set(), {}, {}
    for process in Path("/proc").iterdir():
        try:
            if not process.name.isdigit():
                continue
            pid = int(process.name)
            lines[pid] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            parents[pid] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if f"{MARK}={mark}".encode() in (process / "environ").read_bytes():
                marked.add(pid)
        except OSError:
            pass
    found = set(marked)
    while True:
        started = {pid for pid, parent in parents.items() if parent in found} - found
        if not started:
            return {pid: lines[pid] for pid in found}
        found |= started


def kill(mark):
    for process in processes(mark):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Cluster:
    """Two nodes of one CPU each, on the loopback."""

    def __init__(self, directory):
        self.directory = directory
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.marks = {name: secrets.token_hex(8) for name in ("head", "worker")}
        # Paths of Unix sockets are short.
        self.temporary = f"/tmp/strewn-ray-{secrets.token_hex(4)}"

    def start(self, name, *options):
        environment = dict(
            os.environ, **{MARK: self.marks[name]}, RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0"
        )
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--num-cpus=1", "--node-ip-address=127.0.0.1"]
        command += ["--object-store-memory=100000000", "--memory=4000000000", *options]
        log = open(self.directory / f"{name}.log", "w")
        subprocess.run(command, env=environment, check=True, stdout=log, stderr=log, timeout=120)

    def __enter__(self):
        port = self.address.rsplit(":", 1)[1]
        try:
            self.start("head", "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={self.temporary}")
            self.start("worker", f"--address={self.address}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for mark in self.marks.values():
            kill(mark)
        subprocess.run(["rm", "-rf", self.temporary], check=False)


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    with Cluster(tmp_path) as cluster:
        yield cluster


def files(out):
    """The files of a sweep, with no wall time."""
    found = {}
    for path in sorted(out.rglob("*")):
        if path.is_file():
            lines = path.read_bytes().splitlines(keepends=True)
            found[str(path.relative_to(out))] = [line for line in lines if b'"wall_seconds":' not in line]
    return found


def test_a_cluster_that_loses_a_node_gives_the_same_bytes(cluster, tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    strewn.sweep(STUDY, here)
    at_work = []

    def kill_a_node(done, all, share):
        # While it runs something, and much is left to do.
        busy = [line for line in processes(cluster.marks["worker"]).values() if line.startswith("ray::small: ")]
        if done >= 3 and busy and not at_work:
            at_work.extend(busy)
            kill(cluster.marks["worker"])

    sweep = strewn.sweep(STUDY, there, ray=cluster.address, progress=kill_a_node)
    assert at_work, "the second node never ran anything"
    assert not processes(cluster.marks["worker"])
    assert sweep.missing == []
    assert files(there) == files(here)
    assert len([name for name in files(there) if name.endswith("results.json")]) == RUNS


def test_runs_that_are_there_are_not_submitted_and_failures_are_told(cluster, tmp_path):
    out = tmp_path / "out"
    strewn.sweep(study(replicates=1), out)
    seen = []
    sweep = strewn.sweep(study(), out, ray=cluster.address, progress=lambda done, all, share: seen.append(all))
    assert set(seen) == {2} and sweep.missing == []
    again = []
    strewn.sweep(study(), out, ray=cluster.address, progress=lambda *at: again.append(at))
    assert again == []


INTERRUPTED = """
import strewn
strewn.sweep({study!r}, {out!r}, ray={address!r}, progress=lambda *at: print("at work", flush=True))
"""


def test_ctrl_c_cancels_what_is_in_flight(cluster, tmp_path):
    full = {**STUDY, "scale_down": 1, "segments": 14}
    text = INTERRUPTED.format(study=full, out=str(tmp_path / "out"), address=cluster.address)
    program = interruptible(text)

    def at_work():
        marks = cluster.marks.values()
        return [line for mark in marks for line in processes(mark).values() if line.startswith("ray::small: ")]

    try:
        assert program.stdout.readline() == "at work\n", program.stderr.read()
        wait_until(at_work)
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
    finally:
        program.kill()
    assert "KeyboardInterrupt" in said
    wait_until(lambda: not at_work())


def wait_until(holds, seconds=30.0):
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, f"not within {seconds} s"
        time.sleep(0.1)

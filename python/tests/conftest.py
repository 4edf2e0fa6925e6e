"""What tests share."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import strewn

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = REPOSITORY / "scenarios" / "making-sense-of-wafl-4.toml"


@pytest.fixture
def shipped() -> Path:
    """The scenario of the published experiment."""
    return SHIPPED


@pytest.fixture(scope="session")
def results() -> strewn.Results:
    """Three segments of the published experiment at 1/64 of full scale."""
    return strewn.run(SHIPPED, scale_down=64, segments=3)


def study(**changes: object) -> dict:
    """A small study."""
    return {
        "schema": 1,
        "name": "small",
        "title": "Requests that straddle blocks",
        "scenario": str(SHIPPED),
        "arrays": ["FAS2050"],
        "segments": 2,
        "scale_down": 64,
        "replicates": 2,
        "axis": [
            {"name": "alignment", "setting": "workload.alignment", "values": ["512 B", "4 KiB"]},
        ],
        **changes,
    }


def interruptible(text, **options):
    """Starts a Python program that Ctrl-C ends, also where a shell has told its background programs to ignore it."""
    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )

"""What tests share."""

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

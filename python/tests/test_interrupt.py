"""Ctrl-C."""

import signal
import time

import pytest

from conftest import SHIPPED, interruptible, study

RUN = """
import strewn
strewn.run({shipped!r}, progress=lambda progress: print("at work", flush=True) if progress.operations else None)
"""
SWEEP = """
import strewn
show = lambda done, all, share: print("at work", flush=True) if share else None
strewn.sweep({study!r}, {out!r}, jobs=1, progress=show)
"""


@pytest.mark.parametrize("what", ["run", "sweep"])
def test_ctrl_c_ends_a_run_promptly(what, tmp_path):
    # Full scale: minutes, if nothing stopped it.
    full = study(scale_down=1, segments=14)
    text = RUN.format(shipped=str(SHIPPED)) if what == "run" else SWEEP.format(study=full, out=str(tmp_path / "out"))
    program = interruptible(text, cwd=tmp_path)
    try:
        assert program.stdout.readline() == "at work\n", program.stderr.read()
        interrupted = time.monotonic()
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
        took = time.monotonic() - interrupted
    finally:
        program.kill()
    assert said.strip().endswith("KeyboardInterrupt"), said
    assert program.returncode != 0
    assert took < 5.0, f"{took:.1f} s"

"""The examples of README.md and docs/python.md, as they are printed there."""

import re
import subprocess
import sys

import pytest

from conftest import REPOSITORY


@pytest.mark.parametrize("document", ["python/README.md", "docs/python.md"])
def test_examples_run(document, tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", (REPOSITORY / document).read_text(), re.S)
    assert blocks
    (tmp_path / "scenarios").symlink_to(REPOSITORY / "scenarios")
    program = tmp_path / "example.py"
    program.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if document == "python/README.md":
        assert (tmp_path / "iops.svg").is_file() and (tmp_path / "report.html").is_file()
        assert "FAS2050" in done.stdout

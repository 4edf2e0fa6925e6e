#!/usr/bin/env bash
# Builds the wheel, installs it into a clean environment with what is optional, and tests it there. Environments and
# wheels are in python/target; the build is in the target folder of the command, which has other people's crates.
# `--without-ray` leaves out what needs a cluster, as where Ray has no wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

python=${PYTHON:-python3}
clean=target/test
extras=polars,pandas,ray,test
[ "${1:-}" != --without-ray ] || extras=polars,pandas,test

# The tool that builds has an environment of its own, which may stay.
[ -x target/build/bin/maturin ] || { "$python" -m venv target/build && target/build/bin/pip install -q 'maturin>=1.8,<2'; }
rm -rf target/wheels "$clean"
target/build/bin/maturin build --release --locked --target-dir "${CARGO_TARGET_DIR:-../target}" --out target/wheels
"$python" -m venv "$clean"
"$clean/bin/pip" install -q "$(echo target/wheels/*.whl)[$extras]" 'mypy>=1.11'

# From elsewhere: the sources beside this script have the package's name, and no native half.
cd tests
"../$clean/bin/pytest" -q
# As a user's type checker sees the package: installed, with its stub.
"../$clean/bin/mypy" --strict --ignore-missing-imports -p strewn

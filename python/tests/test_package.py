"""The package: versions, profile, types."""

import inspect
import re
import sys
from importlib import metadata, resources

import pytest

import strewn
from strewn import _strewn

from conftest import REPOSITORY

tomllib = pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")


def toml(path):
    return tomllib.loads((REPOSITORY / path).read_text())


def test_the_version_is_that_of_the_repository(results):
    version = toml("Cargo.toml")["workspace"]["package"]["version"]
    assert strewn.__version__ == metadata.version("strewn") == results.data["strewn"] == version


def test_crates_are_optimized_as_the_command_is():
    repository, package = (toml(path)["profile"]["release"] for path in ("Cargo.toml", "python/Cargo.toml"))
    of_repository, of_package = repository.pop("package"), package.pop("package")
    assert package == repository
    crates = {crate["name"] for crate in toml("python/Cargo.lock")["package"]}
    for crate in sorted(crates - {"strewn", "strewn-python"}):
        # In the repository, its own crates are not among `*`.
        others = {} if crate.startswith("strewn-") else of_repository["*"]
        expected = {"opt-level": 3, **others, **of_repository.get(crate, {})}
        assert {**of_package["*"], **of_package.get(crate, {})} == expected, crate


def test_crates_are_of_the_versions_of_the_repository():
    def versions(path):
        found = {}
        for package in toml(path)["package"]:
            found.setdefault(package["name"], set()).add(package["version"])
        return found

    repository, package = versions("Cargo.lock"), versions("python/Cargo.lock")
    different = {name for name in package if name in repository and not package[name] <= repository[name]}
    assert not different, "copy Cargo.lock to python/Cargo.lock, and build"


def test_types_are_installed_and_complete():
    files = resources.files("strewn")
    assert (files / "py.typed").is_file()
    stub = (files / "_strewn.pyi").read_text()
    for name, native in vars(_strewn).items():
        if name.startswith("_") and name != "__version__":
            continue
        assert re.search(rf"^(class|def) {name}\b|^{name}:", stub, re.M), name
        for member in vars(native) if inspect.isclass(native) else ():
            assert member.startswith("_") or re.search(rf"def {member}\(", stub), f"{name}.{member}"


@pytest.mark.parametrize("name", strewn.__all__)
def test_everything_public_is_described(name):
    public = getattr(strewn, name)
    if inspect.isclass(public) or inspect.isfunction(public):
        assert inspect.getdoc(public), name
        for member, value in vars(public).items() if inspect.isclass(public) else ():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_nothing_is_imported_that_is_not_needed():
    import subprocess

    text = "import sys, strewn; print([name for name in ('polars', 'pandas', 'ray', 'numpy') if name in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", text], text=True).strip() == "[]"

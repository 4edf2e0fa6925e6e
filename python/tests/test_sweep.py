"""Sweeps on this machine."""

import json
import xml.etree.ElementTree as ElementTree

import pytest

import strewn

from conftest import study


def test_a_study_gives_a_long_table_and_its_differences(tmp_path):
    sweep = strewn.sweep(study(), tmp_path / "out")
    frame = sweep.frame
    iops = [row for row in frame.rows() if row["metric"] == "iops" and row["alignment"] == "4 KiB"]
    assert iops and all(row["n"] == 2 and row["low"] <= row["mean"] <= row["high"] for row in iops)
    assert {row["alignment_number"] for row in iops} == {4096.0}
    assert iops[0]["seed_1"] != iops[0]["seed_2"]
    assert frame.to_polars().height == frame.height == len(frame.to_pandas())
    effect = sweep.differences.rows()[0]
    assert (effect["axis"], effect["value"], effect["first_value"]) == ("alignment", "4 KiB", "512 B")
    assert effect["larger_than_noise"] in (True, False)
    assert sweep.missing == []
    assert "alignment" in sweep.tables()
    assert json.loads((tmp_path / "out" / "sweep.json").read_text()) == sweep.data


def test_charts_and_the_page_are_those_in_the_directory(tmp_path):
    sweep = strewn.sweep(study(), tmp_path / "out")
    assert sweep.charts
    for name in sweep.charts:
        assert ElementTree.fromstring(sweep.chart(name).svg).tag == "{http://www.w3.org/2000/svg}svg"
        assert (tmp_path / "out" / f"{name}.svg").read_text() == sweep.chart(name).svg
    page = sweep.report(tmp_path / "mine.html").read_bytes()
    assert page == (tmp_path / "out" / "report.html").read_bytes()
    assert "<svg" in sweep._repr_html_()
    with pytest.raises(strewn.StrewnError, match="no chart"):
        sweep.chart("none")


def test_runs_that_are_there_are_not_run_again(tmp_path):
    out = tmp_path / "out"
    strewn.sweep(study(replicates=1), out)
    written = {path: path.stat().st_mtime_ns for path in out.glob("points/*/results.json")}
    assert len(written) == 2
    seen = []
    strewn.sweep(study(), out, progress=lambda done, all, share: seen.append((done, all)))
    assert all(path.stat().st_mtime_ns == at for path, at in written.items())
    assert seen[-1] == (2, 2)
    assert len(list(out.glob("points/*/results.json"))) == 4


def test_a_file_and_a_dict_are_the_same_study(tmp_path, shipped):
    path = tmp_path / "study.toml"
    path.write_text(
        'schema = 1\nname = "small"\ntitle = "Requests that straddle blocks"\n'
        f'scenario = "{shipped}"\narrays = ["FAS2050"]\nsegments = 2\nscale_down = 64\nreplicates = 2\n'
        '[[axis]]\nname = "alignment"\nsetting = "workload.alignment"\nvalues = ["512 B", "4 KiB"]\n'
    )
    of_file = strewn.sweep(path, tmp_path / "file", scale_down=256)
    of_dict = strewn.sweep(study(), tmp_path / "dict", scale_down=256)
    assert of_file.data == of_dict.data
    assert of_file.data["scale_down"] == 256


def test_a_directory_with_something_else_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(strewn.StrewnError, match="something else") as raised:
        strewn.sweep(study(), tmp_path)
    assert "out" in raised.value.help
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_time_that_is_up_leaves_the_rest_for_the_next_call(tmp_path):
    short = strewn.sweep(study(), tmp_path / "out", max_hours=0.0)
    assert len(short.missing) == 4
    assert strewn.sweep(study(), tmp_path / "out").missing == []


@pytest.mark.parametrize("options", [{"scale_down": 0}, {"max_hours": -1}, {"max_hours": float("nan")}])
def test_wrong_options_run_nothing(tmp_path, options):
    with pytest.raises(strewn.StrewnError) as raised:
        strewn.sweep(study(), tmp_path / "out", **options)
    assert raised.value.help
    assert not (tmp_path / "out").exists()


def test_save_and_a_cluster_exclude_each_other(tmp_path):
    with pytest.raises(strewn.StrewnError, match="not for a cluster"):
        strewn.sweep(study(), tmp_path / "out", ray=True, save=True)

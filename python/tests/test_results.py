"""Results: tables, charts, pages, and results that were written before."""

import pickle
import xml.etree.ElementTree as ElementTree

import pytest

import strewn


def test_segments_are_a_row_for_each_array_and_segment(results):
    segments = results.segments
    assert segments.height == 6
    assert segments["array"] == ["FAS2050"] * 3 + ["EVA4400"] * 3
    assert segments["segment"] == [1, 2, 3] * 2
    assert segments["host_ops_per_s"][0] == results.array("FAS2050")["segments"][0]["iops"]
    # An array in place has no free space to score.
    assert segments["free_space_score_0_to_1"][3:] == [None] * 3
    assert segments.rows()[0]["layout"] == "write-anywhere"
    assert segments.to_dict()["segment"] == segments["segment"]


def test_counts_are_ints_and_everything_else_floats(results):
    for name, values in results.segments.items():
        kinds = {type(value) for value in values if value is not None}
        assert len(kinds) <= 1, f"{name}: {kinds}"
    assert isinstance(results.segments["host_ops"][0], int)
    assert isinstance(results.segments["host_ops_per_s"][0], float)


def test_polars_and_pandas_have_the_same_figures(results):
    polars, pandas = results.segments.to_polars(), results.segments.to_pandas()
    assert polars.columns == list(pandas.columns) == results.segments.columns
    assert polars.height == len(pandas) == 6
    assert polars["host_ops_per_s"].to_list() == pandas["host_ops_per_s"].tolist()
    assert str(polars["free_space_score_0_to_1"].dtype) == "Float64"


def test_charts_are_svg_that_parses(results, tmp_path):
    assert {"iops", "response", "map"} <= set(results.charts)
    for name in results.charts:
        chart = results.chart(name)
        assert ElementTree.fromstring(chart._repr_svg_()).tag == "{http://www.w3.org/2000/svg}svg"
    wide = results.chart("iops", theme="dark", width=1200, height=700)
    assert ElementTree.fromstring(wide.svg).get("width", "").startswith("1200")
    assert wide.save(tmp_path / "iops.svg").read_text() == wide.svg
    assert wide.save(tmp_path / "iops.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(strewn.StrewnError, match="not written as .pdf"):
        wide.save(tmp_path / "iops.pdf")


def test_a_chart_that_is_not_there_names_the_others(results):
    with pytest.raises(strewn.StrewnError) as raised:
        results.chart("iosp")
    assert "iops" in raised.value.help
    with pytest.raises(strewn.StrewnError):
        results.chart("iops", theme="blue")
    with pytest.raises(strewn.StrewnError, match="480 by 320"):
        results.chart("iops", width=10)


def test_the_report_is_a_page_with_the_map_and_the_scenario(results, tmp_path):
    page = results.report(tmp_path / "report.html").read_text()
    assert page.startswith("<!DOCTYPE html>") or page.lower().startswith("<!doctype html>")
    assert "emptiest-area" in page


def test_published_figures_are_beside_the_simulated_ones(results):
    assert {compared["array"] for compared in results.published} == {"FAS2050", "EVA4400"}


def test_tables_are_those_of_the_command(results):
    assert "FAS2050" in results.tables() and "IOPS" in results.tables()


def test_a_notebook_shows_headline_table_and_chart(results):
    shown = results._repr_html_()
    ElementTree.fromstring(f"<div>{shown}</div>")
    assert "<svg" in shown and "FAS2050" in shown and "1/64" in shown
    assert "<table>" in results.segments._repr_html_()


def test_json_is_read_back_to_the_byte(results, tmp_path):
    text = results.to_json(tmp_path / "results.json")
    assert strewn.Results.load(tmp_path / "results.json").to_json() == text
    assert strewn.Results.load(tmp_path).to_json() == text
    with pytest.raises(strewn.StrewnError, match="results.json"):
        strewn.Results.load(tmp_path / "elsewhere")


def test_results_and_scenarios_survive_pickling(results, shipped):
    again = pickle.loads(pickle.dumps(results))
    assert again.to_json() == results.to_json()
    assert again.chart("map").svg == results.chart("map").svg
    scenario = strewn.Scenario.load(shipped)
    assert pickle.loads(pickle.dumps(scenario)).settings() == scenario.settings()


def test_errors_survive_pickling(shipped):
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.run({"schema": 1})
    again = pickle.loads(pickle.dumps(raised.value))
    assert str(again) == str(raised.value) and again.problems == raised.value.problems

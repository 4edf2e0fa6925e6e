"""Errors: the place and the remedy."""

from pathlib import Path

import pytest

import strewn


def test_every_problem_of_a_file_has_its_place(tmp_path, shipped):
    text = shipped.read_text().replace("data_spindles =", "data_spindels =").replace('"20 min"', '"20 mni"')
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.run(path)
    problems = {problem.field.rsplit(".", 1)[-1]: problem for problem in raised.value.problems}
    misspelt = problems["data_spindels"]
    lines = text.splitlines()
    assert lines[misspelt.line - 1][misspelt.column - 1 :].startswith("data_spindels")
    assert misspelt.kind == "unknown-key"
    shown = str(raised.value)
    assert f"{path}:{misspelt.line}:{misspelt.column}: " in shown
    assert "help: did you mean `data_spindles`?" in shown
    assert "mni" in shown


def test_a_single_problem_is_one_line_and_its_remedy(shipped):
    text = shipped.read_text().replace("\nseed =", "\nsede =")
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.Scenario.from_toml(text)
    assert len(raised.value.problems) == len(str(raised.value).split("help:")) - 1


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(strewn.ScenarioError, match="cannot read scenario .*none.toml") as raised:
        strewn.run(tmp_path / "none.toml")
    assert "help: " in str(raised.value)


def test_problems_of_a_dict_are_in_the_text_that_it_was_written_as(shipped):
    tables = strewn.Scenario.load(shipped).to_dict()
    tables["segments"] = -1
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.Scenario.from_dict(tables, path=shipped)
    (problem,) = raised.value.problems
    assert problem.field == "segments"
    assert "segments = -1" in raised.value.text.splitlines()[problem.line - 1]


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "NoneType"), ({1, 2}, "set"), (1 << 80, "too large"), ({3: "x"}, "key 3 is not a str")],
)
def test_values_that_toml_has_not_are_named_by_their_place(value, words):
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.run({"schema": 1, "array": [{"outstanding": value}]})
    assert words in str(raised.value)
    assert raised.value.problems[0].field.startswith("array[0].outstanding")
    assert raised.value.help


def test_a_setting_that_is_not_there_names_the_nearest(shipped):
    with pytest.raises(strewn.ScenarioError) as raised:
        strewn.run(shipped, set={"FAS2050.outstandin": 3})
    assert "`array.FAS2050.outstanding`" in raised.value.help
    assert "strewn.scenario_settings(scenario)" in raised.value.help


def test_a_setting_with_a_wrong_value_gives_the_remedy(shipped):
    with pytest.raises(strewn.ScenarioError, match="policy") as raised:
        strewn.run(shipped, set={"FAS2050.policy": "fullest"})
    assert "emptiest-area" in str(raised.value)


def test_a_run_that_needs_more_memory_than_there_is_fails(shipped):
    with pytest.raises(strewn.StrewnError, match="MiB of memory"):
        strewn.run(
            shipped,
            set={"FAS2050.write_anywhere.buffer_cache": "100 TiB"},
            segments=1,
        )


@pytest.mark.parametrize(
    "options",
    [{"quick": True, "scale_down": 2}, {"segments": 0}, {"replicates": 0}, {"replicates": 10**9}, {"scale_down": 0}],
)
def test_wrong_options_have_a_remedy(shipped, options):
    with pytest.raises(strewn.StrewnError) as raised:
        strewn.run(shipped, **options)
    assert raised.value.help


def test_what_contains_itself_is_refused(shipped):
    itself = {}
    itself["array"] = [itself]
    with pytest.raises(strewn.ScenarioError, match="levels of lists and dicts"):
        strewn.Scenario.from_dict(itself)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(strewn.ScenarioError, match="levels of lists and dicts"):
        strewn.run(shipped, set={"seed": deep})


def test_more_segments_than_phases_have_are_refused():
    phased = Path(__file__).resolve().parents[2] / "scenarios"
    with_phases = [
        path
        for path in sorted(phased.glob("*.toml"))
        if "[[phase]]" in path.read_text() and not path.name.endswith((".published.toml", ".sensitivity.toml"))
    ]
    with pytest.raises(strewn.StrewnError, match="phases have"):
        strewn.run(with_phases[0], segments=1000)


def test_a_study_that_is_wrong_has_its_line(tmp_path, shipped):
    path = tmp_path / "study.toml"
    path.write_text(
        f'schema = 1\nname = "s"\ntitle = "S"\nscenario = "{shipped}"\n\n'
        '[[axis]]\nname = "a"\nsetting = "no.such"\nvalues = [1]\n'
    )
    with pytest.raises(strewn.StrewnError) as raised:
        strewn.sweep(path, tmp_path / "out")
    assert f"{path}" in str(raised.value) and "no.such" in str(raised.value)
    assert raised.value.help

"""Runs: the same figures whatever way a scenario is given, and what changes them."""

import json
import threading
import time

import pytest

import strewn


def figures(results):
    return {name: value for name, value in results.data.items() if name != "wall_seconds"}


def test_a_path_a_dict_and_toml_give_the_same_figures(shipped):
    scenario = strewn.Scenario.load(shipped)
    of_path = strewn.run(str(shipped), scale_down=256, segments=1)
    of_dict = strewn.run(strewn.Scenario.from_dict(scenario.to_dict(), path=shipped), scale_down=256, segments=1)
    of_toml = strewn.run(
        strewn.Scenario.from_toml(scenario.to_toml(), path=shipped), scale_down=256, segments=1, jobs=1
    )
    assert figures(of_path) == figures(of_dict) == figures(of_toml)


def test_a_plain_dict_runs(shipped):
    tables = strewn.Scenario.load(shipped).to_dict()
    del tables["published"]
    tables["array"] = [array for array in tables["array"] if array["name"] == "FAS2050"]
    # These speak of the other array.
    del tables["overhead"], tables["unknown"]
    results = strewn.run(tables, scale_down=256, segments=1)
    assert [array["name"] for array in results.arrays] == ["FAS2050"]
    assert results.published == []


def test_settings_by_name_and_seeds_change_figures(shipped):
    def run(**options):
        return strewn.run(shipped, scale_down=256, segments=1, **options).segments["host_ops_per_s"]

    assert run() == run()
    assert run() != run(seed=2)
    deep, shallow = run(set={"FAS2050.outstanding": 8}), run()
    assert deep[0] < shallow[0] and deep[1] == shallow[1]


def test_quick_is_an_eighth(shipped):
    results = strewn.run(shipped, quick=True, segments=1)
    assert results.data["scaled"]["by"] == 8
    assert results.caveats


def test_replicates_put_bands_around_figures(shipped):
    results = strewn.run(shipped, scale_down=256, segments=1, replicates=3)
    band = results.arrays[0]["segments"][0]["band"]["iops"]
    assert band["low"] < results.arrays[0]["segments"][0]["iops"] < band["high"]


def test_progress_reaches_the_end_of_each_array(shipped):
    seen = []
    strewn.run(shipped, scale_down=64, segments=2, progress=seen.append)
    last = {progress.array: progress for progress in seen}
    assert sorted(last) == ["EVA4400", "FAS2050"]
    assert all(progress.fraction == 1.0 and progress.segment == 2 for progress in last.values())
    assert all(progress.operations > 0 for progress in last.values())


def test_what_progress_raises_ends_the_run(shipped):
    def enough(progress):
        raise RuntimeError("enough")

    began = time.monotonic()
    with pytest.raises(RuntimeError, match="enough"):
        strewn.run(shipped, progress=enough)
    assert time.monotonic() - began < 10.0


def test_progress_true_writes_a_line(shipped, capsys):
    strewn.run(shipped, scale_down=256, segments=1, progress=True)
    assert "FAS2050: 100 %" in capsys.readouterr().err


def test_other_threads_go_on(shipped):
    turns, is_over = [0], threading.Event()

    def turn():
        while not is_over.wait(0.001):
            turns[0] += 1

    thread = threading.Thread(target=turn)
    thread.start()
    began = time.monotonic()
    strewn.run(shipped, scale_down=32, segments=2)
    took = time.monotonic() - began
    is_over.set()
    thread.join()
    # A turn takes a millisecond and some; with the lock held there would be none.
    assert turns[0] > 100 * took, f"{turns[0]} turns in {took:.2f} s"


def test_a_run_off_the_main_thread(shipped):
    done = []
    thread = threading.Thread(target=lambda: done.append(strewn.run(shipped, scale_down=256, segments=1)))
    thread.start()
    thread.join()
    assert len(done[0].arrays) == 2


def test_settings_list_defaults(shipped):
    settings = strewn.scenario_settings(shipped)
    assert settings["segments"] == 14
    assert settings["array.FAS2050.write_anywhere.policy"] == "emptiest-area"
    assert settings["array.EVA4400.in_place.full_stripe_destage"] in (True, False)


def test_the_schema_is_a_json_schema():
    assert "array" in strewn.schema()["properties"]
    json.dumps(strewn.schema())

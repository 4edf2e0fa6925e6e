//! The declared columns: each is where it says.

use crate::fixture;
use serde_json::Value;
use strewn_results::{COLUMNS, Column, Place};

#[test]
fn a_column_has_one_name_and_one_meaning() {
    for (position, column) in COLUMNS.iter().enumerate() {
        assert!(!column.meaning().is_empty(), "{}", column.key);
        for name in [Some(column.key), column.figure_name()].into_iter().flatten() {
            let named = Column::named(name).unwrap();
            assert_eq!(named.key, COLUMNS[position].key, "{name}");
        }
    }
}

#[test]
fn a_figure_is_where_its_column_says() {
    let results: Vec<strewn_results::Results> = [
        include_str!("golden.json"),
        include_str!("full-run.json"),
        &fixture::results().to_json_string().unwrap(),
    ]
    .map(|text| strewn_results::Results::from_json(text).unwrap())
    .into();
    let mut found = 0;
    for array in results.iter().flat_map(|results| &results.arrays) {
        for segment in &array.segments {
            let json = serde_json::to_value(segment).unwrap();
            let at = Place { array, segment, workload: None };
            for column in COLUMNS {
                let Some(path) = column.path() else { continue };
                let there = json.pointer(&format!("/{path}")).and_then(Value::as_f64);
                assert_eq!(column.number(&at).unwrap_or(0.0), there.unwrap_or(0.0), "{path}");
                found += usize::from(there.is_some());
            }
        }
    }
    assert!(found > 500, "{found}");
}

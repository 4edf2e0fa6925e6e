//! What is read here becomes what other crates simulate, without loss or guesswork.

use strewn_formats::iometer::{AccessSpecification, Configuration, Feature};
use strewn_workload::{AccessLine, AccessStream};

/// Refuses by name what a stream of accesses does not support.
fn workload(
    specification: &AccessSpecification,
) -> Result<strewn_workload::AccessSpecification, Box<dyn std::error::Error>> {
    let honoured = [Feature::Alignment];
    let refused = specification.features().into_iter().find(|f| !honoured.contains(&f.feature));
    if let Some(feature) = refused {
        return Err(format!("{feature} is not simulated").into());
    }
    let lines = specification.lines.iter().map(|line| AccessLine {
        bytes: line.bytes,
        percent_of_accesses: line.percent_of_accesses,
        read_percent: line.read_percent,
        random_percent: line.random_percent,
    });
    // One alignment for all lines, where 0 is sectors.
    let alignment_bytes = specification.lines[0].alignment_bytes.max(512);
    let lines = lines.collect();
    Ok(strewn_workload::AccessSpecification::new(&specification.name, lines, alignment_bytes)?)
}

#[test]
fn an_access_specification_of_iometer_is_the_shipped_one() {
    let text = include_str!("../data/full.icf");
    let configuration = Configuration::parse(text, "full.icf").unwrap();
    let specifications = configuration.access_specifications.as_ref().unwrap();
    let file_server = workload(&specifications[0]).unwrap();
    let shipped = strewn_workload::AccessSpecification::shipped("file-server").unwrap();
    assert_eq!(file_server.lines(), shipped.lines());
    assert!(AccessStream::new(&file_server, 0, 1 << 20, 1).is_ok());
    assert_eq!(
        workload(&specifications[1]).unwrap_err().to_string(),
        "delay between bursts (line 1 of access specification \"8 KiB; 70% Read; bursts\") is not \
         simulated"
    );
}

//! Cases drawn at random, of which enough must have had something to test.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use strewn_testing::cases;

/// Runs `many` cases, or an eighth of them where people wait. Each says how often it had something to test: `least`
/// times in all of `many`. Of fewer, which scatter more, half in proportion.
pub fn cases_that_test<S: Strategy>(
    many: u32,
    least: u32,
    strategy: S,
    test: impl Fn(S::Value) -> Result<u32, TestCaseError>,
) {
    let tested = Cell::new(0);
    let cases = cases(many / 8, many);
    let least = if cases < many { least * cases / many / 2 } else { least };
    // A failure prints the case that it shrank to; there is no file to keep it in.
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&strategy, |value| {
        tested.set(tested.get() + test(value)?);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    let tested = tested.get();
    println!("{tested} had something to test");
    assert!(tested >= least, "only {tested} had something to test, not {least}");
}

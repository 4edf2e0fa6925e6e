//! A scenario damaged in any way is read or refused, and never panics.

use crate::common::{GOOD, NAME};
use proptest::prelude::*;
use proptest::sample::Index;
use strewn_scenario::{Scenario, record_fitted};

/// One way to damage a text.
#[derive(Debug, Clone)]
enum Mutation {
    DeleteLine(Index),
    DuplicateLine(Index),
    SwapLines(Index, Index),
    ChangeChar(Index, char),
    CutOff(Index),
}

impl Mutation {
    fn apply(&self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        if lines.is_empty() {
            return String::new();
        }
        match self {
            Self::DeleteLine(line) => {
                lines.remove(line.index(lines.len()));
            }
            Self::DuplicateLine(line) => {
                let line = line.index(lines.len());
                lines.insert(line, lines[line]);
            }
            Self::SwapLines(one, other) => {
                let count = lines.len();
                lines.swap(one.index(count), other.index(count));
            }
            Self::ChangeChar(at, to) => {
                let at = at.index(text.chars().count().max(1));
                let changed = text.chars().enumerate();
                return changed.map(|(index, c)| if index == at { *to } else { c }).collect();
            }
            Self::CutOff(at) => {
                let at = at.index(text.chars().count().max(1));
                return text.chars().take(at).collect();
            }
        }
        lines.join("\n")
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let character = prop_oneof![
        any::<char>(),
        prop::sample::select("0123456789-.\"'[]{}=,#\n\r\t _eE".chars().collect::<Vec<_>>()),
    ];
    prop_oneof![
        any::<Index>().prop_map(Mutation::DeleteLine),
        any::<Index>().prop_map(Mutation::DuplicateLine),
        any::<(Index, Index)>().prop_map(|(one, other)| Mutation::SwapLines(one, other)),
        (any::<Index>(), character.clone()).prop_map(|(at, to)| Mutation::ChangeChar(at, to)),
        (any::<Index>(), character).prop_map(|(at, to)| Mutation::ChangeChar(at, to)),
        any::<Index>().prop_map(Mutation::CutOff),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_panic(mutations in prop::collection::vec(mutation(), 1..5)) {
        let text = mutations.iter().fold(GOOD.to_owned(), |text, mutation| mutation.apply(&text));
        let _ = record_fitted(&text, "anywhere", "processor.host_operation", 80_000.0);
        if let Err(error) = Scenario::parse(&text, NAME) {
            prop_assert!(!error.problems().is_empty(), "refused without a reason");
            let lines = text.split('\n').count();
            for problem in error.problems() {
                prop_assert!((1..=lines).contains(&problem.line()), "{problem:?}");
                prop_assert!(problem.column() >= 1, "{problem:?}");
                prop_assert!(text.get(problem.span()).is_some(), "{problem:?}");
                prop_assert!(!problem.message().is_empty(), "{problem:?}");
                prop_assert!(!problem.help().is_empty(), "{problem:?}");
                prop_assert!(!problem.label().is_empty(), "{problem:?}");
            }
            prop_assert_eq!(error.source_text(), Some(text.as_str()));
        }
    }
}

//! Questions, and what answers them.

use serde::Deserialize;
use serde_json::{Value, json};
use strewn_report::Curve;

use crate::packet::{Packet, packet};
use crate::refusal::Refusal;
use crate::results::Of;
use crate::source::Source;
use crate::teller::Teller;
use crate::{checked, edit, results, run};

/// Nobody wants to know.
impl Teller for () {
    fn tell(&self, _: &[u8]) {}
}

#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
enum Question {
    Check(Source),
    Set {
        #[serde(flatten)]
        source: Source,
        settings: Vec<(String, Option<String>)>,
    },
    RunArray {
        #[serde(flatten)]
        source: Source,
        array: usize,
    },
    Results {
        #[serde(flatten)]
        source: Source,
        wall_seconds: f64,
        /// Whether arrays are still running: a part of the results is then no shortfall.
        #[serde(default)]
        goes_on: bool,
        #[serde(default)]
        earlier: Vec<Vec<Curve>>,
    },
}

/// Answers a question: a packet with a packet. The JSON of an answer has `ok`, and `message` and `help` if it is false.
#[must_use]
pub fn answer(question: &[u8], teller: &dyn Teller) -> Vec<u8> {
    let (json, attachment) = match answered(question, teller) {
        Ok(answer) => answer,
        Err(refusal) => (refusal.answer(), Vec::new()),
    };
    let attachments = if attachment.is_empty() { vec![] } else { vec![attachment.as_slice()] };
    packet(&json, &attachments)
}

fn answered(question: &[u8], teller: &dyn Teller) -> Result<(Value, Vec<u8>), Refusal> {
    let not_understood =
        |why: String| Refusal::failed(format!("a question was not understood: {why}"));
    let packet = Packet::read(question).ok_or_else(|| not_understood("it is cut short".into()))?;
    let question = serde_json::from_slice(packet.json);
    let json = match question.map_err(|error| not_understood(error.to_string()))? {
        Question::Check(source) => checked::check(&source),
        Question::Set { source, settings } => edit::set(&source, &settings),
        Question::RunArray { source, array } => {
            let (segments, done) = run::array(&source, array, teller)?;
            return Ok((json!({ "ok": true, "segments": segments }), done));
        }
        Question::Results { source, wall_seconds, goes_on, earlier } => {
            let of = Of { wall_seconds, goes_on, earlier: &earlier };
            results::results(&source, &packet.attachments, &of)?
        }
    };
    Ok((json, Vec::new()))
}

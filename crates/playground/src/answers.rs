//! Questions, and what answers them.

use serde::Deserialize;
use serde_json::{Value, json};
use strewn::Failure;

use crate::packet::{Packet, packet};
use crate::source::Source;
use crate::{checked, edit, results, run};

/// Whoever asked, who is told how far the answer is.
pub trait Teller: Sync {
    /// Takes a packet, whose JSON says of what kind it is: `progress`, or `so_far` with an attachment.
    fn tell(&self, packet: &[u8]);
}

/// Nobody wants to know.
impl Teller for () {
    fn tell(&self, _: &[u8]) {}
}

#[derive(Deserialize)]
#[serde(tag = "call", rename_all = "snake_case")]
enum Question {
    About,
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
        #[serde(default)]
        earlier: Vec<String>,
    },
}

/// Answers a question: a packet with a packet. The JSON of an answer has `ok`, and `message` and `help` if it is false.
#[must_use]
pub fn answer(question: &[u8], teller: &dyn Teller) -> Vec<u8> {
    let (json, attachment) = match answered(question, teller) {
        Ok(answer) => answer,
        Err(failure) => (failed(&failure), Vec::new()),
    };
    let attachments = if attachment.is_empty() { vec![] } else { vec![attachment.as_slice()] };
    packet(&json, &attachments)
}

fn answered(question: &[u8], teller: &dyn Teller) -> Result<(Value, Vec<u8>), Failure> {
    let not_understood =
        |why: String| Failure::failed(format!("a question was not understood: {why}"));
    let packet = Packet::read(question).ok_or_else(|| not_understood("it is cut short".into()))?;
    let question = serde_json::from_slice(packet.json);
    let json = match question.map_err(|error| not_understood(error.to_string()))? {
        Question::About => json!({ "ok": true, "version": env!("CARGO_PKG_VERSION") }),
        Question::Check(source) => checked::check(&source),
        Question::Set { source, settings } => edit::set(&source, &settings),
        Question::RunArray { source, array } => {
            let (segments, done) = run::array(&source, array, teller)?;
            return Ok((json!({ "ok": true, "segments": segments }), done));
        }
        Question::Results { source, wall_seconds, earlier } => {
            results::results(&source, &packet.attachments, wall_seconds, &earlier)?
        }
    };
    Ok((json, Vec::new()))
}

/// Says what went wrong, and the remedy.
pub(crate) fn failed(failure: &Failure) -> Value {
    let problems = failure
        .scenario()
        .map(|error| checked::problems(error.source_text().unwrap_or_default(), error.problems()));
    json!({ "ok": false, "message": failure.message(), "help": failure.help(), "problems": problems })
}

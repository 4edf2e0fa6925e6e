//! Servers that are killed under load, whole and with spindles lost.

use std::fs;
use std::thread::{scope, sleep};
use std::time::Duration;

use strewn_testing::Missing;

use crate::array::{Array, Served};
use crate::client::Random;
use crate::model::Model;
use crate::{fio, tools};

/// The regions of a LUN of 64 MiB.
const OURS: std::ops::Range<u64> = 0..40;
const SETTLED: [std::ops::Range<u64>; 3] = [40..46, 46..52, 52..58];
const LOST: std::ops::Range<u64> = 58..64;

struct Load {
    array: Array,
    model: Model,
    random: Random,
    /// The kills are tried without fio too, and then the test is reported as not having run in full.
    fio: Result<(), Missing>,
    /// The round that each of fio's regions is of.
    settled: [Option<u64>; 3],
}

impl Load {
    fn new(what: &str, layout: &str) -> Self {
        Self {
            array: Array::new(layout, 64),
            model: Model::new(OURS),
            random: Random::new(what),
            fio: tools::needs(&["fio"]),
            settled: [None; 3],
        }
    }

    /// Loads the array, and kills its server in the middle of it.
    fn until_killed(&mut self, served: Served, round: u64) {
        let Self { array, model, random, fio, settled } = self;
        let array = &*array;
        let client = served.client();
        let mut of_changes = random.fork();
        let moment = Duration::from_millis(random.below(700));
        let region = random.below(3) as usize;
        scope(|scope| {
            scope.spawn(|| model.change(client, &mut of_changes, u64::MAX));
            let job = fio.is_ok().then(|| {
                fio::write(array, (SETTLED[region].clone(), round));
                settled[region] = Some(round);
                fio::begin(array, (LOST, round))
            });
            sleep(moment);
            served.kill();
            if let Some(job) = job {
                fio::end(job);
            }
        });
        self.array.wait_until_free();
    }

    #[track_caller]
    fn check(&mut self, served: &Served) {
        self.model.check(served);
        let settled = SETTLED.into_iter().zip(self.settled);
        let settled: Vec<fio::Region> =
            settled.filter_map(|(mib, round)| Some((mib, round?))).collect();
        fio::verify(&self.array, &settled);
    }
}

fn killed(layout: &str, rounds: u64) -> Result<(), Missing> {
    let mut load = Load::new(&format!("killed, {layout}"), layout);
    let mut served = load.array.serve(&[]);
    for round in 0..rounds {
        load.until_killed(served, round);
        if round % 4 == 3 {
            // Once more, while it starts.
            let starting = load.array.begin_to_serve(&[]);
            sleep(Duration::from_millis(load.random.below(60)));
            starting.kill();
        }
        served = load.array.serve(&[]);
        load.check(&served);
    }
    println!("{layout}: {} changes were answered", load.model.answered);
    served.terminate();
    load.array.assert_scrubs_clean();
    load.check(&load.array.serve(&[]));
    load.fio
}

pub fn what_was_answered_survives_twenty_kills() -> Result<(), Missing> {
    killed("raid-dp", 20)
}

pub fn what_was_answered_survives_kills_of_raid_4() -> Result<(), Missing> {
    killed("raid-4", 6)
}

fn state(load: &Load, spindle: u64) -> String {
    load.array.status()["spindles"][spindle as usize]["state"].as_str().unwrap().to_owned()
}

pub fn spindles_that_are_lost_with_the_server_are_made_good() -> Result<(), Missing> {
    let mut load = Load::new("spindles lost", "raid-dp");
    let served = load.array.serve(&[]);
    load.until_killed(served, 0);
    let first = load.random.below(8);
    let second = (first + 1 + load.random.below(7)) % 8;
    for (round, lost) in [(1, first), (2, second)] {
        println!("spindle {lost} is lost");
        fs::remove_file(load.array.path(&format!("spindle-{lost:02}"))).unwrap();
        load.array.refused(&["serve", "aged", "--socket", "no.sock"], &["spindle"]);
        let served = load.array.serve(&["--degraded"]);
        load.check(&served);
        assert_eq!(state(&load, lost), "failed");
        load.until_killed(served, round);
    }
    // Without either, and killed once more: now its labels say that they are lost.
    let served = load.array.serve(&["--degraded"]);
    load.check(&served);
    load.until_killed(served, 3);

    // A rebuild that is killed begins anew.
    let words = ["replace", "aged", &first.to_string()];
    let mut replacing = load.array.command(&words).spawn().unwrap();
    sleep(Duration::from_millis(load.random.below(300)));
    replacing.kill().unwrap();
    replacing.wait().unwrap();
    let served = load.array.serve(&["--degraded"]);
    load.check(&served);
    load.until_killed(served, 4);
    if state(&load, first) != "present" {
        load.array.done(&words);
    }
    load.array.done(&["replace", "aged", &second.to_string()]);
    assert_eq!(load.array.status()["condition"], "whole");
    load.array.assert_scrubs_clean();
    load.check(&load.array.serve(&[]));

    // Both are of use: without two others everything is still there.
    for spindle in (0..8).filter(|one| ![first, second].contains(one)).take(2) {
        fs::remove_file(load.array.path(&format!("spindle-{spindle:02}"))).unwrap();
    }
    load.check(&load.array.serve(&["--degraded"]));
    load.fio
}

//! Several processes and one array, and its proper end.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use strewn_testing::Missing;

use crate::array::{Array, MIB};
use crate::client::Random;
use crate::model::Model;

pub fn one_process_has_an_array_at_a_time() -> Result<(), Missing> {
    let array = Array::new("raid-dp", 64);
    let served = array.serve(&[]);
    let aged = array.folder().join("aged").display().to_string();
    let said = ["aged/", "in use"];
    array.refused(&["serve", "aged", "--socket", "other.sock"], &said);
    array.refused(&["serve", &aged, "--tcp", "127.0.0.1:0"], &[&aged, "in use"]);
    array.refused(&["scrub", "aged"], &said);
    array.refused(&["replace", "aged", "3"], &said);
    array.refused(&["fail", "aged", "3"], &said);
    array.refused(&["destroy", "aged", "--yes"], &said);
    assert!(!array.folder().join("other.sock").exists());

    let status = array.status();
    assert_eq!(status["condition"], "whole");
    assert_eq!(status["in_use"], true);
    assert_eq!(status["process"], served.process());
    assert_eq!(status["clean"], false);
    let lines = array.done(&["status", "aged"]);
    assert!(lines.contains(&format!("yes, by process {}", served.process())), "{lines}");

    // None of it disturbs who has it.
    let mut client = served.client();
    client.write(0, &[7; 4_096]);
    assert_eq!(client.read(0, 4_096), [7; 4_096]);
    drop(client);
    served.kill();
    array.wait_until_free();
    // The socket that the first left does not keep the next from its own.
    let served = array.serve(&[]);
    assert_eq!(served.client().read(0, 4_096), [7; 4_096]);
    Ok(())
}

pub fn asked_to_end_it_leaves_everything_on_the_spindles() -> Result<(), Missing> {
    let array = Array::new("raid-dp", 64);
    let mut random = Random::new("asked to end");
    let mut model = Model::new(0..64);
    for signal in ["TERM", "INT", "TERM"] {
        let served = array.serve(&[]);
        model.change(served.client(), &mut random, 2_000);
        // A client that stays, and says nothing more, does not keep it from ending.
        let _client = served.client();
        let (said, took) = served.end(signal);
        println!("{signal}: ended within {took:?}");
        assert!(said.contains("everything is on the spindles"), "{said}");
        assert!(took.as_secs() < 20, "{took:?}");
        let status = array.status();
        assert_eq!(status["clean"], true);
        assert_eq!(status["in_use"], false);
        assert!(!array.socket().exists(), "its socket is left");
        let lines = array.done(&["status", "aged"]);
        assert!(lines.contains("shut down with it"), "{lines}");

        let began = Instant::now();
        let served = array.serve(&[]);
        println!("started again within {:?}", began.elapsed());
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
        model.check(&served);
        served.terminate();
    }
    array.assert_scrubs_clean();
    Ok(())
}

/// Blocks that a drive has lost are computed, and whoever has the array is told of them, each time as often as it is
/// so.
pub fn what_is_wrong_while_it_is_served_is_said() -> Result<(), Missing> {
    let array = Array::new("raid-4", 64);
    let mut random = Random::new("wrong while served");
    // What is written first and never again lies where the damage will be, whatever becomes of the rest.
    let first = random.bytes(6 << 20);
    let mut model = Model::new(6..64);
    let served = array.serve(&[]);
    served.client().write(0, &first);
    model.change(served.client(), &mut random, 2_000);
    let (said, _) = served.terminate();
    assert!(!said.contains("bad blocks"), "{said}");
    let spindle = OpenOptions::new().write(true).open(array.path("spindle-02")).unwrap();
    spindle.write_all_at(&random.bytes(8 << 20), 1 << 20).unwrap();
    let served = array.serve(&[]);
    model.check(&served);
    assert!(served.client().read(0, 6 << 20) == first, "the first 6 MiB");
    let (said, _) = served.terminate();
    assert!(said.contains("bad blocks were read") && said.contains(" 0 are gone"), "{said}");
    array.done(&["scrub", "aged"]);
    let served = array.serve(&[]);
    model.check(&served);
    assert!(served.client().read(0, 6 << 20) == first, "the first 6 MiB");
    let (said, _) = served.terminate();
    assert!(!said.contains("bad blocks"), "{said}");
    Ok(())
}

pub fn asked_to_end_under_load_it_answers_what_it_took() -> Result<(), Missing> {
    let array = Array::new("raid-4", 64);
    let mut random = Random::new("asked to end under load");
    let mut models = [Model::new(0..32), Model::new(32..64)];
    for _ in 0..3 {
        let served = array.serve(&[]);
        let moment = 100 + random.below(400);
        let clients = [served.client(), served.client()];
        std::thread::scope(|scope| {
            for (model, client) in models.iter_mut().zip(clients) {
                let mut random = random.fork();
                scope.spawn(move || model.change(client, &mut random, u64::MAX));
            }
            std::thread::sleep(std::time::Duration::from_millis(moment));
            let (said, took) = served.terminate();
            assert!(said.contains("everything is on the spindles"), "{said}");
            assert!(took.as_secs() < 20, "{took:?}");
        });
        assert_eq!(array.status()["clean"], true);
        let served = array.serve(&[]);
        models.iter_mut().for_each(|model| model.check(&served));
        served.terminate();
    }
    array.assert_scrubs_clean();
    Ok(())
}

pub fn sixteen_clients_each_find_what_they_wrote() -> Result<(), Missing> {
    let array = Array::new("raid-dp", 64);
    let served = array.serve(&[]);
    let mut random = Random::new("sixteen clients");
    let mut models: Vec<Model> =
        (0..16).map(|index| Model::new(index * 4..index * 4 + 4)).collect();
    std::thread::scope(|scope| {
        for model in &mut models {
            let mut random = random.fork();
            let client = served.client();
            scope.spawn(move || model.change(client, &mut random, 500));
        }
    });
    // Clients that go in the middle of a request, and with replies that nobody takes.
    for turn in 0..8 {
        let mut client = served.client();
        client.request(0, 0, 1, 0, 4 * MIB as u32, &[]);
        client.request(1, 0, 2, 0, MIB as u32, &vec![9; 1_000 * turn]);
    }
    models.iter_mut().for_each(|model| model.check(&served));
    served.kill();
    let served = array.serve(&[]);
    models.iter_mut().for_each(|model| model.check(&served));
    Ok(())
}

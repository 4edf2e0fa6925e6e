use strewn_base::Rng;

use super::*;

const READ: Direction = Direction::Read;
const WRITE: Direction = Direction::Write;

fn request(class: Class, direction: Direction, first_sector: u64, sectors: u32) -> Request {
    let owner = first_sector as u32;
    Request { owner, first_sector, sectors, direction, class, is_optional: false }
}

fn write(first_sector: u64, sectors: u32) -> Request {
    request(Class::AsyncWrite, WRITE, first_sector, sectors)
}

fn skip(first_sector: u64, sectors: u32) -> Request {
    Request { is_optional: true, ..write(first_sector, sectors) }
}

fn scheduler(requests: impl IntoIterator<Item = Request>) -> IoScheduler {
    let mut scheduler = IoScheduler::new(SchedulerOptions::default());
    requests.into_iter().for_each(|request| scheduler.push(0, request));
    scheduler
}

/// Owner and length of what is issued at once, by its first sector.
fn issued(scheduler: &mut IoScheduler) -> Vec<(u64, u32)> {
    let mut members = Vec::new();
    std::iter::from_fn(|| scheduler.pop(0, &mut members))
        .map(|issued| (issued.first_sector, issued.sectors))
        .collect()
}

/// Far enough apart that nothing is joined.
fn apart(class: Class, direction: Direction, order: &[u64]) -> Vec<Request> {
    order.iter().map(|at| request(class, direction, at * 100_000, 8)).collect()
}

#[test]
fn sync_requests_go_in_the_order_in_which_they_came() {
    let mut scheduler = scheduler(apart(Class::SyncRead, READ, &[5, 2, 9, 1]));
    let order: Vec<u64> = issued(&mut scheduler).iter().map(|(at, _)| at / 100_000).collect();
    assert_eq!(order, [5, 2, 9, 1]);
}

#[test]
fn async_requests_go_on_from_the_last_sector_within_half_a_second() {
    let mut scheduler = scheduler(apart(Class::SyncRead, READ, &[4]));
    assert_eq!(issued(&mut scheduler), [(400_000, 8)]);
    for one in apart(Class::AsyncWrite, WRITE, &[5, 2, 9, 1]) {
        scheduler.push(0, one);
    }
    for one in apart(Class::AsyncWrite, WRITE, &[3, 6]) {
        scheduler.push(1 << 30, one);
    }
    let mut order = Vec::new();
    loop {
        let now = issued(&mut scheduler);
        if now.is_empty() {
            break;
        }
        now.iter().for_each(|_| scheduler.completed(Class::AsyncWrite));
        order.extend(now.iter().map(|(at, _)| at / 100_000));
    }
    assert_eq!(order, [5, 9, 1, 2, 3, 6]);
}

#[test]
fn each_class_has_its_limit() {
    let places: Vec<u64> = (0..20).collect();
    let requests = |class, direction| apart(class, direction, &places);
    let of = |class, direction, dirty| {
        let mut scheduler = scheduler(requests(class, direction));
        let mut members = Vec::new();
        std::iter::from_fn(|| scheduler.pop(dirty, &mut members)).count()
    };
    assert_eq!(of(Class::SyncRead, READ, 0), 10);
    assert_eq!(of(Class::SyncWrite, WRITE, 0), 10);
    assert_eq!(of(Class::AsyncRead, READ, 0), 3);
    assert_eq!(of(Class::Scrub, READ, 0), 1);
    assert_eq!(of(Class::Rebuild, WRITE, 0), 1);
    // A resilver's writes are those of a transaction group.
    assert_eq!(of(Class::Scrub, WRITE, 100), 10);
    let writes = [0, 29, 30, 33, 34, 45, 59, 60, 100];
    assert_eq!(
        writes.map(|dirty| of(Class::AsyncWrite, WRITE, dirty)),
        [2, 2, 2, 2, 3, 6, 9, 10, 10]
    );
}

#[test]
fn a_drive_without_interactive_load_gets_more_of_a_scrub() {
    let places: Vec<u64> = (0..40).collect();
    let mut scheduler = scheduler(apart(Class::Scrub, READ, &places));
    for completed in 0..5 {
        assert_eq!(issued(&mut scheduler).len(), 1, "after {completed}");
        scheduler.completed(Class::Scrub);
    }
    assert_eq!(issued(&mut scheduler).len(), 3);
}

#[test]
fn interactive_load_lets_five_of_a_scrub_pass_for_each_that_completes() {
    let places: Vec<u64> = (0..40).collect();
    let mut scheduler = scheduler(apart(Class::Scrub, READ, &places));
    let reads = apart(Class::SyncRead, READ, &[100, 101]);
    reads.into_iter().for_each(|read| scheduler.push(0, read));
    // One is issued, and then no other while the reads last.
    assert_eq!(issued(&mut scheduler).len(), 3);
    scheduler.completed(Class::Scrub);
    assert_eq!(issued(&mut scheduler).len(), 0);
    scheduler.completed(Class::SyncRead);
    for _ in 0..5 {
        assert_eq!(issued(&mut scheduler).len(), 1);
        scheduler.completed(Class::Scrub);
    }
    assert_eq!(issued(&mut scheduler).len(), 0);
}

#[test]
fn classes_below_their_minimum_take_turns() {
    let mut requests = apart(Class::SyncRead, READ, &[1, 2, 3]);
    requests.extend(apart(Class::AsyncRead, READ, &[11, 12, 13]));
    requests.extend(apart(Class::AsyncWrite, WRITE, &[21, 22, 23]));
    let mut scheduler = scheduler(requests);
    let order: Vec<u64> = issued(&mut scheduler).iter().map(|(at, _)| at / 100_000).collect();
    // Three of sync reads, one of async reads and two of async writes in turns; then async reads, up to their maximum.
    assert_eq!(order, [1, 11, 21, 2, 22, 3, 12, 13]);
}

#[test]
fn reads_are_joined_over_gaps_and_writes_are_not() {
    let read = |first, sectors| request(Class::AsyncRead, READ, first, sectors);
    let mut reads = scheduler([read(0, 8), read(72, 8), read(145, 8)]);
    assert_eq!(issued(&mut reads), [(0, 80), (145, 8)]);
    let mut writes = scheduler([write(0, 8), write(8, 8), write(17, 8)]);
    assert_eq!(issued(&mut writes), [(0, 16), (17, 8)]);
}

#[test]
fn requests_of_all_interactive_classes_are_joined() {
    let read = |class, first| request(class, READ, first, 8);
    let others = [read(Class::AsyncRead, 8), read(Class::SyncRead, 16), read(Class::Scrub, 24)];
    let mut scheduler = scheduler(others);
    let mut members = Vec::new();
    let first = scheduler.pop(0, &mut members).unwrap();
    assert_eq!((first.class, first.first_sector, first.sectors), (Class::SyncRead, 8, 16));
    assert_eq!(members, [others[0], others[1]]);
    assert_eq!(issued(&mut scheduler), [(24, 8)]);
}

#[test]
fn skip_sectors_are_written_if_they_join_others() {
    let mut joined = scheduler([write(0, 8), skip(8, 8), write(16, 8)]);
    let mut members = Vec::new();
    let command = joined.pop(0, &mut members).unwrap();
    assert_eq!((command.first_sector, command.sectors, members.len()), (0, 24, 3));
    assert!(members[1].is_optional);

    let sync_write = Request { class: Class::SyncWrite, ..write(8, 8) };
    let mut at_both_ends = scheduler([skip(0, 8), sync_write, write(16, 8), skip(24, 8)]);
    assert_eq!(issued(&mut at_both_ends), [(8, 16)]);
    assert_eq!(at_both_ends.waiting(), 0);
    // OpenZFS keeps it at the start if it was its turn.
    let mut chosen = scheduler([skip(0, 8), write(8, 8), write(16, 8), skip(24, 8)]);
    assert_eq!(issued(&mut chosen), [(0, 24)]);
    let mut alone = scheduler([skip(0, 8), skip(8, 8), skip(100, 8)]);
    assert_eq!(issued(&mut alone), []);
    assert_eq!(alone.waiting(), 0);
}

/// The drive itself may join what is too long for one command, if the gap is closed.
#[test]
fn skip_sectors_are_written_at_the_end_of_what_is_full() {
    let half = 1_024;
    let full = [write(0, half), write(1_024, half), skip(2_048, 8)];
    let mut bridged = scheduler(full.into_iter().chain([write(2_056, 8)]));
    assert_eq!(issued(&mut bridged), [(0, 2_056), (2_056, 8)]);
    let mut too_wide = scheduler(full.into_iter().chain([skip(2_056, 8), write(2_064, 8)]));
    assert_eq!(issued(&mut too_wide), [(0, 2_048), (2_048, 24)]);
    let interrupted = [write(0, half), write(1_024, half), skip(2_048, 4), write(2_054, 8)];
    assert_eq!(issued(&mut scheduler(interrupted)), [(0, 2_048), (2_054, 8)]);
}

/// What follows a command of the greatest length, and leads to another write, begins the next command.
#[test]
fn a_skip_sector_after_what_is_full_is_written_with_what_follows() {
    let options = SchedulerOptions { aggregation_bytes: MOST_BYTES, ..Default::default() };
    let mut scheduler = IoScheduler::new(options);
    let half = 16_384;
    let sync_write = |first| Request { class: Class::SyncWrite, ..write(first, 8) };
    // After this one, it is the turn of asynchronous writes.
    scheduler.push(0, sync_write(900_000));
    assert_eq!(issued(&mut scheduler), [(900_000, 8)]);
    for one in [write(0, half), write(16_384, half), skip(32_768, 8), sync_write(32_776)] {
        scheduler.push(0, one);
    }
    assert_eq!(issued(&mut scheduler), [(0, 32_768), (32_768, 16)]);
}

#[test]
fn a_prefetch_that_is_waited_for_changes_its_class() {
    let mut scheduler = scheduler(apart(Class::AsyncRead, READ, &[1, 2, 3, 4, 5, 6]));
    assert_eq!(issued(&mut scheduler).len(), 3);
    scheduler.change_class(0, 600_000, Class::SyncRead);
    assert_eq!(issued(&mut scheduler), [(600_000, 8)]);
    assert_eq!(scheduler.waiting(), 2);
}

/// Eight times as many prefetches take some eight times as long to hurry, not sixty-four times.
#[test]
fn hurrying_a_prefetch_takes_no_pass_over_all() {
    let time = |requests: u64| {
        let order: Vec<u64> = (0..requests).collect();
        let mut scheduler = IoScheduler::new(SchedulerOptions::default());
        for at in &order {
            let request = request(Class::AsyncRead, READ, at * 100, 8);
            scheduler.push(0, request);
        }
        let began = std::time::Instant::now();
        for at in order {
            scheduler.change_class(0, at as u32 * 100, Class::SyncRead);
        }
        began.elapsed()
    };
    let (few, many) = (time(2_000), time(16_000));
    assert!(many < few * 32, "{few:?}, {many:?}");
}

/// What is no prefetch keeps its class, whoever owns it.
#[test]
fn only_prefetches_change_their_class() {
    let mut scheduler = scheduler(apart(Class::Scrub, READ, &[1, 2]));
    scheduler.change_class(0, 100_000, Class::SyncRead);
    let mut members = Vec::new();
    let first = scheduler.pop(0, &mut members).unwrap();
    assert_eq!((first.class, first.first_sector), (Class::Scrub, 100_000));
}

/// What waits and what is active, in no order.
#[derive(Default)]
struct Model {
    waiting: Vec<Request>,
    active: Vec<Issued>,
    owners: u32,
}

impl Model {
    fn new_request(&mut self, random: &mut Rng) -> Request {
        self.owners += 1;
        let direction = Direction::ALL[random.below(2) as usize];
        let class = Class::ALL[random.below(6) as usize];
        let is_optional = direction == WRITE && random.below(4) == 0;
        let first_sector = random.below(4_000) * 8;
        let sectors = 8 * (1 + random.below(40) as u32 * u32::from(!is_optional));
        let owner = self.owners;
        let request = Request { owner, first_sector, sectors, direction, class, is_optional };
        self.waiting.push(request);
        request
    }

    fn active_in(&self, class: Class) -> u32 {
        self.active.iter().filter(|issued| issued.class == class).count() as u32
    }

    /// Members are what waits, in order, close enough to each other, and all that the command covers.
    fn on_issued(&mut self, issued: Issued, members: &[Request], dirty_percent: u32) {
        let mut end = issued.first_sector;
        let most_gap = if issued.direction == READ { READ_GAP_BYTES / SECTOR_BYTES } else { 0 };
        for member in members {
            let waiting = self.waiting.iter().position(|waiting| waiting.owner == member.owner);
            let waiting = self.waiting.swap_remove(waiting.expect("a member is issued once"));
            let class = waiting.class.queued_as(waiting.direction);
            assert_eq!(*member, Request { class, ..waiting });
            assert_eq!(member.direction, issued.direction);
            assert!(follows_within(end, member.first_sector, most_gap), "{issued:?} {members:?}");
            end = member.first_sector + u64::from(member.sectors);
        }
        assert_eq!(end, issued.first_sector + u64::from(issued.sectors));
        let mut mandatory = members.iter().filter(|member| !member.is_optional);
        assert!(members.iter().any(|member| member.class == issued.class));
        if let Some(last) = mandatory.next_back() {
            let without_trailing =
                last.first_sector + u64::from(last.sectors) - issued.first_sector;
            assert!(members.len() == 1 || without_trailing <= (1 << 20) / SECTOR_BYTES);
            assert!(
                end - last.first_sector - u64::from(last.sectors) <= WRITE_GAP_BYTES / SECTOR_BYTES
            );
        }
        self.check_limits(issued.class, dirty_percent);
        self.active.push(issued);
    }

    /// Another command of a class may be issued.
    fn check_limits(&self, class: Class, dirty_percent: u32) {
        let background = [Class::Scrub, Class::Rebuild];
        let is_busy = self.active.iter().any(|issued| !background.contains(&issued.class));
        let most = match class {
            Class::SyncRead | Class::SyncWrite => 10,
            Class::AsyncRead => 3,
            Class::AsyncWrite => 2 + 8 * (dirty_percent.clamp(30, 60) - 30) / 30,
            Class::Scrub | Class::Rebuild => {
                if is_busy {
                    1
                } else {
                    3
                }
            }
        };
        assert!(self.active_in(class) < most, "{class:?} at {dirty_percent} % dirty");
    }
}

#[test]
fn random_requests_are_issued_once_within_limits() {
    for seed in 0..40 {
        let mut random = Rng::new(seed);
        let mut model = Model::default();
        let mut scheduler = IoScheduler::new(SchedulerOptions::default());
        let mut members = Vec::new();
        let mut dirty_percent = 100;
        for step in 0..3_000_u64 {
            let is_draining = step >= 2_000;
            if !is_draining && random.below(3) > 0 {
                scheduler.push(step * 1_000_000, model.new_request(&mut random));
            } else if !model.active.is_empty() {
                let done = random.below(model.active.len() as u64) as usize;
                scheduler.completed(model.active.swap_remove(done).class);
            }
            if step % 64 == 0 {
                dirty_percent = random.below(101) as u32;
            }
            while let Some(issued) = scheduler.pop(dirty_percent, &mut members) {
                model.on_issued(issued, &members, dirty_percent);
            }
            assert_eq!(scheduler.active() as usize, model.active.len());
        }
        assert!(model.waiting.iter().all(|waiting| waiting.is_optional), "seed {seed}");
        assert_eq!(scheduler.waiting(), 0, "seed {seed}");
    }
}

#[test]
fn a_saved_queue_goes_on_as_if_it_had_not_been() {
    use strewn_base::state::{StateReader, StateWriter};
    let mut random = Rng::new(7);
    let mut model = Model::default();
    let mut scheduler = scheduler((0..200).map(|_| model.new_request(&mut random)));
    assert_eq!(scheduler.waiting(), 200);
    issued(&mut scheduler);
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    writer.value(&scheduler).unwrap();
    writer.finish().unwrap();
    let mut restored: IoScheduler = StateReader::new(&bytes).value().unwrap();
    for _ in 0..5 {
        scheduler.completed(Class::SyncRead);
        restored.completed(Class::SyncRead);
        assert_eq!(issued(&mut scheduler), issued(&mut restored));
    }
}

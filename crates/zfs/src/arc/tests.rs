use strewn_base::Rng;
use strewn_base::state::{StateReader, StateWriter};

use super::*;

const MS: u64 = 1_000_000;
const STATES: [State; 5] =
    [State::Anonymous, State::Mru, State::Mfu, State::MruGhost, State::MfuGhost];

fn data(key: u64) -> Block {
    Block { key, bytes: 4_096, kind: Kind::Data }
}

fn cache(blocks: u64) -> Arc {
    Arc::new(ArcOptions { limit_bytes: blocks * 4_096, overflow_bytes: 0 })
}

/// Accesses a block and reads it if it must be.
fn read(arc: &mut Arc, now_ns: u64, block: Block) -> Found {
    let found = arc.access(now_ns, block, Intent::Demand);
    arc.on_read_done(block.key);
    found
}

#[test]
fn a_second_use_within_62_ms_is_the_same_use() {
    let mut arc = cache(10);
    for (at_ms, mfu) in [(0, 0), (62, 0), (63, 4_096)] {
        read(&mut arc, at_ms * MS, data(1));
        assert_eq!(arc.sizes(false).mfu, mfu, "at {at_ms} ms");
    }
}

#[test]
fn a_prefetched_block_is_used_once_by_its_first_demand() {
    let mut arc = cache(10);
    assert_eq!(arc.access(0, data(1), Intent::Prefetch), Found::Miss);
    assert_eq!(arc.access(0, data(1), Intent::Demand), Found::InFlight);
    arc.on_read_done(1);
    assert_eq!(arc.access(0, data(2), Intent::Prefetch), Found::Miss);
    arc.on_read_done(2);
    for (at_ms, mfu) in [(100, [false, true]), (162, [false, true]), (163, [true, true])] {
        assert_eq!(read(&mut arc, at_ms * MS, data(2)), Found::Hit);
        assert_eq!(arc.blocks.keys(State::Mfu, false) == [2], mfu[0], "at {at_ms} ms");
    }
    assert_eq!(arc.sizes(false).mru, 4_096);
}

/// That a list has nothing to evict is remembered only until something else comes into it, or a second is over.
#[test]
fn metadata_among_young_indirect_blocks_is_evicted_alone() {
    let mut arc = cache(2);
    let indirect = |key| Block { kind: Kind::Indirect, ..data(key) };
    for key in 1..4 {
        read(&mut arc, 0, indirect(key));
    }
    read(&mut arc, 10 * MS, data(4));
    read(&mut arc, 20 * MS, Block { kind: Kind::Metadata, ..data(5) });
    read(&mut arc, 30 * MS, indirect(6));
    assert!((1..4).all(|key| arc.contains(key)) && !arc.contains(5));
    for key in 7..10 {
        read(&mut arc, 1_000 * MS + key * MS, data(key));
    }
    assert!((1..4).all(|key| !arc.contains(key)) && arc.contains(6));
}

#[test]
fn prefetched_and_indirect_blocks_stay_for_a_second() {
    let mut arc = cache(4);
    arc.access(0, data(1), Intent::Prefetch);
    arc.on_read_done(1);
    read(&mut arc, 0, Block { kind: Kind::Indirect, ..data(2) });
    for key in 3..30 {
        read(&mut arc, 999 * MS, data(key));
        assert!(arc.contains(1) && arc.contains(2), "key {key}");
    }
    for key in 30..60 {
        read(&mut arc, 1_000 * MS, data(key));
    }
    assert!(!arc.contains(1));
}

#[test]
fn a_dirty_block_stays_until_all_its_versions_are_written() {
    let mut arc = cache(4);
    arc.make_dirty(0, data(1));
    arc.make_dirty(0, data(1));
    arc.on_written(0, 1);
    for key in 2..30 {
        read(&mut arc, key * MS, data(key));
    }
    assert!(arc.contains(1));
    assert_eq!(arc.bytes(), 4 * 4_096);
    arc.on_written(30 * MS, 1);
    assert_eq!(arc.sizes(false).anonymous, 0);
    for key in 30..60 {
        read(&mut arc, key * MS, data(key));
    }
    assert!(!arc.contains(1));
}

#[test]
fn dirty_blocks_may_exceed_the_limit() {
    let mut arc = cache(4);
    (0..10).for_each(|key| arc.make_dirty(0, data(key)));
    assert_eq!(arc.bytes(), 10 * 4_096);
    (0..10).for_each(|key| arc.on_written(0, key));
    read(&mut arc, 2 * MS, data(11));
    assert_eq!(arc.bytes(), 4 * 4_096);
}

#[test]
fn a_scan_of_twice_the_cache_leaves_the_frequent_blocks() {
    let mut arc = cache(1_000);
    for round in 0..3 {
        for key in 0..400 {
            read(&mut arc, round * 1_000 * MS, data(key));
        }
    }
    for key in 10_000..12_000 {
        read(&mut arc, 5_000 * MS, data(key));
    }
    assert!((0..400).all(|key| arc.contains(key)));
    assert_eq!(arc.bytes(), 1_000 * 4_096);
}

#[test]
fn ghosts_move_the_share_of_their_list() {
    let mut arc = cache(1_000);
    // Two thirds of the room are used often, so that the rest is too small for what comes back after 600 others.
    let mut now_ns = 0;
    for round in 0..40 {
        for key in 0..600 {
            now_ns += MS;
            read(&mut arc, now_ns, data(key));
        }
        if round == 2 {
            assert_eq!(arc.shares().mru_data, WHOLE / 2);
        }
    }
    let before = arc.shares().mru_data;
    for key in 0..20_000 {
        now_ns += MS;
        read(&mut arc, now_ns, data(100_000 + key));
        if key >= 700 {
            // The second use of a block, after the MRU list has lost it.
            read(&mut arc, now_ns, data(100_000 + key - 700));
        }
    }
    assert!(arc.shares().mru_data > before, "{:?} after {before}", arc.shares());
}

#[test]
fn ghosts_of_metadata_take_room_from_data() {
    let mut arc = cache(1_000);
    let metadata = |key| Block { kind: Kind::Metadata, ..data(key) };
    let mut now_ns = 0;
    for round in 0..30 {
        for key in 0..500 {
            now_ns += MS;
            read(&mut arc, now_ns, metadata(key));
            read(&mut arc, now_ns, data(1_000_000 + round * 500 + key));
        }
    }
    assert!(arc.shares().metadata > WHOLE / 2);
    assert!(arc.resident_bytes(true) > 450 * 4_096, "{:?}", arc.sizes(true));
}

#[test]
fn shares_stay_within_their_ends() {
    let (mut low, mut high) = (WHOLE / 2, WHOLE / 2);
    for _ in 0..10_000 {
        low = adapted(low, 1 << 20, 0, 1 << 20, 100);
        high = adapted(high, 1 << 20, 1 << 20, 0, 100);
    }
    assert!(low < WHOLE / 1_000 && high > WHOLE - WHOLE / 1_000 && high <= WHOLE);
    assert_eq!(adapted(WHOLE / 2, 1 << 20, 1 << 10, 0, 100), WHOLE / 2 + (WHOLE >> 10));
    assert_eq!(adapted(WHOLE / 2, 1 << 20, 0, 1 << 10, 500), WHOLE / 2 - (WHOLE >> 10) / 5);
    // Close to its end, it moves a third as far.
    let close = WHOLE / 8 * 7;
    assert_eq!(adapted(close, 1 << 20, 3 << 10, 0, 100), close + (WHOLE >> 10));
    assert_eq!(adapted(WHOLE - close, 1 << 20, 0, 3 << 10, 100), WHOLE - close - (WHOLE >> 10));
    // However much was accessed, it moves by a 32nd.
    assert_eq!(adapted(WHOLE / 2, 1 << 20, 1 << 20, 0, 100), WHOLE / 2 + WHOLE / 32);
}

#[derive(Debug, Clone)]
struct ModelBlock {
    block: Block,
    state: State,
    accessed_ms: i64,
    dirty: u32,
    prefetched: bool,
    reading: bool,
}

/// All blocks and ghosts, the least recently moved first.
struct Model {
    options: ArcOptions,
    all: Vec<ModelBlock>,
    /// Shares of metadata, of MRU data and of MRU metadata.
    shares: [u64; 3],
    /// By state and kind.
    ghost_hits: [[u64; 2]; 5],
    ghost_targets: [[u64; 2]; 5],
    stalled_ms: i64,
}

impl Model {
    fn new(options: ArcOptions) -> Self {
        let (ghost_hits, ghost_targets) = ([[0; 2]; 5], [[0; 2]; 5]);
        let shares = [1 << 30, 1 << 31, 1 << 31];
        Self { options, all: Vec::new(), shares, ghost_hits, ghost_targets, stalled_ms: -1 }
    }

    fn is_metadata(block: &Block) -> bool {
        block.kind != Kind::Data
    }

    fn bytes(&self, states: &[State], kinds: &[bool]) -> u64 {
        let is_meant = |one: &&ModelBlock| {
            states.contains(&one.state) && kinds.contains(&Self::is_metadata(&one.block))
        };
        self.all.iter().filter(is_meant).map(|one| u64::from(one.block.bytes)).sum()
    }

    fn resident(&self, kinds: &[bool]) -> u64 {
        self.bytes(&[State::Anonymous, State::Mru, State::Mfu], kinds)
    }

    fn over(&self) -> i64 {
        self.resident(&[false, true]) as i64 - self.options.limit_bytes as i64
    }

    fn take(&mut self, key: u64) -> Option<ModelBlock> {
        let at = self.all.iter().position(|one| one.block.key == key)?;
        Some(self.all.remove(at))
    }

    fn access(&mut self, now_ms: i64, block: Block, intent: Intent) -> Found {
        let prefetched = intent == Intent::Prefetch;
        let place = self.all.iter().position(|one| one.block.key == block.key);
        let Some(mut one) = self.take(block.key) else {
            let (state, reading, dirty) = (State::Mru, true, 0);
            let accessed_ms = now_ms;
            self.all.push(ModelBlock { block, state, accessed_ms, dirty, prefetched, reading });
            self.make_room(now_ms);
            return Found::Miss;
        };
        let mut place = place.unwrap();
        let was_prefetched = one.prefetched;
        if one.state == State::Anonymous {
            self.all.insert(place, one);
            return Found::Hit;
        }
        one.prefetched = prefetched;
        if one.state.is_ghost() {
            let kind = usize::from(Self::is_metadata(&one.block));
            self.ghost_hits[one.state as usize][kind] += u64::from(one.block.bytes);
            let recent = one.state == State::MruGhost && was_prefetched;
            one.state = if recent { State::Mru } else { State::Mfu };
            (one.reading, one.accessed_ms, one.block.bytes) = (true, now_ms, block.bytes);
            self.all.push(one);
            self.make_room(now_ms);
            return Found::GhostHit;
        }
        if one.reading {
            one.accessed_ms = now_ms;
            self.all.insert(place, one);
            return Found::InFlight;
        }
        if !prefetched {
            place = self.all.len();
        }
        if one.state == State::Mfu || was_prefetched {
            one.accessed_ms = now_ms;
        } else if now_ms - one.accessed_ms > 62 {
            (one.state, one.accessed_ms, place) = (State::Mfu, now_ms, self.all.len());
        }
        self.all.insert(place, one);
        Found::Hit
    }

    fn on_read_done(&mut self, key: u64) {
        let Some(place) = self.all.iter().position(|one| one.block.key == key) else { return };
        if self.all[place].reading {
            let one = self.all.remove(place);
            self.all.push(ModelBlock { reading: false, ..one });
        }
    }

    fn make_dirty(&mut self, now_ms: i64, block: Block) {
        let dirty = 1 + self.take(block.key).map_or(0, |one| one.dirty);
        let (state, prefetched, reading) = (State::Anonymous, false, false);
        let accessed_ms = now_ms;
        self.all.push(ModelBlock { block, state, accessed_ms, dirty, prefetched, reading });
        self.make_room(now_ms);
    }

    fn on_written(&mut self, now_ms: i64, key: u64) {
        let is_meant = |one: &ModelBlock| one.block.key == key && one.dirty > 0;
        let Some(place) = self.all.iter().position(is_meant) else { return };
        let mut one = self.all.remove(place);
        one.dirty -= 1;
        if one.dirty == 0 {
            (one.state, one.accessed_ms) = (State::Mru, now_ms);
        }
        self.all.push(one);
    }

    fn remove(&mut self, key: u64) {
        self.all.retain(|one| one.block.key != key || one.reading);
    }

    fn make_room(&mut self, now_ms: i64) {
        if self.over() <= self.options.overflow_bytes as i64 || self.stalled_ms == now_ms {
            return;
        }
        let hit = std::mem::take(&mut self.ghost_hits);
        let (mru, mfu) = (hit[State::MruGhost as usize], hit[State::MfuGhost as usize]);
        let targets = &self.ghost_targets;
        let ghosts = |kind: usize| {
            targets[State::MruGhost as usize][kind] + targets[State::MfuGhost as usize][kind]
        };
        let (in_all, of_data, of_metadata) = (ghosts(0) + ghosts(1), ghosts(0), ghosts(1));
        let [metadata, mru_data, mru_metadata] = self.shares;
        self.shares = [
            adapted(metadata, in_all, mru[1] + mfu[1], mru[0] + mfu[0], 500),
            adapted(mru_data, of_data, mru[0], mfu[0], 100),
            adapted(mru_metadata, of_metadata, mru[1], mfu[1], 100),
        ];
        loop {
            let before = self.over();
            self.evict(now_ms);
            if self.over() == before || self.over() <= 0 {
                break;
            }
        }
        self.stalled_ms = if self.over() > 0 { now_ms } else { -1 };
    }

    fn evict(&mut self, now_ms: i64) {
        let limit = self.options.limit_bytes;
        let part = |bytes: u64, share: u64| ((bytes as u128 * share as u128) >> 32) as i64;
        let [metadata, mru_data, mru_metadata] = self.shares;
        let recent = [State::Anonymous, State::Mru];

        let target = part(part(limit, metadata) as u64, mru_metadata);
        let excess = self.bytes(&recent, &[true]) as i64 - target;
        self.evict_from(State::Mru, true, excess.min(self.over()), now_ms);
        let excess = self.resident(&[true]) as i64 - part(limit, metadata);
        self.evict_from(State::Mfu, true, excess.min(self.over()), now_ms);
        let left = limit.saturating_sub(self.resident(&[true]));
        let excess = self.bytes(&recent, &[false]) as i64 - part(left, mru_data);
        self.evict_from(State::Mru, false, excess.min(self.over()), now_ms);
        self.evict_from(State::Mfu, false, self.over(), now_ms);

        for is_metadata in [false, true] {
            for (ghost, own) in [(State::MruGhost, &recent[..]), (State::MfuGhost, &[State::Mfu])] {
                let others = self.resident(&[false, true]) - self.bytes(own, &[is_metadata]);
                self.ghost_targets[ghost as usize][usize::from(is_metadata)] = others / 2;
                let excess = self.bytes(&[ghost], &[is_metadata]) as i64 - (others / 2) as i64;
                self.evict_from(ghost, is_metadata, excess, now_ms);
            }
        }
    }

    fn evict_from(&mut self, state: State, is_metadata: bool, mut bytes: i64, now_ms: i64) {
        let is_listed = |one: &ModelBlock| {
            one.state == state && !one.reading && Self::is_metadata(&one.block) == is_metadata
        };
        let keys: Vec<u64> =
            self.all.iter().filter(|one| is_listed(one)).map(|one| one.block.key).collect();
        for key in keys {
            let place = self.all.iter().position(|one| one.block.key == key).unwrap();
            let one = self.all[place].clone();
            let is_protected = one.prefetched || one.block.kind == Kind::Indirect;
            if bytes <= 0 {
                return;
            }
            if !state.is_ghost() && is_protected && now_ms - one.accessed_ms < 1_000 {
                continue;
            }
            self.all.remove(place);
            if !state.is_ghost() {
                self.all.push(ModelBlock { state: state.ghost(), ..one.clone() });
            }
            bytes -= i64::from(one.block.bytes);
        }
    }

    fn assert_like(&self, arc: &Arc, context: &str) {
        for state in STATES {
            for is_metadata in [false, true] {
                let bytes = self.bytes(&[state], &[is_metadata]);
                assert_eq!(arc.blocks.bytes(state, is_metadata), bytes, "{context}, {state:?}");
                let is_listed = |one: &&ModelBlock| {
                    let is_here =
                        one.state == state && Self::is_metadata(&one.block) == is_metadata;
                    is_here && !one.reading && state != State::Anonymous
                };
                let keys: Vec<u64> =
                    self.all.iter().filter(is_listed).map(|one| one.block.key).collect();
                assert_eq!(arc.blocks.keys(state, is_metadata), keys, "{context}, {state:?}");
            }
        }
        let ArcShares { metadata, mru_data, mru_metadata } = arc.shares();
        assert_eq!([metadata, mru_data, mru_metadata], self.shares, "{context}");
        assert_eq!(arc.bytes(), self.resident(&[false, true]), "{context}");
    }
}

/// A block whose size and kind follow from its key, mostly a popular one. Some share a chain of the table.
fn random_block(random: &mut Rng) -> Block {
    let keys = 1 + random.below(400);
    let number = random.below(keys);
    let kind = [Kind::Data, Kind::Data, Kind::Metadata, Kind::Indirect][(number % 4) as usize];
    let key = Rng::new(number).bits();
    Block { key, bytes: 512 * (1 + (number % 7) as u32), kind }
}

fn saved_and_restored(arc: &Arc) -> Arc {
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    writer.value(arc).unwrap();
    writer.finish().unwrap();
    let mut reader = StateReader::new(&bytes);
    let restored = reader.value().unwrap();
    reader.finish().unwrap();
    restored
}

#[test]
fn random_use_is_that_of_a_plain_model() {
    for seed in 0..12 {
        let mut random = Rng::new(seed);
        let limit_bytes = 10_000 * (1 + seed % 8);
        let options = ArcOptions { limit_bytes, overflow_bytes: (seed % 3) * 3_000 };
        let (mut arc, mut model) = (Arc::new(options), Model::new(options));
        let mut now_ms = 0;
        for step in 0..3_000 {
            now_ms += random.below(3) * random.below(40);
            let now_ns = now_ms * MS + random.below(MS);
            let block = random_block(&mut random);
            let key = block.key;
            match random.below(16) {
                0..8 => {
                    let prefetches = random.below(4) == 0;
                    let intent = if prefetches { Intent::Prefetch } else { Intent::Demand };
                    let found = arc.access(now_ns, block, intent);
                    assert_eq!(found, model.access(now_ms as i64, block, intent));
                    if random.below(4) > 0 {
                        arc.on_read_done(key);
                        model.on_read_done(key);
                    }
                }
                8..12 => {
                    arc.on_read_done(key);
                    model.on_read_done(key);
                }
                12 => {
                    arc.make_dirty(now_ns, block);
                    model.make_dirty(now_ms as i64, block);
                }
                13 | 14 => {
                    arc.on_written(now_ns, key);
                    model.on_written(now_ms as i64, key);
                }
                _ => {
                    arc.remove(key);
                    model.remove(key);
                }
            }
            if step % 500 == 499 {
                arc = saved_and_restored(&arc);
            }
            model.assert_like(&arc, &format!("seed {seed}, step {step}"));
        }
    }
}

//! Where blocks of dRAID pools lie on their drives: as real pools have them, sector by sector.

use strewn_zfs::{Column, Draid, DraidLayout, MetaslabSize, Redundancy, Stripe, Striped, Vdev};

use crate::recording::read;

/// A recorded pool: its vdev, and what was found.
struct Found {
    vdev: Vdev,
    layout: DraidLayout,
    lines: Vec<String>,
}

fn numbers(text: &str) -> Vec<u64> {
    text.split([' ', ':']).filter_map(|field| field.parse().ok()).collect()
}

/// The pools, each with the lines up to the next `D`.
fn pools() -> Vec<Found> {
    let mut pools: Vec<Found> = Vec::new();
    for line in read("draid-places.gz").lines() {
        if let Some(fields) = line.strip_prefix("D ") {
            let [parity, data, children, spares, ashift, drive_bytes, bytes] = numbers(fields)[..]
            else {
                panic!("{line}")
            };
            let in_u8 = |number: u64| u8::try_from(number).unwrap();
            let draid = Draid {
                children: in_u8(children),
                data: in_u8(data),
                parity: in_u8(parity),
                spares: in_u8(spares),
            };
            let ashift = in_u8(ashift);
            let redundancy = Redundancy::Draid(draid);
            let vdev = Vdev { redundancy, ashift, drive_bytes, scale_down: 1 };
            assert_eq!(vdev.bytes(), bytes, "{draid:?}");
            pools.push(Found { vdev, layout: vdev.draid().unwrap(), lines: Vec::new() });
        } else if let Some(pool) = pools.last_mut() {
            pool.lines.push(line.to_owned());
        }
    }
    assert_eq!(pools.len(), 5);
    pools
}

impl Found {
    fn lines(&self, kind: char) -> impl Iterator<Item = &str> {
        self.lines.iter().filter_map(move |line| line.strip_prefix(kind)?.strip_prefix(' '))
    }

    fn stripes(&self, offset: u64, bytes: u64) -> Vec<Stripe> {
        Striped::Draid(self.layout).stripes(offset, bytes).collect()
    }
}

/// The sectors of columns, one behind the other.
fn sectors(columns: impl Iterator<Item = Column>) -> impl Iterator<Item = (u64, u64)> {
    columns.flat_map(|column| {
        let sectors = column.first_sector..column.first_sector + u64::from(column.sectors);
        sectors.map(move |sector| (column.drive.into(), sector))
    })
}

/// Contents were looked for on all drives. Data are those that were written; parity was computed from them by another
/// program.
#[test]
fn each_sector_of_data_and_parity_is_where_the_real_pool_has_it() {
    let (mut blocks, mut in_two_groups, mut found, mut elsewhere) = (0, 0, 0, 0);
    for pool in pools() {
        for line in pool.lines('B') {
            let mut fields = line.split(' ');
            let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
            let (_, offset, bytes) = (next(), next(), next());
            let stripes = pool.stripes(offset, bytes);
            in_two_groups += stripes.len() - 1;
            let expected: Vec<(u64, u64)> = stripes
                .iter()
                .flat_map(|stripe| sectors(stripe.parity()).chain(sectors(stripe.data())))
                .collect();
            let real: Vec<Vec<u64>> =
                fields.map(|field| numbers(&field.replace('|', " "))).collect();
            assert_eq!(expected.len(), real.len(), "{line}");
            for ((drive, sector), real) in expected.iter().zip(&real) {
                // Parity of a stripe with one sector of data equals it.
                let is_there = real.chunks(2).any(|place| place == [*drive, *sector]);
                assert!(is_there, "{:?}, {line}: drive {drive}, sector {sector}", pool.vdev);
                elsewhere += real.len() / 2 - 1;
            }
            found += expected.len();
            blocks += 1;
        }
    }
    println!("{blocks} blocks, {in_two_groups} in two groups, {found} sectors, {elsewhere} twice");
    assert!(blocks > 280 && in_two_groups >= 1 && found > 6_500 && elsewhere < found / 10);
}

/// `vdev_xlate`: which part of each drive belongs to a range of the vdev.
#[test]
fn each_range_is_on_the_drives_that_the_real_code_names() {
    let mut ranges = 0;
    for pool in pools() {
        for line in pool.lines('X') {
            let fields = numbers(line);
            let data = u64::from(pool.layout.draid().data);
            let bytes = fields[1] / pool.layout.draid().group_width() * data;
            let stripes = pool.stripes(fields[0], bytes);
            assert_eq!(stripes.len(), 1);
            let columns = stripes[0].parity().chain(stripes[0].full_data());
            let column = |of: Column| [of.drive.into(), of.first_sector, of.sectors.into()];
            let mut columns: Vec<[u64; 3]> = columns.map(column).collect();
            columns.sort_unstable();
            assert_eq!(columns.concat(), fields[2..], "{:?}, {line}", pool.vdev);
            ranges += 1;
        }
    }
    assert!(ranges >= 700);
}

/// `vdev_draid_spare_get_child`: the drive that stands in for each distributed spare.
#[test]
fn spares_are_the_drives_that_the_real_code_names() {
    for pool in pools() {
        for line in pool.lines('S') {
            let fields = numbers(line);
            let spares = 0..pool.layout.draid().spares;
            let drives = spares.map(|spare| pool.layout.spare_drive(spare, fields[0]).into());
            assert_eq!(drives.collect::<Vec<u64>>(), fields[1..], "{:?}, {line}", pool.vdev);
        }
    }
}

#[test]
fn metaslabs_and_sizes_of_blocks_are_those_of_the_real_pool() {
    for pool in pools() {
        let metaslabs = numbers(pool.lines('M').next().unwrap());
        let MetaslabSize { count, shift } = pool.vdev.metaslabs();
        assert_eq!([u64::from(count), shift.into()], metaslabs[..2], "{:?}", pool.vdev);
        for (number, real) in (0..).zip(metaslabs[2..].chunks(2)) {
            let (first, sectors) = pool.vdev.metaslab_sectors(number);
            let start = (u64::from(number) << shift) + (u64::from(first) << pool.vdev.ashift);
            assert_eq!([start, u64::from(sectors) << pool.vdev.ashift], real, "{:?}", pool.vdev);
        }
        let sizes = numbers(pool.lines('A').next().unwrap());
        assert_eq!(sizes.len(), 64);
        for (sectors, taken) in (1..).zip(sizes) {
            let allocated = pool.vdev.allocated_bytes(sectors << pool.vdev.ashift);
            assert_eq!(allocated >> pool.vdev.ashift, taken, "{:?}, {sectors}", pool.vdev);
        }
    }
}

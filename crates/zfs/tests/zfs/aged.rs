//! Aged volumes beside real ones: the tables of docs/zfs.md.

use strewn_zfs::Redundancy;

use crate::volumes::{Ageing, age};

/// Extents in a MiB window and FRAG after the fill and each overwrite, of a real pool.
struct Real {
    name: &'static str,
    ageing: Ageing,
    /// Extents; FRAG where it was recorded.
    passes: &'static [(f64, Option<u64>)],
    /// Of 32,767 blocks, the percentages that lie behind the one before in real runs, from the least to the most.
    neighbours: &'static [(f64, f64)],
    /// How far the model may be off, in percent of the extents; of the fill, in extents.
    within: (f64, f64),
}

/// A volume of 256 MiB in blocks of 8 KiB on RAID-Z2 of six drives.
const fn ageing(
    drive_mib: u64,
    writes_a_txg: usize,
    slots: Option<u32>,
    empty_groups: u32,
) -> Ageing {
    Ageing {
        redundancy: Redundancy::RaidZ { drives: 6, parity: 2 },
        vdevs: 1,
        ashift: 12,
        drive_mib,
        volume_mib: 256,
        block_bytes: 8_192,
        writes_a_txg,
        slots,
        empty_groups,
    }
}

/// The throttle lets so many writes be under way.
const SLOTS: Option<u32> = Some(32);

const REAL: &[Real] = &[
    Real {
        name: "slow drives, 27 % full, 4,096 writes a transaction group",
        ageing: ageing(512, 4_096, SLOTS, 2),
        passes: &[(2.83, Some(2)), (61.38, Some(28)), (68.21, Some(51))],
        // Three runs on slow drives, one on files. The model is a little above the last, 1.7 at most.
        neighbours: &[(16.0, 48.4), (3.4, 7.1), (0.8, 2.0)],
        within: (10.0, 0.5),
    },
    Real {
        name: "files, 27 % full, 2,048 writes",
        ageing: ageing(512, 2_048, SLOTS, 2),
        passes: &[(4.21, Some(2)), (68.84, Some(32)), (78.0, None)],
        neighbours: &[],
        within: (10.0, 2.0),
    },
    Real {
        name: "files, 27 % full, 2,048 writes, no empty transaction groups",
        ageing: ageing(512, 2_048, SLOTS, 0),
        passes: &[(3.7, None), (68.7, None), (78.3, None)],
        neighbours: &[],
        within: (10.0, 2.0),
    },
    Real {
        name: "files, 27 % full, 256 writes",
        ageing: ageing(512, 256, SLOTS, 0),
        passes: &[(4.0, None), (98.0, None)],
        neighbours: &[],
        within: (10.0, 3.0),
    },
    Real {
        name: "files, 27 % full, 8,192 writes",
        ageing: ageing(512, 8_192, SLOTS, 0),
        passes: &[(4.0, None), (58.0, None)],
        neighbours: &[],
        within: (10.0, 2.0),
    },
    Real {
        name: "no throttle, 27 % full, 2,048 writes",
        ageing: ageing(512, 2_048, None, 2),
        passes: &[(1.01, Some(2)), (103.25, Some(33))],
        neighbours: &[],
        within: (1.0, 0.1),
    },
    Real {
        name: "no throttle, 27 % full, 8,192 writes",
        ageing: ageing(512, 8_192, None, 0),
        passes: &[(1.0, None), (103.1, None)],
        neighbours: &[],
        within: (1.0, 0.1),
    },
];

#[test]
fn aged_volumes_are_laid_out_as_real_ones() {
    for Real { name, ageing, passes, neighbours: real_neighbours, within: (percent, extents) } in
        REAL
    {
        let measured = age(*ageing, passes.len() - 1, 1);
        for (pass, (measured, (real, frag))) in measured.iter().zip(*passes).enumerate() {
            let model = measured.layout.extents_a_mib;
            let neighbours = 100.0 * measured.layout.neighbours as f64 / 32_767.0;
            println!(
                "{name}, pass {pass}: {model:.2} extents a MiB, real {real:.2}; FRAG {}, real {}; {neighbours:.1} % \
                 neighbours; {} metaslabs in use",
                measured.frag,
                frag.map_or("?".to_owned(), |frag| frag.to_string()),
                measured.metaslabs,
            );
            if let Some((least, most)) = real_neighbours.get(pass) {
                assert!(
                    (*least..=*most).contains(&neighbours),
                    "{name}, pass {pass}: {neighbours:.1} % neighbours, real {least} to {most}"
                );
            }
            let most = if pass == 0 { *extents } else { real * percent / 100.0 };
            assert!(
                (model - real).abs() <= most,
                "{name}, pass {pass}: {model:.2}, real {real:.2}"
            );
            if let Some(frag) = frag {
                assert!(
                    measured.frag.abs_diff(*frag) <= 5,
                    "{name}, pass {pass}: {}",
                    measured.frag
                );
            }
        }
    }
}

/// What timing decides moves the figures by little.
#[test]
fn the_seed_of_the_order_matters_little() {
    let ageing = ageing(512, 2_048, SLOTS, 0);
    let figures: Vec<f64> =
        (1..=5).map(|seed| age(ageing, 1, seed)[1].layout.extents_a_mib).collect();
    let (least, most) = figures
        .iter()
        .fold((f64::MAX, 0f64), |(least, most), one| (least.min(*one), most.max(*one)));
    assert!(most / least < 1.02, "{figures:?}");
}

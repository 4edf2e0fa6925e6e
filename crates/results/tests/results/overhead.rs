use crate::fixture::{overhead_arrays, overhead_configurations};
use strewn_results::{
    CapacityRule, DiskGroupCapacity, OverheadConfiguration, OverheadError, OverheadRow, overhead,
};

fn rows() -> Vec<OverheadRow> {
    overhead(&overhead_arrays(), &overhead_configurations(), 1000.0).unwrap()
}

fn near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
}

#[test]
fn spindles_of_the_nine_ways() {
    let purchased: Vec<u32> = rows().iter().map(|row| row.purchased).collect();
    assert_eq!(purchased, [20, 21, 22, 23, 25, 28, 20, 20, 20]);
    let used: Vec<u32> =
        rows().iter().filter(|row| row.used_by_results).map(|row| row.purchased).collect();
    assert_eq!(used, [25, 20]);
}

#[test]
fn capacity_by_hand() {
    for row in rows() {
        let expected = match &*row.name {
            // 18 x 136,000 MiB = 2,390.6 GiB; a tenth is reserved.
            _ if row.array == "FAS2050" => 2151.6,
            // 20, 18 and 16 x 136.7 GiB x 4/5.
            "20: protection level none" => 2187.7,
            "20: protection level single" => 1968.9,
            _ => 1750.2,
        };
        near(row.usable_gib, expected, 0.05);
    }
    // 2,151.6 GiB of 25 x 136.7 GiB, and 1,968.9 of 20 x 136.7: 18/20 x 4/5.
    near(rows()[4].usable_percent_of_raw, 62.94, 0.005);
    near(rows()[7].usable_percent_of_raw, 72.0, 1e-9);
}

#[test]
fn a_raid_5_group_has_the_capacity_of_all_spindles_but_one() {
    let mut arrays = overhead_arrays();
    arrays[1].capacity = CapacityRule::InPlace(vec![DiskGroupCapacity::Raid5 { spindles: 20 }]);
    let mut configurations = overhead_configurations();
    configurations.retain(|one| one.array == arrays[1].name);
    configurations.truncate(1);
    configurations[0].protection_level = None;
    let rows = overhead(&arrays, &configurations, 1000.0).unwrap();
    // 19 x 136.7 GiB.
    near(rows[0].usable_gib, 2597.9, 0.05);
    near(rows[0].usable_percent_of_raw, 95.0, 1e-9);
}

#[test]
fn a_raid_0_group_has_the_capacity_of_all_spindles() {
    let mut arrays = overhead_arrays();
    arrays[1].capacity = CapacityRule::InPlace(vec![DiskGroupCapacity::Raid0 { spindles: 20 }]);
    let mut configurations = overhead_configurations();
    configurations.retain(|one| one.array == arrays[1].name);
    configurations.truncate(1);
    configurations[0].protection_level = None;
    let rows = overhead(&arrays, &configurations, 1000.0).unwrap();
    near(rows[0].usable_percent_of_raw, 100.0, 1e-9);
}

#[test]
fn throughput_by_spindle_and_by_price() {
    let rows = rows();
    let (bought, in_place) = (&rows[4], &rows[7]);
    // 4864 and 3449 over 25; 5983 over 20.
    near(bought.iops_per_spindle_fresh, 194.56, 1e-9);
    near(bought.iops_per_spindle_end, 137.96, 1e-9);
    near(in_place.iops_per_spindle_end, 299.15, 1e-9);
    // At 1000 USD per spindle the two figures are equal.
    near(bought.iops_per_1000_usd_end, 137.96, 1e-9);
    // 194.56 and 137.96 of 299.15.
    near(bought.percent_of_in_place_fresh.unwrap(), 65.037_6, 1e-9);
    near(bought.percent_of_in_place_end.unwrap(), 46.117_3, 1e-9);
    near(in_place.percent_of_in_place_end.unwrap(), 100.0, 1e-9);
    // With no overhead at all, the source's 58 %.
    near(rows[0].percent_of_in_place_end.unwrap(), 57.6, 0.05);
    // At half the price a dollar buys twice as much.
    let cheap = overhead(&overhead_arrays(), &overhead_configurations(), 500.0).unwrap();
    near(cheap[4].iops_per_1000_usd_fresh, 389.12, 1e-9);
}

#[test]
fn without_an_in_place_array_there_is_nothing_to_set_against() {
    let rows = overhead(&overhead_arrays(), &overhead_configurations()[..6], 1000.0).unwrap();
    assert!(rows.iter().all(|row| row.percent_of_in_place_end.is_none()));
}

#[test]
fn what_cannot_be_worked_out_is_an_error() {
    let [fas, eva] = overhead_arrays();
    let first_eva = overhead_configurations()[6].clone();
    let name = first_eva.name.clone();
    let one = |configuration: &OverheadConfiguration, arrays: &[_], price| {
        overhead(arrays, std::slice::from_ref(configuration), price).unwrap_err()
    };
    assert_eq!(
        one(&first_eva, &[fas], 1000.0),
        OverheadError::UnknownArray { name: name.clone(), array: "EVA4400".to_owned() }
    );
    let unsaid = OverheadConfiguration { protection_level: None, ..first_eva.clone() };
    assert_eq!(
        one(&unsaid, std::slice::from_ref(&eva), 1000.0),
        OverheadError::NoProtectionLevel { name: name.clone() }
    );
    let mut none = eva.clone();
    none.data_spindles = 0;
    assert_eq!(one(&first_eva, &[none], 1000.0), OverheadError::NothingLeft { name });
    for price in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(one(&first_eva, std::slice::from_ref(&eva), price), OverheadError::Price);
    }
}

//! A data sheet's profile as a file.

use std::fmt::Write;

use super::DataSheet;
use super::rules::Figures;
use crate::provenance::Provenance;

/// The source of figures whose sheet was not named.
const UNNAMED_SHEET: &str = "the data sheet given to strewn spindle --from-datasheet";

const HEADER: &str = "\
# A drive from its data sheet, made by strewn spindle --from-datasheet. The sheet's figures are the
# source of all that [provenance] does not say otherwise. Not measured: a drive like the one named.
";

impl DataSheet {
    /// The profile's file, which is valid unless the figures together are those of no drive.
    pub(super) fn text(&self, name: &str, figures: &Figures) -> String {
        let sheet = self.source.as_deref().unwrap_or(UNNAMED_SHEET);
        let mut text = HEADER.to_owned();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, name, sheet, figures);
        text
    }

    fn write(
        &self,
        text: &mut String,
        name: &str,
        sheet: &str,
        figures: &Figures,
    ) -> std::fmt::Result {
        let credit = match &self.source {
            Some(source) => format!("from a data sheet: {source}"),
            None => "from a data sheet that was not named".to_owned(),
        };
        let (name, credit) = (toml::Value::from(name), toml::Value::from(credit));
        writeln!(text, "\nname = {name}\ncredit = {credit}")?;
        writeln!(text, "rpm = {}\nheads = {}", figures.rpm, figures.heads)?;
        writeln!(text, "sector_bytes = {}", figures.sector_bytes)?;
        writeln!(text, "capacity_sectors = {}", figures.capacity_sectors)?;
        writeln!(text, "band_cylinders = {}", figures.band_cylinders)?;
        writeln!(text, "head_switch_ms = {}", figures.track_to_track_ms)?;
        writeln!(text, "write_settle_ms = {}", figures.write_settle_ms)?;
        if let Some(rate) = figures.interface_mb_per_s {
            writeln!(text, "bus_mb_per_s = {rate}")?;
        }
        let (outer, inner) = figures.sectors_per_track;
        writeln!(text, "\n[outline]\nzones = {}", figures.zones)?;
        writeln!(text, "# Outermost and innermost track.")?;
        writeln!(text, "sectors_per_track = [{outer}, {inner}]")?;
        writeln!(text, "\n[outline.seek_ms]\ntrack_to_track = {}", figures.track_to_track_ms)?;
        writeln!(text, "average = {}\nfull_stroke = {}", figures.seek_ms, figures.full_stroke_ms)?;
        overheads(text, "overhead_ms", figures.overhead_ms)?;
        if let Some((segments, sectors)) = figures.cache {
            writeln!(text, "\n[cache]\nsegments = {segments}\nsegment_sectors = {sectors}")?;
            writeln!(text, "read_ahead = \"track\"\nwrite_back = true")?;
            overheads(text, "cache.hit_overhead_ms", figures.overhead_ms)?;
        }
        let published = Provenance::Published(sheet.to_owned());
        writeln!(text, "\n[provenance]\ndefault = {published}")?;
        for (number, source) in self.other_sources(figures) {
            writeln!(text, "{number} = {source}")?;
        }
        Ok(())
    }

    /// The sources of the figures that are not the sheet's own.
    fn other_sources(&self, figures: &Figures) -> Vec<(&'static str, Provenance)> {
        let assumed = |figure: &str| {
            let mut found = figures.assumptions.iter().filter(|assumed| assumed.figure == figure);
            found.next().map(|assumed| Provenance::Assumed(assumed.rule.clone()))
        };
        let seeks = match (self.track_to_track_ms, self.full_stroke_ms) {
            (Some(_), Some(_)) => None,
            _ => {
                let rules = figures.assumptions.iter().filter_map(|assumed| {
                    let seek = assumed.figure.strip_prefix("outline.seek_ms.")?;
                    Some(format!("; {}: {}", seek.replace('_', " "), assumed.rule))
                });
                let rules: String = rules.collect();
                Some(Provenance::Assumed(format!("average from the sheet{rules}")))
            }
        };
        let settle = assumed("write_settle_ms").unwrap_or_else(|| {
            Provenance::Derived("average write seek less average read seek".to_owned())
        });
        let tracks = "the sheet's sustained rates, with a skew after each revolution";
        let capacity = "the sheet's capacity, in whole sectors and blocks of 4 KiB";
        let optional = [
            ("heads", assumed("heads")),
            ("sector_bytes", assumed("sector_bytes")),
            ("capacity_sectors", Some(Provenance::Derived(capacity.to_owned()))),
            ("band_cylinders", assumed("band_cylinders")),
            ("head_switch_ms", assumed("head_switch_ms")),
            ("write_settle_ms", Some(settle)),
            ("zero_latency", assumed("zero_latency")),
            ("overhead_ms", assumed("overhead_ms")),
            ("zones", assumed("zones")),
            ("sectors_per_track", Some(Provenance::Derived(tracks.to_owned()))),
            ("seek_ms", seeks),
            ("cache", figures.cache.and(assumed("cache"))),
        ];
        let given = |(number, source): (&'static str, Option<Provenance>)| Some((number, source?));
        optional.into_iter().filter_map(given).collect()
    }
}

fn overheads(text: &mut String, table: &str, ms: f64) -> std::fmt::Result {
    writeln!(text, "\n[{table}]")?;
    ["read_after_read", "read_after_write", "write_after_read", "write_after_write"]
        .iter()
        .try_for_each(|field| writeln!(text, "{field} = {ms}"))
}

//! Why accesses cannot be drawn.

use crate::sectors::sectors_in;
use thiserror::Error;

/// Why an access specification, a pattern, or the region to access is rejected. Lines are numbered from 1.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WorkloadError {
    /// The lines do not add up to 100 % of accesses.
    #[error(
        "the lines of access specification \"{name}\" take {percent} % of accesses; they must \
         take 100 %"
    )]
    Sum {
        /// The specification.
        name: String,
        /// The sum of its lines, in percent.
        percent: u32,
    },
    /// A size is not a whole number of sectors.
    #[error(
        "line {line_number} of access specification \"{name}\": bytes must be a positive multiple \
         of 512, not {bytes}"
    )]
    Size {
        /// The specification.
        name: String,
        /// The line, numbered from 1.
        line_number: usize,
        /// Its size.
        bytes: u32,
    },
    /// A percentage is above 100.
    #[error(
        "line {line_number} of access specification \"{name}\": {field} must be 0 to 100, not \
         {percent}"
    )]
    Percent {
        /// The specification.
        name: String,
        /// The line, numbered from 1.
        line_number: usize,
        /// The field of the line.
        field: &'static str,
        /// Its value.
        percent: u8,
    },
    /// The alignment is not a whole number of sectors.
    #[error(
        "access specification \"{name}\": alignment_bytes must be a positive multiple of 512, not \
         {alignment_bytes}"
    )]
    Alignment {
        /// The specification.
        name: String,
        /// The alignment.
        alignment_bytes: u32,
    },
    /// A field of a line is out of range.
    #[error("line {line_number} of \"{name}\": {field} must be {must}, not {value}")]
    Field {
        /// The pattern.
        name: String,
        /// The line, numbered from 1.
        line_number: usize,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// What it must be.
        must: &'static str,
    },
    /// All weights are 0, so no line is ever drawn.
    #[error("\"{name}\" has no accesses: the weights of its lines are 0")]
    NoAccesses {
        /// The pattern.
        name: String,
    },
    /// A parameter of a distribution is out of range.
    #[error("\"{name}\": the {problem} of its distribution is out of range")]
    Distribution {
        /// The pattern.
        name: String,
        /// The parameter.
        problem: &'static str,
    },
    /// The region is smaller than the largest access of the specification.
    #[error(
        "access specification \"{name}\" has accesses of {} sectors; a region of {region_sectors} \
         sectors cannot hold them",
        sectors_in(*.largest_bytes)
    )]
    RegionTooSmall {
        /// The specification.
        name: String,
        /// Bytes of its largest access.
        largest_bytes: u32,
        /// The sectors of the region.
        region_sectors: u64,
    },
    /// The region ends past 2^55 sectors: its bytes would overflow 64 bits.
    #[error(
        "a region of {region_sectors} sectors from sector {region_first_sector} ends past 2^55 \
         sectors"
    )]
    RegionTooLarge {
        /// The first sector of the region.
        region_first_sector: u64,
        /// The sectors of the region.
        region_sectors: u64,
    },
}

impl WorkloadError {
    /// Checks that a region holds accesses of `largest_bytes`.
    pub(crate) fn check_region(
        name: &str,
        largest_bytes: u32,
        region_first_sector: u64,
        region_sectors: u64,
    ) -> Result<(), Self> {
        if region_sectors < u64::from(sectors_in(largest_bytes)) {
            return Err(Self::RegionTooSmall {
                name: name.to_owned(),
                largest_bytes,
                region_sectors,
            });
        }
        let most_sectors = 1 << 55;
        if region_first_sector.saturating_add(region_sectors) >= most_sectors {
            return Err(Self::RegionTooLarge { region_first_sector, region_sectors });
        }
        Ok(())
    }
}

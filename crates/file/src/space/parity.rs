//! Where RAID 5 and 6 of Linux have data and parity (`raid5_compute_sector` of `drivers/md/raid5.c`), by the names that
//! dm-raid and LVM give to layouts (lvmraid(7)).

/// A layout of stripes with parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParityLayout {
    /// `raid5_ls`, the usual one of RAID 5: parity goes from the last device to the first, and data continue behind it.
    LeftSymmetric,
    /// `raid5_la`: the same parity, and data begin at the first device.
    LeftAsymmetric,
    /// `raid5_rs`: parity goes from the first device to the last, and data continue behind it.
    RightSymmetric,
    /// `raid5_ra`: the same parity, and data begin at the first device.
    RightAsymmetric,
    /// `raid5_n`: parity is on the last device.
    Last,
    /// `raid6_zr`, the usual one of RAID 6: P goes from the first device to the last with Q behind it, and data begin
    /// at the first device.
    ZeroRestart,
    /// `raid6_nr`: P goes from the last device but one to the first with Q behind it, and data begin at the first
    /// device.
    NRestart,
    /// `raid6_nc`: P goes from the last device to the first with Q before it, and data continue behind P.
    NContinue,
    /// `raid6_n_6`: P and Q are on the last two devices.
    LastTwo,
}

impl ParityLayout {
    /// The layout that LVM calls so.
    #[must_use]
    pub fn of_lvm(kind: &str) -> Option<Self> {
        Some(match kind {
            "raid5" | "raid5_ls" => Self::LeftSymmetric,
            "raid5_la" => Self::LeftAsymmetric,
            "raid5_rs" => Self::RightSymmetric,
            "raid5_ra" => Self::RightAsymmetric,
            "raid5_n" => Self::Last,
            "raid6" | "raid6_zr" => Self::ZeroRestart,
            "raid6_nr" => Self::NRestart,
            "raid6_nc" => Self::NContinue,
            "raid6_n_6" => Self::LastTwo,
            _ => return None,
        })
    }

    /// Devices of a stripe that have parity.
    #[must_use]
    pub fn parities(self) -> u64 {
        match self {
            Self::ZeroRestart | Self::NRestart | Self::NContinue | Self::LastTwo => 2,
            _ => 1,
        }
    }

    /// The device of data number `data` of stripe `stripe` on so many devices, which are more than those with parity.
    pub(super) fn device(self, stripe: u64, data: u64, devices: u64) -> u64 {
        let turn = stripe % devices;
        let last = devices - 1;
        let after = |device: u64| (device + 1) % devices;
        let restarts = |p: u64, q: u64| {
            let mut of_data = (0..devices).filter(|device| *device != p && *device != q);
            of_data.nth(data as usize).unwrap_or(last)
        };
        match self {
            Self::LeftSymmetric | Self::NContinue => (after(last - turn) + data) % devices,
            Self::RightSymmetric => (after(turn) + data) % devices,
            Self::LeftAsymmetric => restarts(last - turn, last - turn),
            Self::RightAsymmetric => restarts(turn, turn),
            Self::ZeroRestart => restarts(turn, after(turn)),
            Self::NRestart => {
                let p = last - after(turn);
                restarts(p, after(p))
            }
            Self::Last | Self::LastTwo => data,
        }
    }
}

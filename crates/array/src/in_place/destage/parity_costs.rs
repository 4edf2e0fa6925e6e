//! What computing parity costs the processor.

use strewn_alloc::GroupIndex;
use strewn_raid::StripedLayout;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::processor::ProcessorWork;

use super::super::context::Context;

/// Whether parity costs anything.
#[inline(always)]
pub(super) fn costs_parity<P: Payload>(cx: &Context<'_, P, impl Driver<P>>) -> bool {
    cx.space.config.processor.write_back.parity_sector_ps > 0
}

/// Charges the processor for XORing so many sectors of data in full rows into their parity: one unit of a row is taken
/// as it is.
#[inline]
pub(super) fn charge_full_rows<P: Payload>(
    id: GroupIndex,
    row_sectors: u64,
    cx: &mut Context<'_, P, impl Driver<P>>,
) {
    let layout = &cx.space.groups[id].layout;
    if costs_parity(cx) && layout.has_parity() {
        let units = u64::from(layout.shape().data_blocks());
        charge_xor(row_sectors * (units - 1), cx);
    }
}

/// Charges the processor for XORing so many sectors.
#[cold]
pub(super) fn charge_xor<P: Payload>(sectors: u64, cx: &mut Context<'_, P, impl Driver<P>>) {
    cx.counters.parity_sectors += sectors;
    let cost_ns = cx.space.config.processor.write_back.of_parity(sectors);
    cx.driver.processor(ProcessorWork::Parity, cost_ns);
}

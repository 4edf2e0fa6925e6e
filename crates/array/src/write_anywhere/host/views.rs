//! Reading LUNs as they are in snapshots.

use strewn_base::Direction;

use crate::driver::{Acknowledge, Driver, HostOperation, Refusal};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::ProcessorWork;

use super::super::context::Context;
use super::super::space::metadata::Pointer;
use super::super::space::view::View;
use super::Host;
use super::operations::{PendingOperation, Stage};

impl<P: Payload> Host<P> {
    /// Opens a LUN as it is in a snapshot of its volume, for reading. Returns the number of the view.
    pub(crate) fn open_view(&mut self, view: View) -> usize {
        self.views.insert(view)
    }

    pub(crate) fn view(&self, number: usize) -> Option<View> {
        self.views.get(number).copied()
    }

    /// Closes all views. No read of one may be in progress.
    pub(crate) fn close_views(&mut self) {
        self.views.clear();
    }

    /// A read of a view, which is no LUN. It goes to the spindles: what the cache has are blocks of the active image.
    #[cold]
    pub(crate) fn read_view(
        &mut self,
        host: HostOperation<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        assert!(host.direction == Direction::Read, "a snapshot is only read");
        let view = self.views[view_number(host.lun, cx)];
        cx.driver.processor(ProcessorWork::Operation, cx.costs().of_operation(host.sectors));
        let operation = PendingOperation::new(host, Stage::View, false);
        let (mut block, last) = operation.blocks().into_inner();
        assert!(last < view.blocks, "an operation ends behind its LUN");
        let slot = self.operations.insert(operation) as u32;
        while block <= last {
            let Some(Pointer { vbn, .. }) = cx.space.block_in_view(view, block) else {
                self.answer_zeros(slot, block);
                block += 1;
                continue;
            };
            let run = cx.space.longest_run(vbn, block..last + 1, |next, behind| {
                cx.space.block_in_view(view, next).is_some_and(|next| next.vbn == behind)
            });
            self.read_run(slot, block, run, cx);
            cx.counters.data_reads += 1;
            block += run.blocks;
        }
        if self.operations[slot as usize].awaited == 0 {
            self.on_view_read(slot, Acknowledge::AfterProcessor, cx);
        }
    }

    /// All of a view's blocks that an operation wants have been read, or cannot be.
    pub(super) fn on_view_read(
        &mut self,
        slot: u32,
        when: Acknowledge,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let operation = self.operations.remove(slot as usize);
        match operation.lost.is_empty() {
            true => cx.driver.acknowledge(operation.host.id, when, operation.answer),
            false => cx.driver.refuse(operation.host.id, Refusal::BlocksGone),
        }
    }

    /// The number of the view that the operation in `slot` reads, as a LUN; `None` if it reads none.
    pub(crate) fn view_read_by(&self, slot: u32) -> Option<LunId> {
        let operation = self.operations.get(slot as usize)?;
        (operation.stage == Stage::View).then_some(operation.host.lun)
    }
}

fn view_number<P: Payload, D>(lun: LunId, cx: &Context<'_, P, D>) -> usize {
    usize::from(lun.0 - cx.space.keys.luns())
}

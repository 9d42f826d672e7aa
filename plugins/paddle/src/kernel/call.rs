//! One call of an operator.

use std::cell::RefCell;
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tenon::paddle::{DeviceContext, PaddleApi, Tensor};

use super::memory::Ledger;
use crate::device;
use crate::error::{Code, Error, Result};
use crate::host::Host;

/// One call of an operator: where its arguments come from, and which memory it has got hold of.
#[derive(Debug)]
pub(crate) struct Call {
    pub(super) host: &'static Host,
    pub(super) context: DeviceContext,
    pub(super) ledger: Ledger,
    kept: RefCell<Vec<Kept>>,
}

impl Call {
    /// A call in a device context, after a wait for the context's stream: the inputs of operators must be
    /// complete, and no other work may use their outputs.
    fn begin(host: &'static Host, context: DeviceContext) -> Result<Self> {
        // SAFETY: Paddle hands over a live context, or null, which the function reports.
        let stream = unsafe { host.api.device_context_get_stream(context) }?;
        device::settle(stream)?;
        Ok(Self { host, context, ledger: Ledger::default(), kept: RefCell::default() })
    }

    pub(super) fn api(&self) -> &'static PaddleApi {
        &self.host.api
    }

    /// Returns the seed and the offset for some random numbers: `seed` itself, or those of the device's generator if it is 0.
    pub(crate) fn random(&self, seed: i64, count: usize) -> Result<(i64, i64)> {
        match seed {
            // SAFETY: the context is that of the call.
            0 => unsafe { self.host.generator.draw(self.context, count) },
            seed => Ok((seed, 0)),
        }
    }

    /// Keeps the memory that a live tensor has by now until the call ends.
    pub(super) fn keep(&self, tensor: Tensor) -> Result<()> {
        let api = self.api();
        // SAFETY: our own tensor, which then shares the memory of a live one.
        unsafe {
            let kept = Kept { api, holder: api.new_tensor()? };
            api.tensor_share_data_with(kept.holder, tensor)?;
            self.kept.borrow_mut().push(kept);
        }
        Ok(())
    }

    /// Does the arithmetic of an operator. A panic in it becomes an error.
    ///
    /// `work` must not call Paddle: a C++ exception cannot pass here.
    pub(crate) fn compute(&self, work: impl FnOnce() -> tenon_kernels::Result<()>) -> Result<()> {
        // A panic leaves incomplete tensors, and its error makes Paddle not use them.
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(outcome) => Ok(outcome?),
            Err(panic) => {
                Err(Error::new(Code::Fatal, format!("panicked: {}", tenon::support::panic_text(&*panic))))
            }
        }
    }
}

/// Our own tensor, which keeps memory allocated. Deleted even if an exception of C++ passes.
#[derive(Debug)]
struct Kept {
    api: &'static PaddleApi,
    holder: Tensor,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: made by `keep`, and deleted once. The function is there, and throws nothing.
        let _ = unsafe { self.api.delete_tensor(self.holder) };
    }
}

/// The body of an entry point: runs an operator, and raises its error in Paddle's way.
pub(crate) fn enter(
    name: &CStr,
    context: impl FnOnce(&'static Host) -> Result<DeviceContext>,
    run: impl FnOnce(&Call) -> Result<()>,
) {
    let Some(host) = Host::get() else {
        // Only a detected host has the address of an entry point.
        return;
    };
    let outcome = context(host).and_then(|context| Call::begin(host, context)).and_then(|call| run(&call));
    if let Err(error) = outcome {
        host.raise(error.within(&name.to_string_lossy()));
    }
}

//! One call of an operator.

use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::paddle::{DeviceContext, PaddleApi, Tensor};
use tenon::DevicePtr;
use tenon::device::{self, DataType, DeviceId, Release};
use tenon_operators::{Composed, Launch, Operators, TensorRef};

use crate::error::{Code, Error, Result};
use crate::host::Host;
use crate::kernel::tensor::memory::Ledger;
use crate::provider::{self, Memory, Provider};

/// One call of an operator: the source of its arguments, and the memory that it accesses.
pub(crate) struct Call {
    pub(in crate::kernel) host: &'static Host,
    provider: &'static Provider,
    pub(in crate::kernel) context: DeviceContext,
    launch: Launch,
    is_settled: Cell<bool>,
    pub(in crate::kernel) ledger: Ledger,
    kept: RefCell<Vec<Kept>>,
}

impl Call {
    /// Begins a call in a device context.
    fn begin(host: &'static Host, provider: &'static Provider, context: DeviceContext) -> Result<Self> {
        // SAFETY: Paddle passes a live context, or null, which the function reports.
        let stream = unsafe { host.api.device_context_get_stream(context) }?;
        let launch = Launch { device: provider.device.get_device()?, stream };
        let (ledger, kept) = (Ledger::default(), RefCell::default());
        Ok(Self { host, provider, context, launch, is_settled: Cell::new(false), ledger, kept })
    }

    /// Waits for the stream, once in each call: memory that the host accesses must be complete, and no other
    /// work may use it.
    pub(crate) fn settle(&self) -> Result<()> {
        if !self.is_settled.replace(true) {
            self.launch.synchronize(&*self.provider.device)?;
        }
        Ok(())
    }

    /// Returns true if the host can access the memory of the device.
    pub(crate) fn has_host_memory(&self) -> bool {
        self.provider.memory == Memory::OfTheHost
    }

    /// Copies device memory to the host, after the work on the stream.
    pub(crate) fn copy_to_host(&self, target: &mut [u8], source: DevicePtr) -> Result<()> {
        self.settle()?;
        Ok(self.provider.device.memory_copy_d2h(self.device(), target, source)?)
    }

    /// Copies host memory to the device, after the work on the stream.
    pub(crate) fn copy_to_device(&self, target: DevicePtr, source: &[u8]) -> Result<()> {
        self.settle()?;
        Ok(self.provider.device.memory_copy_h2d(self.device(), target, source)?)
    }

    fn device(&self) -> DeviceId {
        self.launch.device
    }

    pub(in crate::kernel) fn api(&self) -> &'static PaddleApi {
        &self.host.api
    }

    /// Returns the seed and the offset for some random numbers: `seed` itself, or if it is 0 those of the
    /// device's generator.
    pub(crate) fn random(&self, seed: i64, count: usize) -> Result<(i64, i64)> {
        match seed {
            // SAFETY: the context is that of the call.
            0 => unsafe { self.host.generator.draw(self.context, count) },
            seed => Ok((seed, 0)),
        }
    }

    /// Rejects a tensor without elements that is to be reduced, in 2.6.
    ///
    /// Paddle's CPU does the same there. Its backward pass ends the process if the gradient of a result has no elements.
    pub(crate) fn expect_reducible(&self, x: &TensorRef<'_>) -> Result<()> {
        if x.is_empty() && self.host.release <= Release::V2_6 {
            Err(Error::invalid("PaddlePaddle 2.6 reduces no tensor without elements"))
        } else {
            Ok(())
        }
    }

    /// Creates a tensor without memory. It is deleted when the call ends.
    pub(in crate::kernel) fn new_tensor(&self) -> Result<Tensor> {
        // SAFETY: the function creates a tensor, which is deleted when the call ends.
        let holder = unsafe { self.api().new_tensor() }?;
        self.kept.borrow_mut().push(Kept { api: self.api(), holder });
        Ok(holder)
    }

    /// Keeps the current memory of a live tensor allocated until the call ends.
    pub(in crate::kernel) fn keep(&self, tensor: Tensor) -> Result<()> {
        // SAFETY: it is our own tensor, which then shares the memory of a live one.
        Ok(unsafe { self.api().tensor_share_data_with(self.new_tensor()?, tensor) }?)
    }

    /// Returns the address of a constant in device memory; `None` if there are too many constants.
    pub(in crate::kernel) fn find_constant(
        &self,
        ty: DataType,
        value: f64,
    ) -> device::Result<Option<DevicePtr>> {
        self.provider.constants.find(&*self.provider.device, self.device(), ty, value)
    }

    /// Calls the device's operators, or operators composed of them. A panic becomes an error.
    ///
    /// `work` must not call Paddle: a C++ exception cannot pass through this function. It is called once. As a trait object,
    /// it lets this function be compiled once, not for each of more than a thousand kernels.
    pub(crate) fn run<T>(
        &self,
        work: &mut dyn FnMut(&dyn Operators, Launch) -> device::Result<T>,
    ) -> Result<T> {
        if let Some(compositions) = &self.provider.compositions {
            // Compositions catch panics themselves: C++ exceptions pass through a composition that allocates
            // memory.
            let composed = Composed::new(self.provider.operators, compositions, self);
            return work(&composed, self.launch).map_err(Error::of_operator);
        }
        // A panic leaves incomplete tensors. Paddle does not use them, because it receives an error.
        match catch_unwind(AssertUnwindSafe(|| work(self.provider.operators, self.launch))) {
            Ok(outcome) => outcome.map_err(Error::of_operator),
            Err(panic) => {
                Err(Error::new(Code::Fatal, format!("panicked: {}", tenon::support::panic_text(&*panic))))
            }
        }
    }
}

/// Our own tensor, which keeps memory allocated. It is deleted even if a C++ exception passes.
#[derive(Debug)]
struct Kept {
    api: &'static PaddleApi,
    holder: Tensor,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: created by `keep`, and deleted once. The function exists and does not throw.
        let _ = unsafe { self.api.delete_tensor(self.holder) };
    }
}

/// Runs an operator for an entry point, and raises its error as a Paddle exception.
///
/// It takes trait objects: otherwise the compiler would compile it for each of more than a thousand entry
/// points.
pub(crate) fn enter(
    name: &CStr,
    context: &dyn Fn(&'static Host) -> Result<DeviceContext>,
    run: &dyn Fn(&Call) -> Result<()>,
) {
    let (Some(host), Some(provider)) = (Host::get(), provider::get()) else {
        // An entry point is registered only with a detected host.
        return;
    };
    let outcome = context(host).and_then(|context| Call::begin(host, provider, context)).and_then(|call| {
        run(&call)?;
        if provider.waits { call.launch.synchronize(&*provider.device).map_err(Error::from) } else { Ok(()) }
    });
    if let Err(error) = outcome {
        host.raise(error.within(&name.to_string_lossy()));
    }
}

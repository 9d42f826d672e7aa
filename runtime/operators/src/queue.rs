//! Queues kernels on streams, so that the host continues while they compute.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use tenon::DevicePtr;
use tenon::device::{Device as _, DeviceId, Error, Plugin, Result};
use tenon::operators::{Launch, TensorMut, TensorRef, broadcast};
use tenon::support::write_line;
use tenon_cpu::{Cpu, Space};
use tenon_kernels::{View, ViewMut, reduce};

use crate::host::{self, done, ready};

/// Operators on fewer elements than this take a few microseconds: less than to hand them to a thread.
const INLINE_ELEMENTS: usize = 4096;

/// Bytes of host memory that are copied rather than waited for.
const COPIED_BYTES: usize = 4096;

/// True if operators may run after their calls have returned.
static IS_ENABLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// A kernel with its operands.
type Kernel = Box<dyn FnMut() -> tenon_kernels::Result<()> + Send>;

/// One call of an operator that may compute after it has returned.
///
/// The tensors become views without a lifetime. The host keeps device memory allocated until the work on the stream is
/// done; other memory lives only as long as the call, so that small inputs are copied, and anything else is computed
/// before the call returns.
pub(crate) struct Call {
    launch: Launch,
    /// True if the stream had no work when the call began.
    is_idle: bool,
    /// True if the device has a thread that could run the kernel.
    has_threads: bool,
    elements: usize,
    /// Memory whose owner matters only if the kernel is queued.
    unchecked: SmallVec<[DevicePtr; 4]>,
    copies: Vec<Box<[u128]>>,
    is_bound_to_caller: bool,
}

impl Call {
    pub(crate) fn new(launch: Launch) -> Self {
        let cpu = Cpu::instance();
        // The null stream means one of each device, and a stream may be that of a device that is not current: both are
        // for `ready`, which finds them.
        let is_found = !launch.stream.is_null();
        Self {
            launch,
            is_idle: is_found && cpu.is_idle(launch.device, launch.stream),
            has_threads: is_found
                && IS_ENABLED.load(Ordering::Relaxed)
                && cpu.config().is_ok_and(|config| config.threads > 1),
            elements: 0,
            unchecked: SmallVec::new(),
            copies: Vec::new(),
            is_bound_to_caller: false,
        }
    }

    pub(crate) fn input(&mut self, tensor: &TensorRef<'_>) -> Result<View<'static>> {
        if self.runs_before_return(tensor.first(), tensor.len()) {
            // SAFETY: the memory stays until the call returns, and the kernel runs before that: `run` looks at the owner before
            // it decides otherwise.
            return unsafe { host::lasting_view(tensor, tensor.first()) };
        }
        let bytes = tensor.len() * tensor.data_type().size().unwrap_or_default();
        let is_copied = match Owner::of(tensor.first(), self.launch.device) {
            _ if bytes == 0 => false,
            Owner::Device => false,
            Owner::Host if tensor.is_contiguous() && bytes <= COPIED_BYTES => true,
            Owner::Host | Owner::Other => {
                self.is_bound_to_caller = true;
                false
            }
        };
        if !is_copied {
            // SAFETY: memory of the device stays allocated until the work on the stream is done, and this call adds its work
            // there. For other memory, the call does not return before it has computed.
            return unsafe { host::lasting_view(tensor, tensor.first()) };
        }
        let mut copy = vec![0_u128; bytes.div_ceil(size_of::<u128>())].into_boxed_slice();
        // SAFETY: the elements are `bytes` bytes of host memory, and the copy has room for them.
        unsafe {
            copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(tensor.first().as_ptr().cast(), bytes);
        }
        let first = DevicePtr::from_ptr(copy.as_ptr());
        self.copies.push(copy);
        // SAFETY: the work keeps the copy, which is aligned for every type of elements.
        unsafe { host::lasting_view(tensor, first) }
    }

    pub(crate) fn output(&mut self, tensor: &mut TensorMut<'_>) -> Result<ViewMut<'static>> {
        if !self.runs_before_return(tensor.first(), tensor.len()) {
            let owner = Owner::of(tensor.first(), self.launch.device);
            self.is_bound_to_caller |= !tensor.is_empty() && owner != Owner::Device;
        }
        // SAFETY: as for inputs.
        unsafe { host::lasting_view_mut(tensor) }
    }

    pub(crate) fn optional(&mut self, tensor: Option<&TensorRef<'_>>) -> Result<Option<View<'static>>> {
        tensor.map(|tensor| self.input(tensor)).transpose()
    }

    pub(crate) fn inputs(&mut self, tensors: &[TensorRef<'_>]) -> Result<Vec<View<'static>>> {
        tensors.iter().map(|tensor| self.input(tensor)).collect()
    }

    pub(crate) fn optional_inputs(
        &mut self,
        tensors: Option<&[TensorRef<'_>]>,
    ) -> Result<Option<Vec<View<'static>>>> {
        tensors.map(|tensors| self.inputs(tensors)).transpose()
    }

    pub(crate) fn optional_output(
        &mut self,
        tensor: Option<&mut TensorMut<'_>>,
    ) -> Result<Option<ViewMut<'static>>> {
        tensor.map(|tensor| self.output(tensor)).transpose()
    }

    pub(crate) fn outputs(
        &mut self,
        tensors: &mut [Option<TensorMut<'_>>],
    ) -> Result<Vec<Option<ViewMut<'static>>>> {
        tensors.iter_mut().map(|tensor| self.optional_output(tensor.as_mut())).collect()
    }

    /// Counts the elements of a tensor. Returns true if the kernel runs before the call returns, unless later tensors are
    /// large: to look for the owner of the memory takes longer than a short kernel.
    fn runs_before_return(&mut self, first: DevicePtr, elements: usize) -> bool {
        self.elements += elements;
        let runs_before_return = !self.may_be_queued();
        if runs_before_return && elements > 0 {
            self.unchecked.push(first);
        }
        runs_before_return
    }

    /// Returns false if the kernel is too short for another thread, or there is none.
    fn may_be_queued(&self) -> bool {
        self.has_threads && !(self.is_idle && self.elements < INLINE_ELEMENTS)
    }

    /// Runs a kernel in the order of the stream: at once if it is short and the stream is idle, on a thread of the device
    /// otherwise.
    pub(crate) fn run(
        self,
        name: &'static str,
        mut kernel: impl FnMut() -> tenon_kernels::Result<()> + Send + 'static,
    ) -> Result<()> {
        if self.is_queued() {
            // A trait object, because each operator has its own type of kernel, and the code would be compiled for each.
            return self.queue(name, Box::new(kernel));
        }
        if !self.is_idle {
            ready(self.launch)?;
        }
        done(kernel())
    }

    fn queue(self, name: &'static str, mut kernel: Kernel) -> Result<()> {
        let copies = self.copies;
        let kernel = move || {
            // The kernel reads them.
            let _kept = &copies;
            kernel().map_err(|error| {
                // PaddlePaddle reports only a number when it waits for the stream.
                write_line(format_args!(
                    "the operator {name} failed after its call had returned: {error}; with TENON_CPU_THREADS=1 the call fails"
                ));
                error.to_string()
            })
        };
        Ok(Cpu::instance().launch_kernel(self.launch.device, self.launch.stream, name, kernel)?)
    }

    fn is_queued(&self) -> bool {
        let Launch { device, stream } = self.launch;
        let is_of_device = |&first: &DevicePtr| Owner::of(first, device) == Owner::Device;
        if !self.may_be_queued() || self.is_bound_to_caller || !self.unchecked.iter().all(is_of_device) {
            return false;
        }
        match Cpu::instance().query_stream(device, stream) {
            Ok(is_done) => !is_done || self.elements >= INLINE_ELEMENTS,
            Err(_) => false,
        }
    }
}

/// The owner of memory.
#[derive(PartialEq, Eq)]
enum Owner {
    /// The device of the call.
    Device,
    /// The host, which lets no work on a stream write it meanwhile.
    Host,
    /// Another device, or the host by an allocation of the device.
    Other,
}

impl Owner {
    fn of(ptr: DevicePtr, device: DeviceId) -> Self {
        match Cpu::instance().pointer_info(ptr.addr()) {
            Ok(info) if info.space == Space::Device && info.device == device => Self::Device,
            Ok(_) => Self::Other,
            Err(_) => Self::Host,
        }
    }
}

/// Copies an attribute.
pub(crate) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// Returns a copied attribute as a kernel takes it.
pub(crate) fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Refuses an output of another shape than inputs have together.
pub(crate) fn expect_shape(out: &ViewMut<'_>, inputs: &[&View<'_>]) -> Result<()> {
    if inputs.iter().all(|input| input.dims() == out.dims()) {
        return Ok(());
    }
    let dims = common_shape(inputs)?;
    let missing = out.dims().len().checked_sub(dims.len());
    let fits = missing.is_some_and(|missing| {
        dims.iter().zip(&out.dims()[missing..]).all(|(&dim, &wanted)| dim == wanted || dim == 1)
    });
    if fits {
        return Ok(());
    }
    Err(Error::invalid(format!("the shape {dims:?} cannot be broadcast to {:?}", out.dims())))
}

/// Returns the common shape of some operands.
pub(crate) fn common_shape(operands: &[&View<'_>]) -> Result<Vec<usize>> {
    operands
        .iter()
        .map(|operand| operand.dims())
        .try_fold(Vec::new(), |dims: Vec<usize>, other| broadcast(&dims, other))
}

/// Computes the gradient by an operand: the sum over the dimensions along which the operand was repeated.
pub(crate) fn gradient(
    out: &mut ViewMut<'_>,
    dims: &[usize],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> tenon_kernels::Result<()> {
    match out.dims() == dims {
        true => compute(out),
        false => reduce::sum_of(out, dims, compute),
    }
}

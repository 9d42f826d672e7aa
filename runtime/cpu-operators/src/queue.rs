//! Queues kernels on streams, so that the host continues while they compute.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use tenon::DevicePtr;
use tenon::device::{Device as _, DeviceId, Error, Plugin, Result};
use tenon::support::write_line;
use tenon_cpu::{Activity, Cpu, Space};
use tenon_kernels::decomposition::lapack;
use tenon_kernels::{View, ViewMut, formulas, reduction};
use tenon_operators::{Launch, TensorMut, TensorRef, broadcast};

use crate::host::{self, done, ready};

/// The number of elements below which operators run before they return: they take a few microseconds, less
/// than handing them to a thread.
const INLINE_ELEMENTS: usize = 4096;

/// The number of bytes up to which host memory is copied instead of waited for.
const COPIED_BYTES: usize = 4096;

/// The largest number of places of an empty tensor that kernels step through, such as the rows of a matrix without
/// columns.
const MAX_EMPTY_PLACES: usize = 1 << 20;

/// True if operators may run after their calls have returned.
static IS_ENABLED: AtomicBool = AtomicBool::new(false);

pub(crate) fn enable() {
    IS_ENABLED.store(true, Ordering::Relaxed);
}

/// True if callers order the operators themselves.
static IS_IMMEDIATE: AtomicBool = AtomicBool::new(false);

pub(crate) fn ignore_streams() {
    IS_IMMEDIATE.store(true, Ordering::Relaxed);
}

/// Returns true if operators compute at once, whatever their stream.
pub(crate) fn is_immediate() -> bool {
    IS_IMMEDIATE.load(Ordering::Relaxed)
}

/// A kernel with its operands.
type Kernel = Box<dyn FnMut() -> tenon_kernels::Result<()> + Send>;

/// One operator call, which may compute after it has returned.
///
/// The tensors become views without a lifetime. The host keeps device memory allocated until the work on the
/// stream is done; other memory lives only as long as the call. Therefore small inputs are copied, and all
/// other operators compute before the call returns.
pub(crate) struct Call {
    launch: Launch,
    /// The time at which the call began, if calls are traced.
    begun: Option<u64>,
    /// True if the stream had no work when the call began.
    is_idle: bool,
    /// True if the device has a thread that could run the kernel.
    has_threads: bool,
    elements: usize,
    /// Memory whose owner is looked up only if the kernel is queued.
    unchecked: SmallVec<[DevicePtr; 4]>,
    copies: Vec<Box<[u128]>>,
    is_bound_to_caller: bool,
    /// True if an output has elements.
    writes: bool,
    /// True if a tensor has no elements but more places than [`MAX_EMPTY_PLACES`].
    is_vast: bool,
}

impl Call {
    pub(crate) fn new(launch: Launch) -> Self {
        // Every operator passes here, whatever the host. The library is searched for when a kernel needs it.
        lapack::install(tenon_lapack::find);
        if is_immediate() {
            return Self::of(launch, None, true, false);
        }
        let cpu = Cpu::instance();
        // The null stream means a different stream for each device, and a stream may belong to a device that
        // is not current. `ready` finds both.
        let is_found = !launch.stream.is_null();
        let is_idle = is_found && cpu.is_idle(launch.device, launch.stream);
        let has_threads = is_found
            && IS_ENABLED.load(Ordering::Relaxed)
            && cpu.config().is_ok_and(|config| config.threads > 1);
        Self::of(launch, cpu.profiler_time(), is_idle, has_threads)
    }

    fn of(launch: Launch, begun: Option<u64>, is_idle: bool, has_threads: bool) -> Self {
        Self {
            launch,
            begun,
            is_idle,
            has_threads,
            elements: 0,
            unchecked: SmallVec::new(),
            copies: Vec::new(),
            is_bound_to_caller: false,
            writes: false,
            is_vast: false,
        }
    }

    /// Notes a tensor without elements that kernels would step through for years.
    fn note_empty(&mut self, dims: &[usize]) {
        let places =
            dims.iter().filter(|&&dim| dim > 0).fold(1_usize, |places, &dim| places.saturating_mul(dim));
        self.is_vast |= places > MAX_EMPTY_PLACES;
    }

    pub(crate) fn input(&mut self, tensor: &TensorRef<'_>) -> Result<View<'static>> {
        if tensor.is_empty() {
            self.note_empty(tensor.dims());
        }
        if self.runs_before_return(tensor.first(), tensor.len()) {
            // SAFETY: the memory stays valid until the call returns. The kernel runs before that, unless
            // `run` finds that the owner allows it to run later.
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
            // SAFETY: device memory stays allocated until the work on the stream is done, and this call adds
            // its work there. For other memory, the call computes before it returns.
            return unsafe { host::lasting_view(tensor, tensor.first()) };
        }
        let mut copy = vec![0_u128; bytes.div_ceil(size_of::<u128>())].into_boxed_slice();
        // SAFETY: the elements are `bytes` bytes of host memory, and the copy has room for them.
        unsafe {
            copy.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(tensor.first().as_ptr().cast(), bytes);
        }
        let first = DevicePtr::from_ptr(copy.as_ptr());
        self.copies.push(copy);
        // SAFETY: the work keeps the copy, which is aligned for every element type.
        unsafe { host::lasting_view(tensor, first) }
    }

    pub(crate) fn output(&mut self, tensor: &mut TensorMut<'_>) -> Result<ViewMut<'static>> {
        if tensor.is_empty() {
            self.note_empty(tensor.dims())
        } else {
            self.writes = true
        }
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

    /// Counts the elements of a tensor. Returns true if the kernel runs before the call returns, unless later
    /// tensors are large: looking up the owner of the memory takes longer than a short kernel.
    fn runs_before_return(&mut self, first: DevicePtr, elements: usize) -> bool {
        self.elements += elements;
        let runs_before_return = !self.may_be_queued();
        if runs_before_return && elements > 0 {
            self.unchecked.push(first);
        }
        runs_before_return
    }

    /// Returns false if the kernel is too short for another thread, or there is no other thread.
    fn may_be_queued(&self) -> bool {
        self.has_threads && !(self.is_idle && self.elements < INLINE_ELEMENTS)
    }

    /// Runs a kernel in stream order: immediately if it is short and the stream is idle, otherwise on a
    /// thread of the device. A kernel that would write nothing, after countless steps, is not run.
    pub(crate) fn run(
        self,
        name: &'static str,
        mut kernel: impl FnMut() -> tenon_kernels::Result<()> + Send + 'static,
    ) -> Result<()> {
        if self.is_vast && !self.writes {
            return Ok(());
        }
        let traced =
            self.begun.map(|begun| Traced { activity: Activity::Call, name, launch: self.launch, begun });
        if self.is_queued() {
            // A trait object: each operator has its own kernel type, and the code would be compiled for each.
            return self.queue(name, Box::new(kernel));
        }
        if !self.is_idle {
            ready(self.launch)?;
        }
        let _traced = traced.as_ref().and_then(Traced::kernel);
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

/// Work of the calling thread that is recorded on drop.
struct Traced {
    activity: Activity,
    name: &'static str,
    launch: Launch,
    begun: u64,
}

impl Traced {
    /// Starts the record of a kernel that the call computes itself.
    fn kernel(&self) -> Option<Self> {
        let begun = Cpu::instance().profiler_time()?;
        Some(Self { activity: Activity::Kernel, name: self.name, launch: self.launch, begun })
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let Launch { device, stream } = self.launch;
        Cpu::instance().profiler_add(self.activity, self.name, device, stream, self.begun);
    }
}

/// The owner of memory.
#[derive(PartialEq, Eq)]
enum Owner {
    /// The device of the call.
    Device,
    /// The host, which prevents work on streams from writing the memory in the meantime.
    Host,
    /// Another device, or host memory allocated by the device.
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

/// Returns a copied attribute as the kernel's argument type.
pub(crate) fn borrowed(texts: &[String]) -> Vec<&str> {
    texts.iter().map(String::as_str).collect()
}

/// Rejects an output whose shape differs from the common shape of the inputs.
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

/// Computes the gradient with respect to an operand: the sum over the dimensions along which the operand was
/// broadcast.
pub(crate) fn gradient(
    out: &mut ViewMut<'_>,
    dims: &[usize],
    compute: impl FnOnce(&mut ViewMut<'_>) -> tenon_kernels::Result<()>,
) -> tenon_kernels::Result<()> {
    if out.dims() == dims { compute(out) } else { reduction::sum_of(out, dims, compute) }
}

/// Computes the gradient with respect to an operand that the operator passes on unchanged, as [`gradient`] does.
pub(crate) fn same_gradient(out: &mut ViewMut<'_>, dout: &View<'_>) -> tenon_kernels::Result<()> {
    if out.dims() == dout.dims() {
        formulas::elementary::copy(out, dout)
    } else {
        reduction::sum_to(out, dout)
    }
}

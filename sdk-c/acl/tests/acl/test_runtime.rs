//! Shared by the tests: a runtime on the CPU device, with the validation layer between them.

use std::ffi::c_void;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex};

use tenon::device::{self, Device, DeviceId, Function, Layer, Layered, Outcome, WithFallbacks};
use tenon::reflect::Call;
use tenon::{AnyPtr, DevicePtr, HostPtr};
use tenon_acl::api::{
    AclDevice, AclError, Callback, HostFunc, MemAllocationType, MemAttr, MemHandleType, MemLocation,
    MemLocationType, PhysicalMemProp, Result, Stream,
};
use tenon_acl::{Devices, OpenDevice, Runtime};
use tenon_cpu::{Config, Cpu};
use tenon_layers::validate::{Checker, Options, Report, Validate};

/// The devices of a plugin: the CPU device behind the validation layer.
pub struct Cpus {
    device: Layered<WithFallbacks<Arc<Cpu>>>,
    /// Number of open devices.
    pub open: AtomicUsize,
    memory_is_host: bool,
}

struct Opened {
    cpus: Arc<Cpus>,
    id: DeviceId,
}

struct Of(Arc<Cpus>);

impl Devices for Of {
    fn count(&self) -> device::Result<u32> {
        Ok(u32::try_from(self.0.device.get_device_count()?).unwrap())
    }

    fn open(&self, ordinal: u32) -> device::Result<Arc<dyn OpenDevice>> {
        self.0.open.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Opened { cpus: self.0.clone(), id: DeviceId(ordinal.cast_signed()) }))
    }

    fn device_type(&self) -> String {
        "CPU".to_owned()
    }

    fn memory_is_host(&self) -> bool {
        self.0.memory_is_host
    }
}

impl OpenDevice for Opened {
    fn call(&self, body: &mut dyn FnMut(&dyn Device, DeviceId) -> device::Result<()>) -> device::Result<()> {
        body(&self.cpus.device, self.id)
    }

    fn close(&self) {
        self.cpus.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A runtime with its devices.
pub struct TestRuntime {
    pub acl: Option<Arc<Runtime>>,
    pub cpus: Arc<Cpus>,
    validate: Arc<Validate>,
    reports: Arc<Mutex<Vec<Report>>>,
}

/// Creates two devices of 64 MiB.
pub fn runtime() -> TestRuntime {
    runtime_of(true, None)
}

/// Returns a runtime in which device 0 is set for the calling thread.
pub fn ready_runtime() -> TestRuntime {
    let runtime = runtime();
    runtime.rt_set_device(0).unwrap();
    runtime
}

/// Creates two devices that lack some functions.
pub fn lacking_runtime(functions: &'static [Function]) -> TestRuntime {
    runtime_of(true, Some(Arc::new(Lacks(functions))))
}

/// Creates two devices, and counts the calls to one of their functions.
pub fn counting_runtime(function: Function) -> (TestRuntime, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    (runtime_of(true, Some(Arc::new(Counts(function, calls.clone())))), calls)
}

/// Creates two devices whose memory the host cannot access.
pub fn distant_runtime() -> TestRuntime {
    runtime_of(false, None)
}

/// Refuses functions, as for a plugin that lacks them and has no fallback.
struct Lacks(&'static [Function]);

impl Layer for Lacks {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        match Function::ALL[call.index] {
            function if self.0.contains(&function) => Err(device::Error::unsupported(function.name())),
            _ => Ok(0),
        }
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

struct Counts(Function, Arc<AtomicUsize>);

impl Layer for Counts {
    fn before(&self, call: &Call<'_>, _: &dyn Device) -> device::Result<u64> {
        if Function::ALL[call.index] == self.0 {
            self.1.fetch_add(1, Ordering::SeqCst);
        }
        Ok(0)
    }

    fn after(&self, _: &Call<'_>, _: u64, _: &Outcome<'_>, _: &dyn Device) {}
}

fn runtime_of(memory_is_host: bool, outermost: Option<Arc<dyn Layer>>) -> TestRuntime {
    let cpu = Arc::new(Cpu::with_config(Config { devices: 2, memory: 64 << 20, threads: 2 }));
    let reports = Arc::new(Mutex::new(Vec::new()));
    let collected = reports.clone();
    let sink = Arc::new(move |report: &Report| collected.lock().unwrap().push(report.clone()));
    let checker = Checker::new(Options { sink, ..Options::default() });
    let validate = checker.layer("cpu", &*cpu);
    let layers = outermost.into_iter().chain([validate.clone() as Arc<dyn Layer>]);
    let device = Layered::new(WithFallbacks(cpu), layers.collect());
    let cpus = Arc::new(Cpus { device, open: AtomicUsize::new(0), memory_is_host });
    let acl = Arc::new(Runtime::new(Arc::new(Of(cpus.clone()))));
    TestRuntime { acl: Some(acl), cpus, validate, reports }
}

impl std::ops::Deref for TestRuntime {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.acl.as_ref().unwrap()
    }
}

impl TestRuntime {
    /// Returns the runtime, for other threads.
    pub fn shared(&self) -> Arc<Runtime> {
        self.acl.clone().unwrap()
    }

    /// Finalizes the runtime, and checks that nothing is left on the devices and that the validation layer
    /// has reported nothing.
    #[track_caller]
    pub fn end(mut self) {
        drop(self.acl.take());
        assert_eq!(self.cpus.open.load(Ordering::SeqCst), 0, "devices are still open");
        self.validate.finish();
        self.expect_no_reports();
    }

    /// Resets device 0, and ends the runtime as [`TestRuntime::end`] does.
    #[track_caller]
    pub fn reset_and_end(self) {
        self.rt_reset_device(0).unwrap();
        self.end();
    }

    #[track_caller]
    pub fn expect_no_reports(&self) {
        let reports: Vec<String> = self.reports.lock().unwrap().iter().map(ToString::to_string).collect();
        assert!(reports.is_empty(), "{reports:#?}");
    }

    /// Returns the number of live objects of the devices.
    pub fn alive(&self) -> usize {
        self.validate.leaks().len()
    }
}

/// Returns the properties of physical memory of a device.
pub fn physical_of(device: u32, mem_attr: MemAttr) -> PhysicalMemProp {
    PhysicalMemProp {
        handle_type: MemHandleType::NONE,
        allocation_type: MemAllocationType::PINNED,
        mem_attr,
        location: MemLocation { id: device, r#type: MemLocationType::DEVICE },
        reserve: 0,
    }
}

/// Checks that a call failed with this code and a message; returns the message.
#[track_caller]
pub fn refused<T: Debug>(code: AclError, result: Result<T>) -> String {
    let error = result.expect_err("the call should have been refused");
    assert_eq!(error.status, code, "{error}");
    assert!(error.message.len() >= 8, "{error}");
    error.message.to_string()
}

unsafe extern "C-unwind" fn call(function: *mut c_void) {
    // SAFETY: boxed by `boxed`, and called once.
    let function = unsafe { Box::from_raw(function.cast::<Box<dyn FnOnce() + Send>>()) };
    function();
}

fn boxed(function: impl FnOnce() + Send + 'static) -> AnyPtr {
    let function: Box<dyn FnOnce() + Send> = Box::new(function);
    AnyPtr::from_ptr(Box::into_raw(Box::new(function)))
}

/// Returns a callback of the interface. One that is never called leaks.
pub fn callback(function: impl FnOnce() + Send + 'static) -> Callback {
    // SAFETY: the context is what the function takes.
    unsafe { Callback::from_raw(Some(call), boxed(function)) }
}

/// Returns a host function of the interface.
pub fn host_function(function: impl FnOnce() + Send + 'static) -> HostFunc {
    // SAFETY: as above.
    unsafe { HostFunc::from_raw(Some(call), boxed(function)) }
}

/// Blocks a stream until it is opened or dropped.
pub struct Hold(Arc<(Mutex<bool>, Condvar)>);

impl Hold {
    pub fn on(acl: &Runtime, stream: Stream) -> Self {
        use tenon_acl::api::AclCallback as _;
        let gate = Arc::new((Mutex::new(false), Condvar::new()));
        let inner = gate.clone();
        let wait = move || drop(inner.1.wait_while(inner.0.lock().unwrap(), |open| !*open).unwrap());
        acl.rt_launch_host_func(stream, host_function(wait)).unwrap();
        Hold(gate)
    }

    pub fn open(self) {}
}

impl Drop for Hold {
    fn drop(&mut self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }
}

/// Returns the address of any kind of memory.
pub fn any(memory: impl Address) -> AnyPtr {
    AnyPtr::from_addr(memory.address())
}

/// A type with an address.
pub trait Address {
    /// Returns the address as a number.
    fn address(&self) -> usize;
}

impl Address for DevicePtr {
    fn address(&self) -> usize {
        self.addr()
    }
}

impl Address for HostPtr {
    fn address(&self) -> usize {
        self.addr()
    }
}

impl<T> Address for &mut [T] {
    fn address(&self) -> usize {
        self.as_ptr().expose_provenance()
    }
}

/// A thread of the program that runs jobs one after the other.
pub struct Thread {
    jobs: Option<Sender<Box<dyn FnOnce() + Send>>>,
    handle: Option<std::thread::JoinHandle<()>>,
    pub number: u64,
}

impl Thread {
    pub fn start() -> Self {
        let (jobs, todo) = channel::<Box<dyn FnOnce() + Send>>();
        let (sender, receiver) = channel();
        let handle = std::thread::spawn(move || {
            // SAFETY: no conditions.
            sender.send(unsafe { libc::pthread_self() } as u64).unwrap();
            for job in todo {
                job();
            }
        });
        Thread { jobs: Some(jobs), handle: Some(handle), number: receiver.recv().unwrap() }
    }

    /// Runs a job, and waits for its result.
    pub fn run<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> R {
        self.begin(job).recv().unwrap()
    }

    /// Queues a job.
    pub fn begin<R: Send + 'static>(&self, job: impl FnOnce() -> R + Send + 'static) -> Receiver<R> {
        let (sender, receiver) = channel();
        let job = move || drop(sender.send(job()));
        self.jobs.as_ref().unwrap().send(Box::new(job)).unwrap();
        receiver
    }

    pub fn end(mut self) {
        drop(self.jobs.take());
        self.handle.take().unwrap().join().unwrap();
    }
}

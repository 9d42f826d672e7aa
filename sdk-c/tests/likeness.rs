//! A plugin with the required functions only, seen through the library, behaves as the CPU device does:
//! random programs run on both, and what comes back is compared.

#[path = "common/build.rs"]
mod build;

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::Library;
use proptest::prelude::*;

type Handle = *mut c_void;

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions of the library that the programs call.
        struct Sdk { $($name: unsafe extern "C" fn($($argument),*) -> i32,)* }

        impl Sdk {
            fn open(library: &'static Library) -> Self {
                Sdk { $(
                    // SAFETY: the header declares the function so.
                    $name: *unsafe { library.get(concat!("tenon_", stringify!($name)).as_bytes()) }.expect("an export"),
                )* }
            }
        }
    };
}

functions! {
    load_plugin(*const c_char, *const c_void, *mut Handle);
    device_open(*const c_char, c_int, *mut Handle);
    device_close(Handle);
    device_memory_allocate(Handle, *mut Handle, usize);
    device_memory_deallocate(Handle, Handle, usize);
    device_memory_set(Handle, Handle, u8, usize);
    memory_copy_h2d(Handle, Handle, *const u8, usize);
    memory_copy_d2h(Handle, *mut u8, Handle, usize);
    memory_copy_d2d(Handle, Handle, Handle, usize);
    memory_copy_p2p(Handle, Handle, Handle, Handle, usize);
    async_memory_copy_h2d(Handle, Handle, Handle, *const u8, usize);
    async_memory_copy_d2h(Handle, Handle, *mut u8, Handle, usize);
    async_memory_copy_d2d(Handle, Handle, Handle, Handle, usize);
    async_memory_copy_p2p(Handle, Handle, Handle, Handle, Handle, usize);
    create_stream(Handle, *mut Handle);
    destroy_stream(Handle, Handle);
    synchronize_stream(Handle, Handle);
    query_stream(Handle, Handle, *mut bool);
    create_event(Handle, *mut Handle);
    destroy_event(Handle, Handle);
    record_event(Handle, Handle, Handle);
    stream_wait_event(Handle, Handle, Handle);
    query_event(Handle, Handle, *mut bool);
    synchronize_event(Handle, Handle);
    synchronize_device(Handle);
}

fn sdk() -> &'static Sdk {
    static SDK: OnceLock<Sdk> = OnceLock::new();
    SDK.get_or_init(|| {
        // SAFETY: the library is ours.
        let library = unsafe { Library::new(build::library().join("libtenon.so")) }.expect("the library");
        let sdk = Sdk::open(Box::leak(Box::new(library)));
        let plugin = build::scratch("likeness").join("librequired.so");
        build::plugin("required.c", &plugin, &["-pthread"]);
        let path = CString::new(plugin.to_str().expect("UTF-8")).expect("no NUL");
        let mut loaded = null_mut();
        // SAFETY: a path, no options, a place.
        assert_eq!(unsafe { (sdk.load_plugin)(path.as_ptr(), null_mut(), &mut loaded) }, 0);
        sdk
    })
}

/// A part of a piece of memory; it may reach past the end, which is an error.
#[derive(Clone, Copy, Debug)]
struct Part {
    piece: usize,
    offset: usize,
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { device: usize, stream: usize, size: usize },
    Free(usize),
    Set { part: Part, value: u8, size: usize },
    In { part: Part, value: u8, size: usize },
    Out { part: Part, size: usize },
    Within { to: Part, from: Part, size: usize },
    QueuedIn { part: Part, value: u8, size: usize },
    QueuedOut { part: Part, size: usize },
    QueuedWithin { to: Part, from: Part, size: usize },
    Query(usize),
    Event(usize),
    Device(usize),
}

fn part() -> impl Strategy<Value = Part> {
    (0..8usize, 0..80usize).prop_map(|(piece, offset)| Part { piece, offset })
}

fn step() -> impl Strategy<Value = Step> {
    let size = 0..100usize;
    prop_oneof![
        3 => (0..2usize, 0..2usize, 0..150usize)
            .prop_map(|(device, stream, size)| Step::Allocate { device, stream, size }),
        1 => (0..8usize).prop_map(Step::Free),
        2 => (part(), any::<u8>(), size.clone()).prop_map(|(part, value, size)| Step::Set { part, value, size }),
        2 => (part(), any::<u8>(), size.clone()).prop_map(|(part, value, size)| Step::In { part, value, size }),
        2 => (part(), size.clone()).prop_map(|(part, size)| Step::Out { part, size }),
        2 => (part(), part(), size.clone()).prop_map(|(to, from, size)| Step::Within { to, from, size }),
        4 => (part(), any::<u8>(), size.clone()).prop_map(|(part, value, size)| Step::QueuedIn { part, value, size }),
        4 => (part(), size.clone()).prop_map(|(part, size)| Step::QueuedOut { part, size }),
        4 => (part(), part(), size).prop_map(|(to, from, size)| Step::QueuedWithin { to, from, size }),
        1 => (0..4usize).prop_map(Step::Query),
        1 => (0..4usize).prop_map(Step::Event),
        1 => (0..2usize).prop_map(Step::Device),
    ]
}

struct Piece {
    device: usize,
    /// All work on it goes by this stream, or waits for it.
    stream: usize,
    address: Handle,
    size: usize,
}

/// One of the two sides.
struct World {
    sdk: &'static Sdk,
    devices: [Handle; 2],
    /// Two of each device.
    streams: [Handle; 4],
    events: [Handle; 4],
    pieces: Vec<Piece>,
    /// The memory that queued copies read and write; it stays where it is.
    host: Vec<Box<[u8]>>,
    /// Statuses, answers, and bytes that came back.
    log: Vec<(i32, Vec<u8>)>,
}

/// Calls a function of the library.
macro_rules! call {
    ($world:expr, $name:ident($($argument:expr),*)) => {
        // SAFETY: handles are open, and addresses are of live memory or looked up by the device.
        unsafe { ($world.sdk.$name)($($argument),*) }
    };
}

impl World {
    fn new(device_type: &std::ffi::CStr) -> Self {
        let sdk = sdk();
        let mut world = World {
            sdk,
            devices: [null_mut(); 2],
            streams: [null_mut(); 4],
            events: [null_mut(); 4],
            pieces: Vec::new(),
            host: Vec::new(),
            log: Vec::new(),
        };
        for ordinal in 0..2 {
            let mut device = null_mut();
            assert_eq!(call!(world, device_open(device_type.as_ptr(), ordinal, &mut device)), 0);
            world.devices[ordinal as usize] = device;
        }
        for index in 0..4 {
            let (mut stream, mut event) = (null_mut(), null_mut());
            let device = world.devices[index / 2];
            assert_eq!(call!(world, create_stream(device, &mut stream)), 0);
            assert_eq!(call!(world, create_event(device, &mut event)), 0);
            world.streams[index] = stream;
            world.events[index] = event;
        }
        world
    }

    fn run(mut self, steps: &[Step]) -> Vec<(i32, Vec<u8>)> {
        steps.iter().for_each(|step| self.step(step));
        for device in self.devices {
            assert_eq!(call!(self, synchronize_device(device)), 0);
        }
        for bytes in &self.host {
            self.log.push((0, bytes.to_vec()));
        }
        for index in 0..self.pieces.len() {
            let size = self.pieces[index].size;
            self.read(index, 0, size);
        }
        self.end();
        self.log
    }

    fn end(&mut self) {
        for piece in &self.pieces {
            let status =
                call!(self, device_memory_deallocate(self.devices[piece.device], piece.address, piece.size));
            assert_eq!(status, 0);
        }
        for index in 0..4 {
            let device = self.devices[index / 2];
            assert_eq!(call!(self, destroy_event(device, self.events[index])), 0);
            assert_eq!(call!(self, destroy_stream(device, self.streams[index])), 0);
        }
        for device in self.devices {
            assert_eq!(call!(self, device_close(device)), 0);
        }
    }

    /// Returns the beginning of a part, and its owner.
    fn find(&self, part: Part) -> Option<(usize, Handle)> {
        let index = part.piece.checked_rem(self.pieces.len())?;
        Some((index, self.pieces[index].address.wrapping_byte_add(part.offset)))
    }

    fn note(&mut self, status: i32) {
        self.log.push((status, Vec::new()));
    }

    /// Waits for the work on a piece.
    fn settle(&mut self, piece: usize) {
        let Piece { device, stream, .. } = self.pieces[piece];
        let status = call!(self, synchronize_stream(self.devices[device], self.streams[stream]));
        self.note(status);
    }

    /// Makes the stream of one piece wait for the stream of another.
    fn follow(&mut self, later: usize, earlier: usize) {
        let (later, earlier) = (&self.pieces[later], &self.pieces[earlier]);
        if later.stream == earlier.stream {
            return;
        }
        let event = self.events[earlier.stream];
        let recorded =
            call!(self, record_event(self.devices[earlier.device], self.streams[earlier.stream], event));
        let waited = if later.device == earlier.device {
            call!(self, stream_wait_event(self.devices[later.device], self.streams[later.stream], event))
        } else {
            call!(self, synchronize_event(self.devices[earlier.device], event))
        };
        self.note(recorded);
        self.note(waited);
    }

    fn read(&mut self, piece: usize, offset: usize, size: usize) {
        self.settle(piece);
        let Piece { device, address, .. } = self.pieces[piece];
        let mut bytes = vec![0; size];
        let at = address.wrapping_byte_add(offset);
        let status = call!(self, memory_copy_d2h(self.devices[device], bytes.as_mut_ptr(), at, size));
        if status != 0 {
            bytes.clear();
        }
        self.log.push((status, bytes));
    }

    fn host(&mut self, value: u8, size: usize) -> *mut u8 {
        self.host.push(vec![value; size].into_boxed_slice());
        self.host.last_mut().expect("just pushed").as_mut_ptr()
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Allocate { device, stream, size } => {
                let mut address = null_mut();
                let status = call!(self, device_memory_allocate(self.devices[device], &mut address, size));
                self.note(status);
                // New memory holds anything.
                let cleared = call!(self, device_memory_set(self.devices[device], address, 0, size));
                self.note(cleared);
                self.pieces.push(Piece { device, stream: 2 * device + stream, address, size });
            }
            Step::Free(piece) => {
                let Some(index) = piece.checked_rem(self.pieces.len()) else { return };
                self.settle(index);
                let Piece { device, address, size, .. } = self.pieces.swap_remove(index);
                let status = call!(self, device_memory_deallocate(self.devices[device], address, size));
                self.note(status);
            }
            Step::Set { part, value, size } => {
                let Some((piece, at)) = self.find(part) else { return };
                self.settle(piece);
                let device = self.devices[self.pieces[piece].device];
                let status = call!(self, device_memory_set(device, at, value, size));
                self.note(status);
            }
            Step::In { part, value, size } => {
                let Some((piece, at)) = self.find(part) else { return };
                self.settle(piece);
                let device = self.devices[self.pieces[piece].device];
                let bytes = vec![value; size];
                let status = call!(self, memory_copy_h2d(device, at, bytes.as_ptr(), size));
                self.note(status);
            }
            Step::Out { part, size } => {
                let Some((piece, _)) = self.find(part) else { return };
                self.read(piece, part.offset, size);
            }
            Step::Within { to, from, size } => {
                let (Some((to, dst)), Some((from, src))) = (self.find(to), self.find(from)) else { return };
                self.settle(to);
                self.settle(from);
                let [to, from] = [to, from].map(|piece| self.devices[self.pieces[piece].device]);
                let status = if to == from {
                    call!(self, memory_copy_d2d(to, dst, src, size))
                } else {
                    call!(self, memory_copy_p2p(to, from, dst, src, size))
                };
                self.note(status);
            }
            Step::QueuedIn { part, value, size } => {
                let Some((piece, at)) = self.find(part) else { return };
                let bytes = self.host(value, size);
                let Piece { device, stream, .. } = self.pieces[piece];
                let (device, stream) = (self.devices[device], self.streams[stream]);
                let status = call!(self, async_memory_copy_h2d(device, stream, at, bytes, size));
                self.note(status);
            }
            Step::QueuedOut { part, size } => {
                let Some((piece, at)) = self.find(part) else { return };
                let bytes = self.host(0, size);
                let Piece { device, stream, .. } = self.pieces[piece];
                let (device, stream) = (self.devices[device], self.streams[stream]);
                let status = call!(self, async_memory_copy_d2h(device, stream, bytes, at, size));
                self.note(status);
            }
            Step::QueuedWithin { to, from, size } => {
                let (Some((later, dst)), Some((earlier, src))) = (self.find(to), self.find(from)) else {
                    return;
                };
                self.follow(later, earlier);
                let [to, from] = [later, earlier].map(|piece| self.devices[self.pieces[piece].device]);
                let stream = self.streams[self.pieces[later].stream];
                let status = if to == from {
                    call!(self, async_memory_copy_d2d(to, stream, dst, src, size))
                } else {
                    call!(self, async_memory_copy_p2p(to, from, stream, dst, src, size))
                };
                self.note(status);
                self.follow(earlier, later);
            }
            Step::Query(stream) => {
                let (device, mut done) = (self.devices[stream / 2], false);
                let waited = call!(self, synchronize_stream(device, self.streams[stream]));
                let status = call!(self, query_stream(device, self.streams[stream], &mut done));
                self.log.push((waited | status, vec![u8::from(done)]));
            }
            Step::Event(stream) => {
                let (device, event, mut done) = (self.devices[stream / 2], self.events[stream], false);
                let recorded = call!(self, record_event(device, self.streams[stream], event));
                let waited = call!(self, synchronize_event(device, event));
                let status = call!(self, query_event(device, event, &mut done));
                self.log.push((recorded | waited | status, vec![u8::from(done)]));
            }
            Step::Device(device) => {
                let status = call!(self, synchronize_device(self.devices[device]));
                self.note(status);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plugin_with_little_behaves_like_one_with_all(steps in proptest::collection::vec(step(), 1..60)) {
        let cpu = World::new(c"cpu").run(&steps);
        let required = World::new(c"required").run(&steps);
        for (index, (cpu, required)) in cpu.iter().zip(&required).enumerate() {
            prop_assert_eq!(cpu, required, "result {} of {:?}", index, steps);
        }
        prop_assert_eq!(cpu.len(), required.len());
    }
}

//! Arguments for any function, made from what the spec says of its parameters.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenon::device::Function;
use tenon::reflect::{Direction, Extent, FunctionInfo, Kind, Length, ParamInfo, Role, Space};

use crate::choices::Choices;
use crate::objects::Objects;
use crate::place::Place;

/// Length of each block of host memory that functions read and write, in bytes.
const BLOCK: usize = 1 << 16;

/// The maximum number of elements of an array.
const ELEMENTS: u64 = 16;

/// Number of callbacks that ran.
pub static CALLBACKS: AtomicUsize = AtomicUsize::new(0);

/// Counts the calls of a callback. It reads no argument, so it fits any signature.
extern "C" fn count() {
    CALLBACKS.fetch_add(1, Ordering::Relaxed);
}

/// Host memory that functions read and write: it is never freed, so that a stream can use it at any time.
static BLOCKS: LazyLock<[u64; 2]> = LazyLock::new(|| [block(), block()]);

/// Memory of zeros, in place of objects that only a host can make.
static ZEROS: LazyLock<u64> = LazyLock::new(block);

fn block() -> u64 {
    Box::leak(vec![0_u64; BLOCK / 8].into_boxed_slice()).as_mut_ptr().expose_provenance() as u64
}

/// The plugin and the devices that arguments are made for.
pub struct Target {
    pub plugin: u64,
    pub devices: Vec<u64>,
    /// A device that was closed.
    pub closed: u64,
    /// Number of devices of the plugin, for the arrays that have one element for each.
    pub device_count: usize,
}

/// The intended validity of the arguments.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Intent {
    Valid,
    /// Valid, but at the limits of what is allowed.
    Boundary,
    /// The parameter of this index is wrong.
    Hostile(usize),
}

/// The arguments of a call.
pub struct Arguments {
    pub plugin: u64,
    pub bits: Vec<u64>,
    /// For each parameter that is an output, and for the answer of a question, its place.
    pub places: Vec<Option<Place>>,
    /// The reason for which the call must not succeed, if it must not.
    pub must_fail: Option<&'static str>,
    /// True if a callback is passed.
    pub has_callback: bool,
}

/// Returns the name by which the values of a parameter are kept: of a handle its type, of an opaque pointer its own.
pub fn handle_name(param: &ParamInfo) -> Option<&'static str> {
    match param.kind {
        Kind::Handle { name, .. } => Some(name),
        Kind::Pointer if param.space.is_none() && param.context_of.is_none() => Some(param.name),
        _ => None,
    }
}

/// Makes the arguments of one call.
struct Maker<'a> {
    info: &'static FunctionInfo,
    choices: &'a mut Choices,
    objects: &'a Objects,
    target: &'a Target,
    intent: Intent,
    /// The devices chosen so far, by the index of their parameter.
    devices: BTreeMap<usize, u64>,
    /// The space in the memory that a length describes, by the index of the length.
    room: BTreeMap<usize, u64>,
    /// The lengths that have to be the size of an allocation.
    exact: BTreeMap<usize, u64>,
    must_fail: Option<&'static str>,
    has_callback: bool,
}

impl Arguments {
    /// Chooses arguments of a function.
    pub fn choose(function: Function, choices: &mut Choices, objects: &Objects, target: &Target) -> Self {
        let info = function.info();
        let intent = match choices.below(10) {
            0..=5 => Intent::Valid,
            6..=7 => Intent::Boundary,
            _ => Intent::Hostile(choices.below(info.params.len() + usize::from(info.question) + 1)),
        };
        let mut maker = Maker {
            info,
            choices,
            objects,
            target,
            intent,
            devices: BTreeMap::new(),
            room: BTreeMap::new(),
            exact: BTreeMap::new(),
            must_fail: None,
            has_callback: false,
        };
        maker.make()
    }
}

impl Maker<'_> {
    fn make(&mut self) -> Arguments {
        let params = self.info.params;
        let (mut bits, mut places) = (vec![0; params.len()], Vec::new());
        places.resize_with(params.len(), || None);
        for index in (0..params.len()).filter(|index| is_device(&params[*index])) {
            bits[index] = self.device(index);
            self.devices.insert(index, bits[index]);
        }
        // A length is chosen after the memory that it describes.
        let lengths = |index: usize| length_of(self.info, index);
        let (after, before): (Vec<usize>, Vec<usize>) =
            (0..params.len()).filter(|index| !is_device(&params[*index])).partition(|index| lengths(*index));
        for index in before.into_iter().chain(after) {
            let param = &params[index];
            if param.is_output() {
                let place = self.place(index, param);
                bits[index] = self.address_of(index, param.nullable, places[index].insert(place));
            } else {
                bits[index] = self.input(index, param);
            }
        }
        if self.info.question {
            let index = params.len();
            let mut place = Place::new(1);
            bits.push(self.address_of(index, false, &mut place));
            places.push(Some(place));
        }
        let takes_device = self.devices.keys().next().is_some();
        let plugin = if self.is_hostile(places.len()) && !takes_device {
            self.bad("the plugin", self.target.plugin)
        } else {
            self.target.plugin
        };
        Arguments { plugin, bits, places, must_fail: self.must_fail, has_callback: self.has_callback }
    }

    fn is_hostile(&self, index: usize) -> bool {
        self.intent == Intent::Hostile(index)
    }

    /// Returns a number in place of a handle of the library, which refuses it.
    fn bad(&mut self, what: &'static str, good: u64) -> u64 {
        self.must_fail = Some(what);
        let other = self.objects.other_handle(self.choices, "");
        match self.choices.below(5) {
            0 => 0,
            1 => good.wrapping_add(1 << 24),
            // The bits below could be those of another plugin.
            2 => good ^ (1 << (24 + self.choices.below(40))),
            3 => other.unwrap_or(8),
            _ => self.target.closed,
        }
    }

    fn device(&mut self, index: usize) -> u64 {
        let good = self.choices.one_of(&self.target.devices).copied().unwrap_or_default();
        if self.is_hostile(index) { self.bad("a device", good) } else { good }
    }

    /// Returns the place of an output, with the value that goes in, if one does.
    fn place(&mut self, index: usize, param: &ParamInfo) -> Place {
        if let Kind::Struct(_) | Kind::Callback(_) = param.kind {
            return Place::zeroed(256);
        }
        let one = match param.kind {
            Kind::Bool | Kind::Text => 1,
            Kind::Int { bits, .. } | Kind::Float { bits } => usize::from(bits / 8),
            Kind::Enum { .. } => 4,
            _ => 8,
        };
        let count = match param.length {
            Some(Length::Count(Extent::Number(count))) => count as usize,
            Some(Length::Count(Extent::Call(_))) => self.target.device_count,
            Some(Length::Count(Extent::Param(length))) => {
                self.room.insert(length, ELEMENTS);
                ELEMENTS as usize
            }
            Some(Length::Bytes(_)) | None => 1,
        };
        let place = Place::new(one * count);
        if param.direction == Direction::InOut { place.with(self.input(index, param)) } else { place }
    }

    /// Returns the address of a place, or null.
    fn address_of(&mut self, index: usize, nullable: bool, place: &mut Place) -> u64 {
        let is_input = self.info.params.get(index).is_some_and(|param| param.direction == Direction::InOut);
        if self.is_hostile(index) && !nullable && !is_input {
            self.must_fail = Some("the place of an output");
            return 0;
        }
        if nullable && self.choices.once_in(4) { 0 } else { place.address() }
    }

    fn input(&mut self, index: usize, param: &ParamInfo) -> u64 {
        match param.kind {
            Kind::Handle { null, .. } => self.handle(index, param, null),
            Kind::Pointer if param.context_of.is_some() => *ZEROS,
            Kind::Pointer => self.memory(index, param),
            Kind::Int { .. } | Kind::Enum { .. } if param.length.is_some() => self.array(param),
            Kind::Int { bits, .. } => self.int(index, bits),
            Kind::Enum { values, .. } => self.value(index, values),
            Kind::Float { .. } => {
                let values = [0.0, 1.0, -0.5, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
                self.choices.one_of(&values).copied().unwrap_or_default().to_bits()
            }
            Kind::Text => self.text(index, param),
            Kind::Callback(_) if self.is_hostile(index) => {
                self.must_fail = Some("the callback");
                0
            }
            Kind::Callback(_) => {
                self.has_callback = true;
                (count as extern "C" fn() as *const c_void).expose_provenance() as u64
            }
            Kind::Bool => self.choices.below(2) as u64,
            // Devices are chosen first, and structs are passed by address.
            Kind::Id(_) | Kind::Struct(_) => 0,
        }
    }

    fn handle(&mut self, index: usize, param: &ParamInfo, may_be_null: bool) -> u64 {
        let name = handle_name(param).unwrap_or_default();
        if self.is_hostile(index) {
            return self.bad_handle(name, may_be_null);
        }
        if may_be_null && self.choices.once_in(if self.intent == Intent::Boundary { 2 } else { 8 }) {
            return 0;
        }
        let device = param.of.and_then(|of| self.devices.get(&of)).copied();
        let found = self.objects.handle(self.choices, name, device);
        // There is none that only a host can make, or none that the plugin has made yet.
        found.unwrap_or(*ZEROS)
    }

    fn bad_handle(&mut self, name: &str, may_be_null: bool) -> u64 {
        let (choices, objects) = (&mut *self.choices, self.objects);
        let found = match choices.below(4) {
            0 => objects.destroyed_handle(choices, name),
            1 => objects.other_handle(choices, name),
            2 => choices.one_of(&[1, 8, 0xdead_beef, u64::MAX, *ZEROS]).copied(),
            _ => objects.handle(choices, name, None).map(|handle| handle.wrapping_add(8)),
        };
        if found.is_none() && !may_be_null {
            self.must_fail = Some("a handle");
        }
        found.unwrap_or_default()
    }

    /// Returns the address of memory that the function reads, writes or frees.
    fn memory(&mut self, index: usize, param: &ParamInfo) -> u64 {
        let Some(space) = param.space else {
            let found = self.objects.handle(self.choices, param.name, None);
            return if param.nullable { found.unwrap_or_default() } else { *ZEROS };
        };
        if let Some(Length::Count(_)) = param.length {
            return self.array(param);
        }
        let length = match param.length {
            Some(Length::Bytes(Extent::Param(length))) => Some(length),
            _ => None,
        };
        let destroys = param.role == Role::Destroys;
        if space == Space::Host && !destroys {
            let block = BLOCKS[usize::from(param.direction != Direction::In)];
            let offset = self.choices.below(BLOCK / 2);
            self.limit(length, (BLOCK - offset) as u64);
            return if self.is_hostile(index) { 0 } else { block + offset as u64 };
        }
        let device = param.of.and_then(|of| self.devices.get(&of)).copied();
        let found = self.objects.memory(self.choices, space, device);
        let Some(memory) = found else {
            self.limit(length, 0);
            return 0;
        };
        self.limit(length, memory.size);
        if let Some(length) = length.filter(|_| destroys) {
            self.exact.insert(length, memory.size);
        }
        if self.is_hostile(index) {
            return match self.choices.below(6) {
                0 => 0,
                1 => self.objects.freed(self.choices).unwrap_or(8),
                2 => memory.address.wrapping_add(1),
                3 => memory.address.wrapping_add(memory.size),
                4 => BLOCKS[0],
                _ => self.objects.other_handle(self.choices, "").unwrap_or(1),
            };
        }
        // An address inside an allocation is as good as its first, but for a length that has to fit.
        if self.intent == Intent::Valid && !destroys && memory.size > 1 && self.choices.once_in(4) {
            let by = self.choices.below(memory.size as usize) as u64;
            self.limit(length, memory.size - by);
            return memory.address + by;
        }
        memory.address
    }

    fn limit(&mut self, length: Option<usize>, room: u64) {
        if let Some(length) = length {
            let least = self.room.entry(length).or_insert(room);
            *least = room.min(*least);
        }
    }

    /// Returns an array of zeros in host memory.
    fn array(&mut self, param: &ParamInfo) -> u64 {
        if let Some(Length::Count(Extent::Param(length))) = param.length {
            self.limit(Some(length), ELEMENTS);
        }
        *ZEROS
    }

    fn int(&mut self, index: usize, bits: u8) -> u64 {
        if let Some(room) = self.room.get(&index).copied() {
            return self.length(index, room);
        }
        if length_of(self.info, index) {
            // The size of an allocation.
            return if self.is_hostile(index) { self.choices.huge_size() } else { self.choices.size() };
        }
        if self.reaches_unknown_length() {
            return self.choices.below(ELEMENTS as usize) as u64;
        }
        let most = u64::MAX >> (64 - u32::from(bits));
        match self.choices.below(6) {
            0 => most,
            1 => most / 2,
            2 => 1 << (bits - 1),
            _ => self.choices.below(3) as u64,
        }
    }

    /// Returns a length of memory in which there is room for so much.
    fn length(&mut self, index: usize, room: u64) -> u64 {
        let (of_host, of_device) = (self.is_length_in(index, true), self.is_length_in(index, false));
        // A length of host memory alone cannot be checked.
        if self.is_hostile(index) && of_device {
            return match self.choices.below(3) {
                0 if !of_host => room + 1 + self.choices.below(64) as u64,
                _ => self.choices.huge_size(),
            };
        }
        if let Some(exact) = self.exact.get(&index) {
            return *exact;
        }
        match self.intent {
            // A pattern is as long as an element.
            Intent::Valid if of_host && !of_device => 1 << self.choices.below(5),
            Intent::Valid if room > 0 => 1 + self.choices.below(room as usize) as u64,
            Intent::Boundary => [0, room][self.choices.below(2)],
            _ => room,
        }
    }

    /// Returns true if a length is one of host memory, or one of memory of a device.
    fn is_length_in(&self, index: usize, host: bool) -> bool {
        self.info.params.iter().any(|param| {
            param.length == Some(Length::Bytes(Extent::Param(index)))
                && param.space.is_some_and(|space| (space == Space::Host) == host)
        })
    }

    /// Returns true if the spec does not say how much of some memory a function uses.
    fn reaches_unknown_length(&self) -> bool {
        self.info.params.iter().any(|param| param.space.is_some() && param.length.is_none())
    }

    fn value(&mut self, index: usize, values: &[(i64, &str)]) -> u64 {
        if self.is_hostile(index) {
            let wrong = [-1, 99, i64::from(i32::MAX), i64::from(i32::MIN)];
            return self.choices.one_of(&wrong).copied().unwrap_or_default() as u64;
        }
        self.choices.one_of(values).map_or(0, |(value, _)| *value as u64)
    }

    fn text(&mut self, index: usize, param: &ParamInfo) -> u64 {
        let text = if self.is_hostile(index) {
            let wrong = [None, Some(c""), Some(c"\xff\xfe"), Some(c"/nonexistent/folder/file")];
            self.choices.one_of(&wrong).copied().flatten()
        } else {
            Some(c"/dev/null")
        };
        if text.is_none() && !param.nullable {
            self.must_fail = Some("a text");
        }
        text.map_or(0, |text| text.as_ptr().expose_provenance() as u64)
    }
}

fn is_device(param: &ParamInfo) -> bool {
    matches!(param.kind, Kind::Id(_)) && param.direction == Direction::In
}

/// Returns true if a parameter is the length of another.
fn length_of(info: &FunctionInfo, index: usize) -> bool {
    let is_length = |length| matches!(length, Length::Bytes(Extent::Param(of)) | Length::Count(Extent::Param(of)) if of == index);
    info.params.iter().any(|param| param.length.is_some_and(is_length))
}

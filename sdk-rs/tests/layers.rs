//! Layers: each call passes through all of them, in order, with its arguments.

mod minimal;

use std::sync::{Arc, Mutex};

use minimal::minimal;
use tenon::DevicePtr;
use tenon::device::*;
use tenon::reflect::{Call, Direction, Extent, Kind, Length, Need, Role, Space};

minimal!(tenon::device => Minimal {});

static MINIMAL: Minimal = Minimal;

const ID: DeviceId = DeviceId(1);

/// Records calls, and refuses the calls of one function.
struct Recorder {
    name: &'static str,
    refused: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Layer for Recorder {
    fn before(&self, call: &Call<'_>, next: &dyn Device) -> Result<u64> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(format!("{} > {} {:?}", self.name, call.function.name, call.arguments));
        if call.function.name == self.refused {
            return Err(Error::invalid(format!("refused by {}", self.name)));
        }
        // The inner device can be called, and the call does not come back here.
        Ok(next.get_device_count()? as u64 + seen.len() as u64)
    }

    fn after(&self, call: &Call<'_>, note: u64, outcome: &Outcome<'_>, _: &dyn Device) {
        let outcome = match (outcome.error, outcome.answer) {
            (Some(error), _) => error.message.to_string(),
            (None, Some(answer)) => answer.to_string(),
            (None, None) => "ok".to_owned(),
        };
        let line = format!("{} < {} {:?} {note} {outcome}", self.name, call.function.name, call.arguments);
        self.seen.lock().unwrap().push(line);
    }
}

type Seen = Arc<Mutex<Vec<String>>>;

fn layered(refused: [&'static str; 2]) -> (Layered<WithFallbacks<&'static Minimal>>, Seen) {
    let seen = Seen::default();
    let layer = |name, refused| Arc::new(Recorder { name, refused, seen: seen.clone() }) as Arc<dyn Layer>;
    let layers = vec![layer("outer", refused[0]), layer("inner", refused[1])];
    (Layered::new(WithFallbacks(&MINIMAL), layers), seen)
}

#[test]
fn a_call_goes_down_and_comes_back_with_its_arguments() {
    let (device, seen) = layered(["", ""]);
    let source = *b"abcd";
    let memory = device.device_memory_allocate(ID, 4).unwrap();
    device.memory_copy_h2d(ID, memory, &source).unwrap();
    let (m, s) = (memory.addr(), source.as_ptr().addr());
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "outer > device_memory_allocate [1, 0, 4]".to_owned(),
            "inner > device_memory_allocate [1, 0, 4]".to_owned(),
            format!("inner < device_memory_allocate [1, {m}, 4] 4 ok"),
            format!("outer < device_memory_allocate [1, {m}, 4] 3 ok"),
            format!("outer > memory_copy_h2d [1, {m}, {s}, 4]"),
            format!("inner > memory_copy_h2d [1, {m}, {s}, 4]"),
            format!("inner < memory_copy_h2d [1, {m}, {s}, 4] 8 ok"),
            format!("outer < memory_copy_h2d [1, {m}, {s}, 4] 7 ok"),
        ]
    );
    device.device_memory_deallocate(ID, memory, 4).unwrap();
}

#[test]
fn a_refused_call_reaches_nothing_below_and_is_told_to_all_above() {
    let (device, seen) = layered(["", "set_device"]);
    let before = minimal::CURRENT.get();
    let error = device.set_device(DeviceId(0)).unwrap_err();
    assert_eq!(error.message, "refused by inner");
    assert_eq!(minimal::CURRENT.get(), before);
    assert_eq!(
        *seen.lock().unwrap(),
        ["outer > set_device [0]", "inner > set_device [0]", "outer < set_device [0] 3 refused by inner",]
    );
    let (device, seen) = layered(["set_device", ""]);
    assert!(device.set_device(DeviceId(0)).is_err());
    assert_eq!(*seen.lock().unwrap(), ["outer > set_device [0]"]);
}

#[test]
fn failures_and_answers_come_back_too() {
    let (device, seen) = layered(["", ""]);
    assert!(device.set_device(DeviceId(7)).is_err());
    assert!(device.query_stream(ID, Stream::NULL).unwrap());
    let seen = seen.lock().unwrap();
    assert_eq!(seen[3], "outer < set_device [7] 3 there is no device 7");
    assert_eq!(seen[7], "outer < query_stream [1, 0] 7 true");
}

#[test]
fn negative_numbers_keep_their_sign() {
    let (device, seen) = layered(["", ""]);
    assert!(device.set_device(DeviceId(-1)).is_err());
    assert_eq!(seen.lock().unwrap()[0], format!("outer > set_device [{}]", -1i64 as u64));
}

#[test]
fn the_spec_is_there_as_data() {
    assert_eq!(reflection::FUNCTIONS.len(), Function::ALL.len());
    for (info, function) in reflection::FUNCTIONS.iter().zip(Function::ALL) {
        assert_eq!(info.name, function.name());
        assert_eq!(info.need != Need::Optional, function.is_required(), "{}", info.name);
        assert_eq!(Function::of_name(info.name), Some(function));
    }
    let copy = Function::AsyncMemoryCopyH2d.info();
    assert_eq!(copy.stream_ordered, Some(1));
    let names: Vec<_> = copy.params.iter().map(|param| param.name).collect();
    assert_eq!(names, ["device", "stream", "dst", "src", "size"]);
    assert_eq!(copy.params[2].space, Some(Space::Device));
    assert_eq!(copy.params[2].direction, Direction::Out);
    assert_eq!(copy.params[2].length, Some(Length::Bytes(Extent::Param(4))));
    assert_eq!(copy.params[3].held, Some(1));
    let fallback = copy.fallback.as_ref().unwrap();
    assert_eq!(fallback.calls, ["synchronize_stream", "memory_copy_h2d"]);
    let free = Function::DeviceMemoryDeallocate.info();
    assert_eq!(free.params[1].role, Role::Destroys);
    assert!(matches!(
        Function::CreateEvent.info().params[1].kind,
        Kind::Handle { name: "Event", null: false }
    ));
    assert_eq!(Function::GetMultiProcess.info().since, Some("3.1"));
}

#[test]
fn numbers_repeat_a_call() {
    let (device, _) = layered(["", ""]);
    // SAFETY: each call gets what its function needs: addresses of memory with the given lengths.
    let call = |function: Function, words: &mut [u64]| unsafe { function.call_with(&device, words) };
    let mut words = [1, 0, 4];
    assert_eq!(call(Function::DeviceMemoryAllocate, &mut words), Some(Ok(false)));
    assert_ne!(words[1], 0, "the result is written to the arguments");
    let (memory, source, mut back) = (words[1], *b"abcd", [0u8; 4]);
    let address = |bytes: &[u8]| bytes.as_ptr().expose_provenance() as u64;
    assert_eq!(call(Function::MemoryCopyH2d, &mut [1, memory, address(&source), 4]), Some(Ok(false)));
    let destination = back.as_mut_ptr().expose_provenance() as u64;
    assert_eq!(call(Function::MemoryCopyD2h, &mut [1, destination, memory, 4]), Some(Ok(false)));
    assert_eq!(back, source);
    // The fallback of a question answers yes.
    assert_eq!(call(Function::QueryEvent, &mut [1, 1]), Some(Ok(true)));
    assert!(call(Function::MemoryCopyH2d, &mut [1, memory, 0, 4]).unwrap().is_err(), "a null address");
    assert!(call(Function::MemoryCopyH2d, &mut [1, memory]).is_none(), "too few numbers");
    assert!(call(Function::XcclGetUniqueId, &mut [0]).is_none(), "numbers do not represent a struct");
}

#[test]
fn functions_of_the_sdk_are_described() {
    let copy = Function::AsyncMemoryCopyH2d.in_c();
    assert_eq!(copy.name, "tenon_async_memory_copy_h2d");
    assert_eq!(copy.params, ["tenon_device", "tenon_stream", "void*", "const void*", "size_t"]);
    assert!(!copy.takes_plugin && !copy.answers && !copy.managed);
    assert!(Function::QueryEvent.in_c().answers && Function::GetDevice.in_c().takes_plugin);
    assert!(Function::Initialize.in_c().managed);
    for function in Function::ALL {
        assert_eq!(function.in_c().params.len(), function.info().params.len(), "{}", function.name());
    }
}

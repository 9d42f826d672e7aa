//! Files that look like captures and were made to do harm: they are refused before anything runs, or their calls are left
//! out.

mod common;

use std::path::PathBuf;
use std::sync::Arc;

use common::made::{Made, destination, kind, memory, source};
use tenon::DevicePtr;
use tenon::device::*;
use tenon::reflect::{Direction, Kind, Length, ParamInfo, Role, Space};
use tenon_cpu::{Config, Cpu};
use tenon_layers::capture::replay::{ReplayError, Report, Target, replay};
use tenon_layers::capture::{Argument, Hash, Output, Position, ReadError, Recording};
use tenon_testing::stub_device;

const ADDRESS: u64 = 0x4141_4141;

/// Returns the path of a file for a test.
fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("made");
    std::fs::create_dir_all(&folder).unwrap();
    // Tests run side by side, and some use a name more than once.
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    folder.join(format!("{test}-{name}"))
}

fn cpu() -> Arc<Cpu> {
    Arc::new(Cpu::with_config(Config { devices: 2, memory: 64 << 20, threads: 2 }))
}

fn repeat(recording: &Recording) -> Report {
    replay(recording, cpu(), Target::default(), &mut |_| {}).unwrap()
}

/// Returns the reasons of the calls that were left out.
fn skipped(recording: &Recording) -> Vec<(&'static str, String)> {
    let report = repeat(recording);
    assert!(report.is_equal(), "{report}");
    report.skipped.into_iter().map(|skipped| (skipped.function, skipped.reason)).collect()
}

/// Returns the problem of a file that has to be refused.
#[track_caller]
fn problem(made: &Made, name: &str) -> String {
    match made.read(&path(name)) {
        Err(ReadError::Damaged { problem, .. }) => problem,
        other => panic!("{other:?}"),
    }
}

/// A file with a stream (1), an event (2), memory of the device (3) and pinned memory (4), each block of 64 bytes.
fn objects() -> Made {
    let mut made = Made::new(b"cpu");
    made.create(Function::CreateStream, 1).create(Function::CreateEvent, 2);
    made.allocate(Function::DeviceMemoryAllocate, 3, 64).allocate(Function::HostMemoryAllocate, 4, 64);
    made
}

/// Every kind of argument, with values that do harm if they are taken for another kind.
fn arguments() -> Vec<Argument> {
    let position = Some(Position { block: 3, offset: 0 });
    vec![
        Argument::Number(ADDRESS),
        Argument::Null,
        Argument::Handle(1),
        memory(3, 0),
        Argument::Source { content: None, length: ADDRESS, position },
        Argument::Destination { length: ADDRESS, position },
        Argument::Text(b"/tmp/path".to_vec()),
        Argument::Output,
        Argument::Callback,
        Argument::Unknown,
    ]
}

/// Returns true if the type of a parameter is a number, and not an address of numbers.
fn is_number(param: &ParamInfo) -> bool {
    let is_plain = param.direction != Direction::Out && param.length.is_none();
    is_plain
        && matches!(
            param.kind,
            Kind::Bool | Kind::Int { .. } | Kind::Float { .. } | Kind::Id(_) | Kind::Enum { .. }
        )
}

/// Returns an argument that the layer could write for a parameter.
fn usual(param: &ParamInfo) -> Argument {
    match param.kind {
        _ if param.direction == Direction::Out && (!param.is_memory()) => Argument::Output,
        _ if param.context_of.is_some() => Argument::Callback,
        Kind::Callback(_) => Argument::Callback,
        _ if is_number(param) => Argument::Number(1),
        _ => Argument::Null,
    }
}

#[test]
fn each_parameter_refuses_arguments_of_another_kind() {
    let mut accepted = 0;
    for function in Function::ALL {
        let params = function.info().params;
        for (index, param) in params.iter().enumerate() {
            for argument in arguments() {
                let mut made = objects();
                let mut call: Vec<Argument> = params.iter().map(usual).collect();
                call[index] = argument.clone();
                made.begin(function, &call);
                let is_read = made.read(&path("kinds.cap")).is_ok();
                accepted += u32::from(is_read);
                let what = format!("{argument:?} for `{}` of `{}`", param.name, function.name());
                let is_address = matches!(param.kind, Kind::Pointer | Kind::Text | Kind::Struct(_))
                    || matches!(param.length, Some(Length::Count(_)));
                match argument {
                    Argument::Number(_) => assert!(!is_read || is_number(param), "{what}"),
                    Argument::Handle(_) => {
                        let wanted = matches!(param.kind, Kind::Handle { name: "Stream", .. });
                        assert!(!is_read || (wanted && param.direction != Direction::Out), "{what}");
                    }
                    Argument::Callback => {
                        let wanted = matches!(param.kind, Kind::Callback(_)) || param.context_of.is_some();
                        assert_eq!(is_read, wanted, "{what}");
                    }
                    Argument::Output => {
                        assert_eq!(is_read, matches!(usual(param), Argument::Output), "{what}");
                    }
                    Argument::Text(_) => assert!(!is_read || matches!(param.kind, Kind::Text), "{what}"),
                    Argument::Memory(_) => assert!(!is_read || is_address, "{what}"),
                    // The length is not what the call gives.
                    Argument::Source { .. } | Argument::Destination { .. } => assert!(!is_read, "{what}"),
                    Argument::Null | Argument::Unknown => {
                        let wanted = !is_number(param) && !matches!(usual(param), Argument::Callback);
                        assert!(!is_read || wanted, "{what}");
                    }
                }
            }
        }
    }
    assert!(accepted > 300, "each parameter accepts something: {accepted}");
}

#[test]
fn a_number_is_no_callback_and_no_memory() {
    let mut made = objects();
    let call = [Argument::Number(0), Argument::Handle(1), Argument::Number(ADDRESS), Argument::Number(0)];
    made.call(Function::StreamAddCallback, &call, &[]);
    assert_eq!(
        problem(&made, "callback.cap"),
        "in call 4, `callback` of `stream_add_callback` is a number and not a callback"
    );
    let mut made = objects();
    let call = [Argument::Number(0), Argument::Number(ADDRESS), memory(3, 0), Argument::Number(64)];
    made.call(Function::MemoryCopyD2h, &call, &[]);
    assert_eq!(
        problem(&made, "destination.cap"),
        "in call 4, `dst` of `memory_copy_d2h` is a number and not host memory that the call writes"
    );
}

#[test]
fn contents_have_the_length_that_the_call_gives() {
    for (length, size) in [(16, 64), (64, 16), (16, u64::MAX)] {
        let mut made = objects();
        let content = made.content(&[7; 16]);
        let call = [Argument::Number(0), memory(3, 0), source(content, length), Argument::Number(size)];
        made.begin(Function::MemoryCopyH2d, &call);
        assert!(made.read(&path("short.cap")).is_err(), "{length} {size}");
        let call = [Argument::Number(0), destination(length), memory(3, 0), Argument::Number(size)];
        let mut made = objects();
        made.begin(Function::MemoryCopyD2h, &call);
        assert_eq!(
            problem(&made, "short.cap"),
            "in call 4, `dst` of `memory_copy_d2h` has another length than the call gives"
        );
    }
}

#[test]
fn numbers_fit_their_types() {
    for device in [1 << 32, u64::from(u32::MAX), 1 << 63] {
        let mut made = Made::new(b"cpu");
        made.call(Function::SetDevice, &[Argument::Number(device)], &[]);
        assert_eq!(problem(&made, "device.cap"), "in call 0, `device` of `set_device` does not fit its type");
    }
    let mut made = objects();
    let call = [Argument::Number(0), memory(3, 0), Argument::Number(256), Argument::Number(64)];
    made.begin(Function::DeviceMemorySet, &call);
    assert!(problem(&made, "byte.cap").contains("`value` of `device_memory_set` does not fit"));
}

#[test]
fn objects_keep_their_type() {
    let mut event_as_stream = objects();
    event_as_stream.begin(Function::SynchronizeStream, &[Argument::Number(0), Argument::Handle(2)]);
    let mut memory_as_stream = objects();
    memory_as_stream.begin(Function::SynchronizeStream, &[Argument::Number(0), Argument::Handle(3)]);
    let mut stream_as_memory = objects();
    let call = [Argument::Number(0), memory(1, 0), Argument::Number(0), Argument::Number(1)];
    stream_as_memory.begin(Function::DeviceMemorySet, &call);
    let mut again = objects();
    again.create(Function::CreateEvent, 1);
    let mut twice = objects();
    twice.allocate(Function::DeviceMemoryAllocate, 3, 1 << 30);
    let mut zero = objects();
    zero.create(Function::CreateStream, 0);
    let mut number = objects();
    let outputs = [(1, Output::Number(ADDRESS))];
    number.call(Function::CreateStream, &[Argument::Number(0), Argument::Output], &outputs);
    let mut input = objects();
    input.call(Function::SetDevice, &[Argument::Number(0)], &[(0, Output::Created(9))]);
    let mut both = objects();
    let outputs = [(1, Output::Created(8)), (1, Output::Created(9))];
    both.call(Function::CreateStream, &[Argument::Number(0), Argument::Output], &outputs);
    let mut failed = objects();
    let call = failed.begin(Function::CreateStream, &[Argument::Number(0), Argument::Output]);
    failed.end(call, 1, &[(1, Output::Created(9))]);
    let files = [
        event_as_stream,
        memory_as_stream,
        stream_as_memory,
        again,
        twice,
        zero,
        number,
        input,
        both,
        failed,
    ];
    for (index, made) in files.iter().enumerate() {
        assert!(problem(made, "objects.cap").contains("call 4"), "file {index}");
    }
}

#[test]
fn records_are_in_order() {
    let call = [Argument::Number(0)];
    let mut outcome_twice = objects();
    outcome_twice.call(Function::SetDevice, &call, &[]).end(4, 0, &[]);
    let mut after_the_end = objects();
    after_the_end.record(kind::END, &[]).call(Function::SetDevice, &call, &[]);
    let mut interface_again = objects();
    interface_again.record(kind::INTERFACE, &[0; 12]);
    let mut no_copy = objects();
    no_copy.call(Function::SetDevice, &call, &[]);
    no_copy.record(kind::ARRIVAL, &[&4u64.to_le_bytes()[..], &[0, 0], &[0; 16]].concat());
    let mut no_param = objects();
    no_param.call(Function::SetDevice, &call, &[]);
    no_param.record(kind::ARRIVAL, &[&4u64.to_le_bytes()[..], &[200, 0], &[0; 16]].concat());
    let mut too_long = objects();
    too_long.record(kind::END, &[0]);
    for made in [outcome_twice, after_the_end, interface_again, no_copy, no_param, too_long] {
        problem(&made, "order.cap");
    }
}

#[test]
fn bytes_are_not_unpacked_for_a_call_that_is_not_made() {
    // As bytes in LZ4 they are wrong, so unpacking them is an error.
    let length = 255 << 20;
    let call = |made: &mut Made, dst: Argument| {
        let content = made.stored(Hash::of(b""), length, &[0; 1 << 20]);
        let call = [Argument::Number(0), dst, source(content, length), Argument::Number(length)];
        made.call(Function::MemoryCopyH2d, &call, &[]);
    };
    let mut made = objects();
    call(&mut made, memory(3, 0));
    call(&mut made, memory(9, 0));
    call(&mut made, Argument::Unknown);
    call(&mut made, Argument::Null);
    let content = made.stored(Hash::of(b""), length, &[0; 1 << 20]);
    let numbers = [length, 64].map(Argument::Number);
    let [pattern_size, size] = numbers;
    let fill =
        [Argument::Number(0), Argument::Null, memory(3, 0), source(content, length), pattern_size, size];
    made.call(Function::AsyncMemoryFill, &fill, &[]);
    let reasons: Vec<String> =
        skipped(&made.read(&path("bomb.cap")).unwrap()).into_iter().map(|(_, reason)| reason).collect();
    let less = format!("it uses {length} bytes of the host, but less memory of the device");
    assert_eq!(
        reasons,
        [
            "it reaches past the end of its memory",
            "it needs an object that does not exist",
            "`dst` is from outside of the capture",
            &less,
            &less
        ]
    );
}

#[test]
fn bytes_are_unpacked_for_a_call_that_needs_them() {
    let mut made = Made::new(b"cpu");
    made.allocate(Function::DeviceMemoryAllocate, 1, 1000);
    let content = made.stored(Hash::of(b""), 1000, &[0; 100]);
    let call = [Argument::Number(0), memory(1, 0), source(content, 1000), Argument::Number(1000)];
    made.call(Function::MemoryCopyH2d, &call, &[]);
    let recording = made.read(&path("needed.cap")).unwrap();
    let error = replay(&recording, cpu(), Target::default(), &mut |_| {}).unwrap_err();
    assert!(matches!(error, ReplayError::Read(ReadError::Damaged { .. })), "{error}");
}

#[test]
fn memory_is_freed_as_it_was_allocated() {
    let free = |function, position, size| {
        let mut made = objects();
        made.call(function, &[Argument::Number(0), position, Argument::Number(size)], &[]);
        skipped(&made.read(&path("free.cap")).unwrap())
    };
    let other = "it frees other memory than was allocated";
    for (function, position, size) in [
        (Function::DeviceMemoryDeallocate, memory(3, 0), 32),
        (Function::DeviceMemoryDeallocate, memory(3, 32), 32),
        (Function::HostMemoryDeallocate, memory(3, 0), 64),
        (Function::DeviceMemoryDeallocate, memory(4, 0), 64),
    ] {
        assert_eq!(free(function, position, size), [(function.name(), other.to_owned())]);
    }
    assert_eq!(free(Function::DeviceMemoryDeallocate, memory(3, 0), 64), []);
}

#[test]
fn memory_of_unknown_length_is_not_used() {
    let mut made = objects();
    made.call(Function::GetDeviceProperties, &[Argument::Number(0), memory(4, 60)], &[]);
    let numbers = [4, 100].map(Argument::Number);
    let [float32, numel] = numbers;
    let one = Argument::Number(1.0f64.to_bits());
    let stream = Argument::Null;
    let axpby = [Argument::Number(0), stream, float32, numel, one.clone(), memory(3, 0), one, memory(3, 0)];
    made.call(Function::BlasAxpby, &axpby, &[]);
    assert_eq!(
        skipped(&made.read(&path("unknown.cap")).unwrap()),
        [
            ("get_device_properties", "the length of `device_properties` is unknown".to_owned()),
            ("blas_axpby", "it reaches past the end of its memory".to_owned())
        ]
    );
}

#[test]
fn a_file_that_a_capture_names_is_not_written() {
    let victim = path("victim.txt");
    std::fs::write(&victim, "precious").unwrap();
    let mut made = objects();
    let device = Argument::Number(0);
    let begin = [device.clone(), Argument::Handle(1), Argument::Number(0)];
    made.call(Function::CudaStreamBeginCapture, &begin, &[]);
    let end = [device, Argument::Handle(1), Argument::Output];
    made.call(Function::CudaStreamEndCapture, &end, &[(2, Output::Created(5))]);
    let name = Argument::Text(victim.to_str().unwrap().as_bytes().to_vec());
    made.call(Function::CudaGraphDebugDotPrint, &[Argument::Handle(5), name, Argument::Number(0)], &[]);
    let recording = made.read(&path("writes.cap")).unwrap();
    assert_eq!(skipped(&recording), [("cuda_graph_debug_dot_print", "`path` names a file".to_owned())]);
    assert_eq!(std::fs::read_to_string(victim).unwrap(), "precious");
    let program = tenon_layers::capture::c_program::c_program(&recording).unwrap();
    assert!(!program.contains("CALL(6,"), "{program}");
}

#[test]
fn nothing_is_used_after_the_end_of_the_plugin() {
    let mut made = objects();
    made.call(Function::Finalize, &[], &[]);
    let set = [Argument::Number(0), memory(3, 0), Argument::Number(1), Argument::Number(64)];
    made.call(Function::DeviceMemorySet, &set, &[]);
    made.call(Function::Initialize, &[], &[]);
    made.call(Function::DeviceMemorySet, &set, &[]);
    let reasons = skipped(&made.read(&path("finalized.cap")).unwrap());
    assert_eq!(
        reasons,
        [
            ("device_memory_set", "the plugin was finalised before".to_owned()),
            ("device_memory_set", "it needs an object that does not exist".to_owned())
        ]
    );
}

#[test]
fn devices_and_values_that_do_not_exist_reach_no_plugin() {
    let mut made = objects();
    let call = made.begin(Function::SetDevice, &[Argument::Number(77)]);
    made.end(call, 1, &[]);
    let begin = [Argument::Number(0), Argument::Handle(1), Argument::Number(99)];
    made.call(Function::CudaStreamBeginCapture, &begin, &[]);
    assert_eq!(
        skipped(&made.read(&path("values.cap")).unwrap()),
        [
            ("set_device", "there is no device 77".to_owned()),
            ("cuda_stream_begin_capture", "`mode` has no value 99".to_owned())
        ]
    );
}

/// A device with memory that the host cannot use.
#[derive(Default)]
struct Remote;

stub_device! {
    #[tenon::device]
    impl Remote {
        fn device_memory_allocate(&self, _: DeviceId, _: usize) -> Result<DevicePtr> {
            Ok(DevicePtr::from_addr(0x10_0000))
        }
        fn memory_copy_h2d(&self, _: DeviceId, _: DevicePtr, src: &[u8]) -> Result<()> {
            assert_eq!(src, [7; 16]);
            Ok(())
        }
        fn memory_copy_d2h(&self, _: DeviceId, dst: &mut [u8], _: DevicePtr) -> Result<()> {
            dst.fill(9);
            Ok(())
        }
    }
    optional {}
}

#[test]
fn the_host_never_uses_memory_of_the_device() {
    let mut made = Made::new(b"remote");
    made.allocate(Function::DeviceMemoryAllocate, 1, 64).allocate(Function::DeviceMemoryAllocate, 2, 64);
    let content = made.content(&[7; 16]);
    let position = Some(Position { block: 2, offset: 0 });
    let size = Argument::Number(16);
    let source = Argument::Source { content: Some(content), length: 16, position };
    made.call(Function::MemoryCopyH2d, &[Argument::Number(0), memory(1, 0), source, size.clone()], &[]);
    let destination = Argument::Destination { length: 16, position };
    made.call(Function::MemoryCopyD2h, &[Argument::Number(0), destination, memory(1, 0), size.clone()], &[]);
    let unknown = Argument::Source { content: None, length: 16, position };
    made.call(Function::MemoryCopyH2d, &[Argument::Number(0), memory(1, 0), unknown, size], &[]);
    let recording = made.read(&path("remote.cap")).unwrap();
    let report = replay(&recording, Arc::new(Remote), Target::default(), &mut |_| {}).unwrap();
    assert!(report.is_equal() && report.repeated == 4, "{report}");
    assert_eq!(report.skipped[0].reason, "`src` is not memory of the host");
}

#[test]
fn a_bit_of_a_length_makes_a_file_damaged_and_not_cut_off() {
    let mut made = objects();
    let content = made.content(&[7; 16]);
    let call = [Argument::Number(0), memory(3, 0), source(content, 16), Argument::Number(16)];
    made.call(Function::MemoryCopyH2d, &call, &[]);
    for is_ended in [false, true] {
        if is_ended {
            made.record(kind::END, &[]);
        }
        let whole = made.bytes();
        let mut starts = Vec::new();
        let mut at = 12;
        while at < whole.len() {
            starts.push(at);
            at += 13 + u64::from_le_bytes(whole[at + 1..at + 9].try_into().unwrap()) as usize;
        }
        assert_eq!((at, starts.len()), (whole.len(), 13 + usize::from(is_ended)));
        for start in starts {
            for bit in 0..64 {
                let mut bytes = whole.to_vec();
                bytes[start + 1 + bit / 8] ^= 1 << (bit % 8);
                let file = path("bit.cap");
                std::fs::write(&file, bytes).unwrap();
                let read = Recording::open(&file);
                assert!(matches!(read, Err(ReadError::Damaged { .. })), "bit {bit} of {start}: {read:?}");
            }
        }
    }
}

#[test]
fn texts_of_a_file_cannot_command_a_terminal() {
    let mut made = Made::new(b"cpu\x1b]0;title\x07\n\x9b2J");
    made.call(Function::SetDevice, &[Argument::Number(0)], &[]);
    let recording = made.read(&path("terminal.cap")).unwrap();
    let texts = format!("{} {}", recording.plugins[0], repeat(&recording));
    assert!(
        !texts.trim_end().contains(|character: char| character.is_control() && character != '\n'),
        "{texts:?}"
    );
    assert!(recording.plugins[0].starts_with(r"cpu\u{1b}]0;title\u{7}\u{a}"), "{}", recording.plugins[0]);
}

#[test]
fn roles_of_parameters_are_those_that_the_tests_know() {
    // What creates and destroys memory in the tests above; a new function of this kind belongs there.
    let names = |role| {
        let has = |function: &Function| {
            let is_such = |param: &ParamInfo| {
                matches!(param.kind, Kind::Pointer) && param.role == role && param.space.is_some()
            };
            function.info().params.iter().any(is_such)
        };
        Function::ALL.iter().filter(|function| has(function)).count()
    };
    assert_eq!((names(Role::Creates), names(Role::Destroys)), (3, 3));
    assert!(matches!(Function::HostMemoryAllocate.info().params[1].space, Some(Space::Host)));
}

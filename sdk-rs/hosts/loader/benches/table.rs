//! Measures the cost of a call through the table over a direct call of the same method.
//!
//! Both are called in turn, many rounds of many calls each; the figures are medians of the rounds.

use std::hint::black_box;
use std::time::Instant;

use tenon::DevicePtr;
use tenon::device::*;
use tenon_testing::stub_device;

/// A device that does almost nothing, so that the benchmark measures the path to it.
#[derive(Default)]
struct Idle;

stub_device! {
    #[tenon::device]
    impl Idle {
        #[inline(never)]
        fn set_device(&self, device: DeviceId) -> Result<()> {
            black_box(device);
            Ok(())
        }

        #[inline(never)]
        fn device_memory_allocate(&self, device: DeviceId, size: usize) -> Result<DevicePtr> {
            Ok(DevicePtr::from_addr(black_box(size) + device.0 as usize))
        }

        #[inline(never)]
        fn memory_copy_h2d(&self, device: DeviceId, dst: DevicePtr, src: &[u8]) -> Result<()> {
            black_box((device, dst, src));
            Ok(())
        }
    }
    optional {}
}

const CALLS: u32 = 200_000;
const ROUNDS: usize = 31;

/// Nanoseconds a call, the median of the rounds, of two things that are done in turn.
fn side_by_side(mut direct: impl FnMut(), mut table: impl FnMut()) -> (f64, f64) {
    let round = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        call();
        start.elapsed().as_nanos() as f64 / f64::from(CALLS)
    };
    let mut figures: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (round(&mut direct), round(&mut table))).collect();
    let mut median = |pick: fn(&(f64, f64)) -> f64| {
        figures.sort_by(|a, b| pick(a).total_cmp(&pick(b)));
        pick(&figures[ROUNDS / 2])
    };
    (median(|figure| figure.0), median(|figure| figure.1))
}

fn main() {
    let mut words = vec![0u64; Release::NEWEST.table_size() / 8];
    words[0] = Release::NEWEST.table_size() as u64;
    let mut params = [
        Release::NEWEST.params_size() as u64,
        words.as_mut_ptr().expose_provenance() as u64,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
    ];
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    let met = unsafe { hand_over::<Idle>(params.as_mut_ptr().cast(), c"idle") };
    assert_eq!(met, std::result::Result::Ok(Release::NEWEST));
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    let table = unsafe { words.as_ptr().cast::<ffi::C_DeviceInterface>().read() };
    let table = black_box(table);
    let device = <Idle as Plugin>::instance();
    let mut id = ffi::C_Device_st { id: 0 };
    let bytes = [0u8; 64];
    let mut out = std::ptr::null_mut();
    let set = table.set_device.expect("filled");
    let allocate = table.device_memory_allocate.expect("filled");
    let copy = table.memory_copy_h2d.expect("filled");

    let rows = [
        (
            "set_device",
            side_by_side(
                || {
                    (0..CALLS)
                        .for_each(|_| assert!(black_box(device).set_device(black_box(DeviceId(0))).is_ok()))
                },
                // SAFETY: arguments as the interface says.
                || (0..CALLS).for_each(|_| assert_eq!(unsafe { black_box(set)(&mut id) }, Status::SUCCESS)),
            ),
        ),
        (
            "device_memory_allocate",
            side_by_side(
                || {
                    (0..CALLS).for_each(|_| {
                        assert!(black_box(device).device_memory_allocate(black_box(DeviceId(0)), 64).is_ok());
                    });
                },
                || {
                    (0..CALLS).for_each(|_| {
                        // SAFETY: arguments as the interface says.
                        let status = unsafe { black_box(allocate)(&mut id, &mut out, 64) };
                        assert_eq!(status, Status::SUCCESS);
                    });
                },
            ),
        ),
        (
            "memory_copy_h2d",
            side_by_side(
                || {
                    (0..CALLS).for_each(|_| {
                        let to = black_box(DevicePtr::from_addr(64));
                        assert!(
                            black_box(device).memory_copy_h2d(DeviceId(0), to, black_box(&bytes)).is_ok()
                        );
                    });
                },
                || {
                    (0..CALLS).for_each(|_| {
                        let to = std::ptr::without_provenance_mut(black_box(64));
                        // SAFETY: the device does not follow the address.
                        let status = unsafe { black_box(copy)(&mut id, to, bytes.as_ptr().cast(), 64) };
                        assert_eq!(status, Status::SUCCESS);
                    });
                },
            ),
        ),
    ];
    println!(
        "a call through the table, beside the same method called directly ({ROUNDS} rounds of {CALLS} calls)\n"
    );
    println!("{:<24} {:>10} {:>10} {:>10}", "function", "direct ns", "table ns", "more ns");
    for (name, (direct, table)) in rows {
        println!("{name:<24} {direct:>10.2} {table:>10.2} {:>10.2}", table - direct);
    }
}

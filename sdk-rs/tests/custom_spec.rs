//! The macros on a spec that is not Tenon's: a table of another field, and symbols that a library exports.

use std::sync::Mutex;

mod sensor_bus {
    tenon_spec_macros::interface!("sensor_bus", spec = "../examples/custom-spec/spec");
}

mod sensor_log {
    tenon_spec_macros::interface!("sensor_log", spec = "../examples/custom-spec/spec");
}

use sensor_bus::{
    Bus, BusStatus, Function, Quantity, Release, Result, Sample, SampleCallback, SensorBus, SensorInfo,
};

#[derive(Default)]
struct Thermometer;

#[tenon_spec_macros::device(spec = "../examples/custom-spec/spec", module = crate::sensor_bus)]
impl SensorBus for Thermometer {
    fn open_bus(&self) -> Result<Bus> {
        Ok(Bus::from_addr(1))
    }

    fn close_bus(&self, _: Bus) -> Result<()> {
        Ok(())
    }

    fn count_sensors(&self, _: Bus) -> Result<usize> {
        Ok(1)
    }

    fn list_sensors(&self, _: Bus, sensors: &mut [SensorInfo]) -> Result<()> {
        if let Some(first) = sensors.first_mut() {
            *first = SensorInfo { id: 0, quantity: Quantity::TEMPERATURE, period_us: 1_000 };
        }
        Ok(())
    }

    fn read_samples(&self, _: Bus, sensor: u32, samples: &mut [Sample]) -> Result<usize> {
        if sensor != 0 {
            return Err(sensor_bus::Error::invalid(format!("there is no sensor {sensor}")));
        }
        samples.fill(Sample { time_us: 5, value: 293.15 });
        Ok(samples.len())
    }

    fn subscribe(&self, _: Bus, sensor: u32, callback: SampleCallback) -> Result<()> {
        callback.call(sensor, Sample { time_us: 7, value: 300.0 });
        Ok(())
    }
}

/// Creates a station of a release for the hand-over.
fn meet(release: Release) -> (Vec<u64>, std::result::Result<Release, sensor_bus::HandOverError>) {
    let mut table = vec![0u64; release.table_size() / 8];
    table[0] = release.table_size() as u64;
    let mut params = [0u64; 5];
    params[0] = 40;
    params[1] = table.as_mut_ptr().expose_provenance() as u64;
    // SAFETY: the params begin with their size and with the table, which begins with its own.
    let met = unsafe { sensor_bus::hand_over::<Thermometer>(params.as_mut_ptr().cast(), c"thermometer") };
    (table, met)
}

#[test]
fn a_driver_serves_both_releases() {
    for release in Release::ALL {
        let (table, met) = meet(release);
        assert_eq!(met, Ok(release));
        let slot = |function| release.offset_of(function).map(|offset| table[offset / 8]);
        assert!(slot(Function::ReadSamples).is_some_and(|pointer| pointer != 0));
        assert_eq!(slot(Function::SetRange), (release == Release::V1_1).then_some(0));
    }
}

static HEARD: Mutex<Vec<(u32, f64)>> = Mutex::new(Vec::new());

unsafe extern "C-unwind" fn hear(sensor: u32, sample: sensor_bus::ffi::BusSample, _: *mut std::ffi::c_void) {
    HEARD.lock().unwrap().push((sensor, sample.value));
}

#[test]
fn calls_arrive_and_bring_back_what_they_should() {
    let (table, _) = meet(Release::V1_1);
    // SAFETY: the vector holds the table of that release, and is aligned to its words.
    let table = unsafe { table.as_ptr().cast::<sensor_bus::ffi::SensorBusTable>().read() };
    let mut bus = std::ptr::null_mut();
    let mut samples = [sensor_bus::ffi::BusSample { time_us: 0, value: 0.0 }; 3];
    let mut taken = 0;
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(table.open_bus.unwrap()(&mut bus), BusStatus::OK);
        let read = table.read_samples.unwrap();
        assert_eq!(read(bus, 0, samples.as_mut_ptr(), 2, &mut taken), BusStatus::OK);
        assert_eq!((taken, samples.map(|sample| sample.value)), (2, [293.15, 293.15, 0.0]));
        assert_eq!(read(bus, 9, samples.as_mut_ptr(), 2, &mut taken), BusStatus::BAD_ARGUMENT);
        assert_eq!(read(bus, 0, std::ptr::null_mut(), 2, &mut taken), BusStatus::BAD_ARGUMENT);
        assert_eq!(table.subscribe.unwrap()(bus, 4, Some(hear), std::ptr::null_mut()), BusStatus::OK);
    }
    assert_eq!(*HEARD.lock().unwrap(), [(4, 300.0)]);
}

struct Log(Mutex<Vec<f64>>);

impl sensor_log::SensorLog for Log {
    fn append(&self, _: u32, samples: &[Sample]) -> sensor_log::Result<()> {
        self.0.lock().unwrap().extend(samples.iter().map(|sample| sample.value));
        Ok(())
    }

    fn mean(&self, _: u32) -> sensor_log::Result<f64> {
        let values = self.0.lock().unwrap();
        if values.is_empty() {
            return Err(sensor_log::Error::invalid("the log is empty"));
        }
        Ok(values.iter().sum::<f64>() / values.len() as f64)
    }
}

use sensor_log as api;

fn instance() -> &'static Log {
    static LOG: Log = Log(Mutex::new(Vec::new()));
    &LOG
}

mod functions {
    tenon_spec_macros::exports!("sensor_log", spec = "../examples/custom-spec/spec");
}

// SAFETY: this binary exports them, with these signatures.
unsafe extern "C" {
    fn fieldwork_log_append(
        sensor: u32,
        samples: *const sensor_bus::ffi::BusSample,
        number: usize,
    ) -> BusStatus;
    fn fieldwork_log_mean(sensor: u32, mean: *mut f64) -> BusStatus;
}

#[test]
fn a_library_exports_its_symbols() {
    let samples = [1.0, 2.0, 6.0].map(|value| sensor_bus::ffi::BusSample { time_us: 0, value });
    let mut mean = 0.0;
    // SAFETY: arguments as the interface says.
    unsafe {
        assert_eq!(fieldwork_log_mean(0, &mut mean), BusStatus::BAD_ARGUMENT);
        assert_eq!(fieldwork_log_append(0, samples.as_ptr(), 3), BusStatus::OK);
        assert_eq!(fieldwork_log_mean(0, &mut mean), BusStatus::OK);
    }
    assert_eq!(mean, 3.0);
}

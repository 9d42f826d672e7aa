// A driver in C with one thermometer. It works with stations of all releases.

#include <stdlib.h>

#include "sensor_bus.h"
#include "sensor_log.h"

struct fieldwork_bus {
  uint64_t now_us;
};

static BusStatus open_bus(BusHandle* bus) {
  *bus = calloc(1, sizeof(struct fieldwork_bus));
  return *bus ? BUS_OK : BUS_BROKEN;
}

static BusStatus close_bus(BusHandle bus) {
  free(bus);
  return BUS_OK;
}

static BusStatus count_sensors(BusHandle bus, size_t* count) {
  (void)bus;
  *count = 1;
  return BUS_OK;
}

static BusStatus read_samples(BusHandle bus, uint32_t sensor, BusSample* samples, size_t capacity, size_t* taken) {
  if (sensor != 0) {
    return BUS_BAD_ARGUMENT;
  }
  *taken = capacity > 0 ? 1 : 0;
  if (capacity > 0) {
    samples[0] = (BusSample){.time_us = bus->now_us++, .value = 293.15};
  }
  return BUS_OK;
}

static BusStatus set_range(BusHandle bus, uint32_t sensor, double low, double high) {
  (void)bus;
  return sensor == 0 && low <= high ? BUS_OK : BUS_BAD_ARGUMENT;
}

// The table of the newest release. Stations of release 1.0 do not get `set_range`.
static const SensorBusTable table = {
    .open_bus = open_bus,
    .close_bus = close_bus,
    .count_sensors = count_sensors,
    .read_samples = read_samples,
    .set_range = set_range,
};

void fieldwork_driver(DriverParams* params) {
  static char name[] = "thermometer";
  if (fieldwork_sensor_bus_fill(params, &table) == FIELDWORK_SENSOR_BUS_RELEASE_UNKNOWN) {
    return;  // The name stays null, so the driver refuses the station.
  }
  params->driver_name = name;
}

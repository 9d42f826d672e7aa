// A station that tests the thermometer with the newest release, the previous release and an unknown release.

#include <stdio.h>
#include <string.h>

#include "sensor_bus.h"

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                               \
    }                                                         \
  } while (0)

static DriverParams load(void* table, size_t size) {
  memset(table, 0, size);
  memcpy(table, &size, sizeof size);
  DriverParams params = {.size = sizeof params, .table = table};
  fieldwork_driver(&params);
  return params;
}

static int serve_newest(void) {
  SensorBusTable table;
  DriverParams params = load(&table, sizeof table);
  CHECK(params.driver_name != NULL && strcmp(params.driver_name, "thermometer") == 0);
  CHECK(params.version.major == 1 && params.version.minor == 1);

  BusHandle bus;
  BusSample sample;
  size_t taken = 0;
  CHECK(table.open_bus(&bus) == BUS_OK);
  CHECK(table.read_samples(bus, 0, &sample, 1, &taken) == BUS_OK && taken == 1);
  CHECK(sample.value > 290.0);
  CHECK(table.read_samples(bus, 7, &sample, 1, &taken) == BUS_BAD_ARGUMENT);
  CHECK(table.set_range(bus, 0, 250.0, 350.0) == BUS_OK);
  CHECK(table.subscribe == NULL);  // Not implemented, so the station polls.
  CHECK(table.close_bus(bus) == BUS_OK);
  return 0;
}

static int serve_older(void) {
  SensorBusTable_v1_0 table;
  CHECK(load(&table, sizeof table).driver_name != NULL);
  CHECK(table.open_bus != NULL && table.read_samples != NULL);
  // The slot of `set_range` in 1.1 is the slot of `subscribe` in 1.0, so it must stay empty.
  CHECK(table.subscribe == NULL);
  return 0;
}

static int decline_unknown(void) {
  struct {
    SensorBusTable table;
    void* more;
  } future;
  CHECK(load(&future, sizeof future).driver_name == NULL);
  return 0;
}

int main(void) { return serve_newest() || serve_older() || decline_unknown(); }

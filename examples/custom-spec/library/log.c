// A library that keeps the samples of eight sensors in memory. Python calls it through the generated package.
#include <sensor_log.h>

enum { SENSORS = 8 };

static struct {
  uint64_t last_us;
  double sum;
  size_t number;
} logged[SENSORS];

BusStatus fieldwork_log_append(uint32_t sensor, const BusSample* samples, size_t number) {
  if (sensor >= SENSORS || (number > 0 && samples == NULL)) {
    return BUS_BAD_ARGUMENT;
  }
  for (size_t index = 0; index < number; ++index) {
    if (samples[index].time_us < logged[sensor].last_us) {
      return BUS_BAD_ARGUMENT;
    }
    logged[sensor].last_us = samples[index].time_us;
    logged[sensor].sum += samples[index].value;
    logged[sensor].number += 1;
  }
  return BUS_OK;
}

BusStatus fieldwork_log_mean(uint32_t sensor, double* mean) {
  if (sensor >= SENSORS || mean == NULL || logged[sensor].number == 0) {
    return BUS_BAD_ARGUMENT;
  }
  *mean = logged[sensor].sum / (double)logged[sensor].number;
  return BUS_OK;
}

"""Logs three samples of a sensor and prints their mean."""

import sensor_log

sensor_log.append(1, [{"time_us": 10, "value": 20.5}, {"time_us": 20, "value": 21.0}])
sensor_log.append(sensor=1, samples=[{"time_us": 30, "value": 21.5}])
print(sensor_log.mean(1))

try:
    sensor_log.mean(2)
except sensor_log.Error as error:
    print(error)
    print(error.status == sensor_log.BusStatus.BAD_ARGUMENT)

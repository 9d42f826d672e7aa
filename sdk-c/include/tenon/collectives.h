/**
 * @file collectives.h
 * @brief Adds collectives to a device plugin that has none.
 *
 * The function is in `libtenon_plugin.a`, which the plugin links.
 */
#ifndef TENON_COLLECTIVES_H
#define TENON_COLLECTIVES_H

#include "device_ext.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Fills the slots of the collectives: the functions `xccl_*`.
 *
 * `InitPlugin` calls it once, after it has filled the other slots of its table. The collectives are those of gloo, which
 * PaddlePaddle contains; in other hosts it is taken from the system. The data of an operation is copied to pinned memory in
 * the order of its stream, and the results back. In between, a callback of the stream waits for the other processes, so the
 * device must be able to run the callbacks of different streams at the same time if a program uses several groups. If
 * `stream_add_callback` is null, the caller of a collective waits.
 *
 * @param[in,out] table The table of the host, with the functions of the device. Required are `get_device`,
 *     `synchronize_device`, `memory_copy_h2d` and `memory_copy_d2h`; `stream_add_callback`, `async_memory_copy_h2d`,
 *     `async_memory_copy_d2h` and `host_memory_allocate` are used if they are there.
 * @retval C_SUCCESS On success.
 * @retval C_ERROR `table` is null or of an unknown release, lacks a required function, or has a collective; or it is the
 *     second call. Nothing was written.
 * @retval C_INTERNAL_ERROR The library itself failed.
 */
C_Status tenon_collectives_fill(C_DeviceInterface* table);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_COLLECTIVES_H

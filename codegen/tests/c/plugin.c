// Written the way plugins for PaddlePaddle are, with nothing but the names of its own header.

#include <string.h>

#include "tenon/device_ext.h"

static C_Status set_device(const C_Device device) {
  return device->id == 0 ? C_SUCCESS : C_ERROR;
}

static C_Status create_stream(const C_Device device, C_Stream* stream) {
  (void)device;
  *stream = NULL;
  return C_SUCCESS;
}

static C_Status memory_copy_h2d(const C_Device device, void* dst, const void* src, size_t size) {
  (void)device;
  memcpy(dst, src, size);
  return C_SUCCESS;
}

static C_Status stream_add_callback(const C_Device device, C_Stream stream, C_Callback callback, void* user_data) {
  C_Status status = C_SUCCESS;
  callback(device, stream, user_data, &status);
  return status;
}

static C_Status all_reduce(void* send_buf, void* recv_buf, size_t count, C_DataType data_type, C_CCLReduceOp op,
                           C_CCLComm comm, C_Stream stream) {
  (void)comm, (void)stream;
  if (data_type != FLOAT32 || op != SUM) {
    return C_FAILED;
  }
  memcpy(recv_buf, send_buf, count * sizeof(float));
  return C_SUCCESS;
}

void InitPlugin(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  static char name[] = "my_npu";
  params->device_type = name;
  memset((void*)params->interface, 0, sizeof(C_DeviceInterface));
  params->interface->set_device = set_device;
  params->interface->create_stream = create_stream;
  params->interface->memory_copy_h2d = memory_copy_h2d;
  params->interface->stream_add_callback = stream_add_callback;
  params->interface->xccl_all_reduce = all_reduce;
}

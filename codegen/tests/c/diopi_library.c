// A library of operators with one operator, on a device that is the host itself.

#include "diopi/diopi.h"

#include <stdlib.h>
#include <string.h>

static const char* message = "";

diopiError_t initLibrary(void) { return diopiSuccess; }
diopiError_t finalizeLibrary(void) { return diopiSuccess; }
diopiError_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
  (void)ctx, (void)out;
  return diopiNoImplement;
}

const char* diopiGetVendorName(void) { return "TestDevice"; }
const char* diopiGetImplVersion(void) { return "1"; }
const char* diopiGetLastErrorString(void) { return message; }

void* device_malloc(uint64_t bytes) { return malloc(bytes + 1); }
void device_free(void* ptr) { free(ptr); }

static diopiError_t copy(void* dst, const void* src, uint64_t bytes) {
  memcpy(dst, src, bytes);
  return diopiSuccess;
}

diopiError_t device_memcpy_h2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
  (void)stream;
  return copy(dst, src, bytes);
}

diopiError_t device_memcpy_d2h_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
  (void)stream;
  return copy(dst, src, bytes);
}

diopiError_t device_memcpy_d2d_async(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes) {
  (void)stream;
  return copy(dst, src, bytes);
}

diopiError_t device_make_stream(diopiStreamHandle_t* stream) {
  static int only;
  *stream = &only;
  return diopiSuccess;
}

diopiError_t device_destroy_stream(diopiStreamHandle_t stream) {
  (void)stream;
  return diopiSuccess;
}

diopiError_t device_synchronize_stream(diopiStreamHandle_t stream) {
  (void)stream;
  return diopiSuccess;
}

diopiError_t diopiHardtanh(
    diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
    const diopiScalar_t* min_val, const diopiScalar_t* max_val) {
  (void)ctx;
  void* to;
  const void* from;
  int64_t count;
  diopiDtype_t dtype;
  if (diopiGetTensorDtype(input, &dtype) != diopiSuccess || dtype != diopi_dtype_float64) {
    message = "diopiHardtanh takes float64";
    return diopiNoImplement;
  }
  if (diopiGetTensorData(out, &to) != diopiSuccess || diopiGetTensorDataConst(input, &from) != diopiSuccess ||
      diopiGetTensorNumel(input, &count) != diopiSuccess) {
    return diopiErrorOccurred;
  }
  for (int64_t i = 0; i < count; ++i) {
    double x = ((const double*)from)[i];
    ((double*)to)[i] = x < min_val->fval ? min_val->fval : x > max_val->fval ? max_val->fval : x;
  }
  return diopiSuccess;
}

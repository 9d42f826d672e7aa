// A library for the tests of the host. Some of its operators do what the host has to notice.

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diopi/diopi.h"

diopiError_t initLibrary(void) { return diopiSuccess; }

void* device_malloc(uint64_t bytes) { return malloc(bytes == 0 ? 1 : bytes); }

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
  *stream = NULL;
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

const char* diopiGetLastErrorString(void) { return "the reason"; }

// Takes matrices with any strides.
diopiError_t diopiAbs(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
  diopiStreamHandle_t stream;
  void* to;
  const void* from;
  diopiSize_t shape, out_stride, stride;
  diopiGetStream(ctx, &stream);
  diopiGetTensorData(out, &to);
  diopiGetTensorDataConst(input, &from);
  diopiGetTensorShape(input, &shape);
  diopiGetTensorStride(input, &stride);
  diopiGetTensorStride(out, &out_stride);
  for (int64_t i = 0; i < shape.data[0]; i++) {
    for (int64_t j = 0; j < shape.data[1]; j++) {
      ((double*)to)[i * out_stride.data[0] + j * out_stride.data[1]] =
          fabs(((const double*)from)[i * stride.data[0] + j * stride.data[1]]);
    }
  }
  return diopiSuccess;
}

// Writes behind the tensor.
diopiError_t diopiAbsInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
  (void)ctx;
  void* data;
  int64_t numel;
  diopiGetTensorData(input, &data);
  diopiGetTensorNumel(input, &numel);
  ((double*)data)[numel] = 7;
  return diopiSuccess;
}

// Changes its input.
diopiError_t diopiAcos(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
  (void)ctx;
  (void)out;
  const void* data;
  diopiGetTensorDataConst(input, &data);
  *(double*)data += 1;
  return diopiSuccess;
}

diopiError_t diopiAcosInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) {
  (void)ctx;
  (void)input;
  return diopiNoImplement;
}

// Makes a tensor with the shape of the input and the mask.
diopiError_t diopiMaskedSelect(
    diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t mask) {
  diopiSize_t shapes[2];
  void* data;
  diopiGetTensorShape(input, &shapes[0]);
  diopiGetTensorShape(mask, &shapes[1]);
  const int64_t len = shapes[0].len;
  const diopiSize_t size = {&len, 1};
  diopiRequireTensor(ctx, out, &size, NULL, diopi_dtype_int64, diopi_device);
  diopiGetTensorData(*out, &data);
  for (int64_t i = 0; i < len; i++) ((int64_t*)data)[i] = shapes[0].data[i] * 100 + shapes[1].data[i];
  return diopiSuccess;
}

// Writes its numbers to the output.
diopiError_t diopiHardtanh(
    diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input, const diopiScalar_t* min_val,
    const diopiScalar_t* max_val) {
  (void)ctx;
  (void)input;
  void* data;
  diopiGetTensorData(out, &data);
  ((double*)data)[0] = min_val->fval;
  ((double*)data)[1] = (double)max_val->ival;
  ((double*)data)[2] = min_val->stype * 100 + max_val->stype;
  return diopiSuccess;
}

// Returns the sum of the numbers of elements.
diopiError_t diopiClipGradNorm(
    diopiContextHandle_t ctx, double* out, diopiTensorHandle_t* grads, int64_t num_grads, double max_norm,
    double norm_type, bool error_if_nonfinite) {
  (void)ctx;
  *out = max_norm + norm_type + error_if_nonfinite;
  for (int64_t i = 0; i < num_grads; i++) {
    int64_t numel;
    diopiGetTensorNumel(grads[i], &numel);
    *out += (double)numel;
  }
  return diopiSuccess;
}

// Fills the output with the numbers of the list.
diopiError_t diopiPermute(
    diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dims) {
  (void)ctx;
  (void)input;
  void* data;
  diopiGetTensorData(out, &data);
  memcpy(data, dims.data, (size_t)dims.len * sizeof(int64_t));
  return diopiSuccess;
}

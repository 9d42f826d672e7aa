// Adds two vectors with a library of operators for DIOPI. The program is the host: it has the tensors and the context.
// Tensors have one dimension, or none, as a number has.
//
// cc -std=c11 add.c -I ~/tenon/include -L ~/tenon/lib -ldiopi_impl -rdynamic -Wl,-rpath,$HOME/tenon/lib -o add

#include <diopi/diopi.h>
#include <stdio.h>
#include <stdlib.h>

struct diopiContext {
  diopiStreamHandle_t stream;
};

struct diopiTensor {
  void* data;
  diopiDtype_t dtype;
  int64_t dimensions;
  int64_t length;
  int64_t stride;
};

// The library calls these functions. `-rdynamic` lets it find them in the program.
diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
  *stream = ctx->stream;
  return diopiSuccess;
}

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
  *data = th->data;
  return diopiSuccess;
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
  *data = th->data;
  return diopiSuccess;
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
  *size = (diopiSize_t){&th->length, th->dimensions};
  return diopiSuccess;
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
  *stride = (diopiSize_t){&th->stride, th->dimensions};
  return diopiSuccess;
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
  *dtype = th->dtype;
  return diopiSuccess;
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
  *numel = th->length;
  return diopiSuccess;
}

// An operator asks for tensors for intermediate results. They are freed when the context is no longer used.
static struct diopiTensor temporary[8];
static int temporaries;

diopiError_t diopiRequireTensor(
    diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size, const diopiSize_t* stride,
    diopiDtype_t dtype, diopiDevice_t device) {
  (void)ctx;
  if (size->len > 1 || stride != NULL || device != diopi_device || temporaries == 8) return diopiErrorOccurred;
  const int64_t length = size->len == 0 ? 1 : size->data[0];
  *tensor = &temporary[temporaries++];
  // No type of elements has more than 16 bytes.
  **tensor = (struct diopiTensor){device_malloc((uint64_t)length * 16), dtype, size->len, length, 1};
  return diopiSuccess;
}

static void check(diopiError_t code) {
  if (code == diopiSuccess) return;
  fprintf(stderr, "%s (%d)\n", diopiGetLastErrorString(), (int)code);
  exit(1);
}

int main(void) {
  enum { LENGTH = 4 };
  float a[LENGTH] = {1, 2, 3, 4}, b[LENGTH] = {10, 20, 30, 40}, sum[LENGTH] = {0};
  const uint64_t bytes = sizeof a;

  check(initLibrary());
  struct diopiContext context;
  check(device_make_stream(&context.stream));
  struct diopiTensor x = {device_malloc(bytes), diopi_dtype_float32, 1, LENGTH, 1};
  struct diopiTensor y = {device_malloc(bytes), diopi_dtype_float32, 1, LENGTH, 1};
  struct diopiTensor out = {device_malloc(bytes), diopi_dtype_float32, 1, LENGTH, 1};
  check(device_memcpy_h2d_async(context.stream, x.data, a, bytes));
  check(device_memcpy_h2d_async(context.stream, y.data, b, bytes));

  if (diopiAdd == NULL) {
    fprintf(stderr, "the library has no diopiAdd\n");
    return 1;
  }
  const diopiScalar_t alpha = {diopi_dtype_float64, {.fval = 2}};
  check(diopiAdd(&context, &out, &x, &y, &alpha));  // out = x + alpha * y

  check(device_memcpy_d2h_async(context.stream, sum, out.data, bytes));
  check(device_synchronize_stream(context.stream));
  printf("%s: %g %g %g %g\n", diopiGetVendorName(), sum[0], sum[1], sum[2], sum[3]);

  check(device_destroy_stream(context.stream));
  for (int i = 0; i < temporaries; i++) device_free(temporary[i].data);
  device_free(x.data);
  device_free(y.data);
  device_free(out.data);
  check(finalizeLibrary());
  return 0;
}

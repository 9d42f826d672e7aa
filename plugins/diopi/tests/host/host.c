// The runtime functions of the host, except for the device functions, which `symbols.c` or `registered.c` finds.

#include "host.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { STATE_BYTES = 808 };

struct storage {
  void* data;
  uint64_t bytes;
  diopiDevice_t device;
  int users;
};

struct diopiTensor {
  struct storage* storage;
  diopiDtype_t dtype;
  int64_t offset;
  int64_t numel;
  diopiSize_t shape;
  diopiSize_t stride;
  // The shape, and then the strides.
  int64_t* numbers;
  // The row offsets, columns and values of a sparse tensor, otherwise null.
  struct diopiTensor* parts[3];
  // The next one of the same context.
  struct diopiTensor* next;
};

struct diopiContext {
  diopiStreamHandle_t stream;
  bool has_stream;
  struct diopiTensor* tensors;
};

struct diopiGenerator {
  unsigned char state[STATE_BYTES];
};

struct host_device host_device;

static atomic_llong live_objects;

static void* make(size_t bytes) {
  void* object = calloc(1, bytes);
  if (object == NULL) abort();
  live_objects++;
  return object;
}

static void destroy(void* object) {
  free(object);
  live_objects--;
}

int64_t host_live_objects(void) { return live_objects; }

static int64_t size_of(diopiDtype_t dtype) {
  switch (dtype) {
    case diopi_dtype_int8:
    case diopi_dtype_uint8:
    case diopi_dtype_bool:
      return 1;
    case diopi_dtype_int16:
    case diopi_dtype_uint16:
    case diopi_dtype_float16:
    case diopi_dtype_bfloat16:
      return 2;
    case diopi_dtype_int32:
    case diopi_dtype_uint32:
    case diopi_dtype_float32:
    case diopi_dtype_tfloat32:
    case diopi_dtype_complex32:
      return 4;
    case diopi_dtype_int64:
    case diopi_dtype_uint64:
    case diopi_dtype_float64:
    case diopi_dtype_complex64:
      return 8;
    case diopi_dtype_complex128:
      return 16;
    case diopi_dtype_unsupported:
      break;
  }
  return 0;
}

// Tensors

// Hosts ask for multiples of 1024 bytes, and for 0 bytes too.
static uint64_t rounded(uint64_t bytes) { return (bytes + 1023) / 1024 * 1024; }

static struct storage* make_storage(diopiDevice_t device, uint64_t bytes) {
  struct storage* storage = make(sizeof *storage);
  storage->bytes = bytes;
  storage->device = device;
  storage->users = 1;
  storage->data = device == diopi_host ? malloc(rounded(bytes)) : host_allocate(rounded(bytes));
  return storage;
}

static void release_storage(struct storage* storage) {
  if (--storage->users != 0) return;
  if (storage->device == diopi_host) {
    free(storage->data);
  } else {
    host_free(storage->data, rounded(storage->bytes));
  }
  destroy(storage);
}

diopiTensorHandle_t host_make_tensor(
    diopiTensorHandle_t base, diopiDtype_t dtype, diopiDevice_t device, uint64_t bytes, int64_t offset, int64_t ndim,
    const int64_t* shape, const int64_t* stride) {
  struct diopiTensor* tensor = make(sizeof *tensor);
  tensor->dtype = dtype;
  tensor->offset = offset;
  tensor->numel = 1;
  tensor->numbers = calloc((size_t)ndim * 2 + 1, sizeof *tensor->numbers);
  if (tensor->numbers == NULL) abort();
  for (int64_t i = ndim - 1; i >= 0; i--) {
    tensor->numbers[i] = shape[i];
    tensor->numbers[ndim + i] = stride == NULL ? tensor->numel : stride[i];
    tensor->numel *= shape[i];
  }
  tensor->shape.data = tensor->numbers;
  tensor->stride.data = tensor->numbers + ndim;
  tensor->shape.len = tensor->stride.len = ndim;
  if (base == NULL) {
    tensor->storage = make_storage(device, bytes);
  } else {
    tensor->storage = base->storage;
    tensor->storage->users++;
  }
  return tensor;
}

void host_destroy_tensor(diopiTensorHandle_t th) {
  release_storage(th->storage);
  free(th->numbers);
  destroy(th);
}

static diopiError_t copy(const struct storage* storage, void* to, const void* from, bool to_host) {
  if (storage->device == diopi_host) {
    memcpy(to, from, storage->bytes);
    return diopiSuccess;
  }
  diopiStreamHandle_t stream = NULL;
  int32_t code = host_device.create_stream(&stream);
  if (code != 0) return (diopiError_t)code;
  code = (to_host ? host_device.copy_to_host : host_device.copy_to_device)(stream, to, from, storage->bytes);
  if (code == 0) code = host_device.synchronize_stream(stream);
  const int32_t destroyed = host_device.destroy_stream(stream);
  return (diopiError_t)(code == 0 ? destroyed : code);
}

diopiError_t host_write(diopiTensorHandle_t th, const void* bytes) {
  return copy(th->storage, th->storage->data, bytes, false);
}

diopiError_t host_read(diopiConstTensorHandle_t th, void* bytes) {
  return copy(th->storage, bytes, th->storage->data, true);
}

static bool is_sparse_tensor(diopiConstTensorHandle_t th) {
  return th->parts[0] != NULL || th->parts[1] != NULL || th->parts[2] != NULL;
}

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
  if (is_sparse_tensor(th)) return diopiErrorOccurred;
  *data = (char*)th->storage->data + th->offset * size_of(th->dtype);
  return diopiSuccess;
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
  if (is_sparse_tensor(th)) return diopiErrorOccurred;
  *data = (const char*)th->storage->data + th->offset * size_of(th->dtype);
  return diopiSuccess;
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
  *size = th->shape;
  return diopiSuccess;
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
  if (is_sparse_tensor(th)) return diopiErrorOccurred;
  *stride = th->stride;
  return diopiSuccess;
}

void host_set_layout(
    diopiTensorHandle_t th, int64_t ndim, const int64_t* shape, const int64_t* stride, int64_t offset) {
  th->shape = (diopiSize_t){shape, ndim};
  th->stride = (diopiSize_t){stride, ndim};
  th->offset = offset;
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
  *dtype = th->dtype;
  return diopiSuccess;
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
  *device = th->storage->device;
  return diopiSuccess;
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th, int8_t* p_dev_index) {
  (void)th;
  *p_dev_index = 0;
  return diopiSuccess;
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
  *numel = th->numel;
  return diopiSuccess;
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
  *itemsize = size_of(th->dtype);
  return diopiSuccess;
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** p_storage_ptr) {
  *p_storage_ptr = th->storage->data;
  return diopiSuccess;
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* p_offset) {
  *p_offset = th->offset;
  return diopiSuccess;
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* p_nbytes) {
  *p_nbytes = th->storage->bytes;
  return diopiSuccess;
}

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
  *is_sparse = is_sparse_tensor(th);
  return diopiSuccess;
}

void host_make_sparse(
    diopiTensorHandle_t th, diopiTensorHandle_t crow_indices, diopiTensorHandle_t col_indices,
    diopiTensorHandle_t values) {
  th->parts[0] = crow_indices;
  th->parts[1] = col_indices;
  th->parts[2] = values;
}

static diopiError_t part_of_a_sparse_tensor(diopiConstTensorHandle_t th, int number, diopiTensorHandle_t* part) {
  *part = th->parts[number];
  return *part == NULL ? diopiErrorOccurred : diopiSuccess;
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiTensorHandle_t* crow_indices) {
  return part_of_a_sparse_tensor(th, 0, crow_indices);
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiTensorHandle_t* col_indices) {
  return part_of_a_sparse_tensor(th, 1, col_indices);
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiTensorHandle_t* values) {
  return part_of_a_sparse_tensor(th, 2, values);
}

// Contexts

const char* diopiGetVersion(void) { return "DIOPI Version: test host"; }

diopiContextHandle_t host_make_context(void) { return make(sizeof(struct diopiContext)); }

diopiError_t host_synchronize(diopiContextHandle_t ctx) {
  return ctx->has_stream ? (diopiError_t)host_device.synchronize_stream(ctx->stream) : diopiSuccess;
}

void host_destroy_tensors(diopiContextHandle_t ctx) {
  for (struct diopiTensor* tensor = ctx->tensors; tensor != NULL;) {
    struct diopiTensor* next = tensor->next;
    host_destroy_tensor(tensor);
    tensor = next;
  }
  ctx->tensors = NULL;
}

diopiError_t host_destroy_context(diopiContextHandle_t ctx) {
  const int32_t code = ctx->has_stream ? host_device.destroy_stream(ctx->stream) : 0;
  host_destroy_tensors(ctx);
  destroy(ctx);
  return (diopiError_t)code;
}

diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
  if (!ctx->has_stream) {
    const int32_t code = host_device.create_stream(&ctx->stream);
    if (code != 0) return (diopiError_t)code;
    ctx->has_stream = true;
  }
  *stream = ctx->stream;
  return diopiSuccess;
}

static diopiTensorHandle_t kept(diopiContextHandle_t ctx, diopiTensorHandle_t tensor) {
  tensor->next = ctx->tensors;
  ctx->tensors = tensor;
  return tensor;
}

static enum host_fault fault;

void host_set_fault(enum host_fault next) { fault = next; }

diopiError_t diopiRequireTensor(
    diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size, const diopiSize_t* stride,
    diopiDtype_t dtype, diopiDevice_t device) {
  const diopiSize_t none = {NULL, 0};
  switch (fault) {
    case host_works:
      break;
    case host_fails:
      return diopiErrorOccurred;
    case host_gives_null:
      *tensor = NULL;
      return diopiSuccess;
    case host_gives_another_type:
      dtype = dtype == diopi_dtype_int8 ? diopi_dtype_float64 : diopi_dtype_int8;
      break;
    case host_gives_another_shape:
      size = &none;
      break;
  }
  // The elements lie between the first one and the one with the largest indices.
  int64_t last = 0, step = 1;
  bool is_empty = false;
  for (int64_t i = size->len - 1; i >= 0; i--) {
    const int64_t distance = stride == NULL ? step : stride->data[i];
    last += (size->data[i] - 1) * distance;
    step *= size->data[i];
    is_empty = is_empty || size->data[i] == 0;
  }
  const uint64_t bytes = is_empty ? 0 : (uint64_t)((last + 1) * size_of(dtype));
  *tensor = kept(
      ctx, host_make_tensor(
               NULL, dtype, device, bytes, 0, size->len, size->data, stride == NULL ? NULL : stride->data));
  return (*tensor)->storage->data == NULL ? diopiErrorOccurred : diopiSuccess;
}

diopiError_t diopiRequireBuffer(
    diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes, diopiDevice_t device) {
  const diopiSize_t size = {&num_bytes, 1};
  return diopiRequireTensor(ctx, tensor, &size, NULL, diopi_dtype_uint8, device);
}

diopiError_t diopiGetCurrentDeviceIndex(int8_t* p_dev_index) {
  *p_dev_index = 0;
  return diopiSuccess;
}

// Generators

diopiGeneratorHandle_t host_make_generator(uint64_t seed) {
  diopiGeneratorHandle_t generator = make(sizeof *generator);
  diopiGeneratorSetSeedAndOffset(generator, seed, 0);
  return generator;
}

void host_destroy_generator(diopiGeneratorHandle_t th) { destroy(th); }

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* ptr_seed, uint64_t* ptr_offset) {
  memcpy(ptr_seed, th->state, sizeof *ptr_seed);
  memcpy(ptr_offset, th->state + sizeof *ptr_seed, sizeof *ptr_offset);
  return diopiSuccess;
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
  memcpy(th->state, &seed, sizeof seed);
  memcpy(th->state + sizeof seed, &offset, sizeof offset);
  return diopiSuccess;
}

diopiError_t buildGeneratorState(diopiContextHandle_t ctx, diopiTensorHandle_t out) {
  // The tensor takes the place of the one that the caller has made.
  diopiTensorHandle_t state = NULL;
  const int64_t bytes = STATE_BYTES;
  diopiRequireBuffer(ctx, &state, bytes, diopi_host);
  memset(state->storage->data, 0, (size_t)bytes);
  struct diopiTensor before = *out;
  struct diopiTensor* next_of_state = state->next;
  *out = *state;
  out->next = before.next;
  *state = before;
  state->next = next_of_state;
  return diopiSuccess;
}

diopiError_t diopiGeneratorGetState(
    diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th, diopiTensorHandle_t* data) {
  const diopiError_t code = diopiRequireBuffer(ctx, data, STATE_BYTES, diopi_host);
  if (code == diopiSuccess) memcpy((*data)->storage->data, th->state, STATE_BYTES);
  return code;
}

diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
  if (state->storage->device != diopi_host || state->storage->bytes != STATE_BYTES) return diopiErrorOccurred;
  memcpy(th->state, state->storage->data, STATE_BYTES);
  return diopiSuccess;
}

// Profiler

static int records;

diopiError_t diopiRecordStart(const char* record_name, diopiRecordHandle_t* record) {
  (void)record_name;
  *record = &records;
  records++;
  return diopiSuccess;
}

diopiError_t diopiRecordEnd(diopiRecordHandle_t* record) {
  *record = NULL;
  records--;
  return diopiSuccess;
}

// A small host of DIOPI for the tests: tensors, contexts and generators, and functions to make and to fill them.

#ifndef TENON_DIOPI_TESTS_HOST_H
#define TENON_DIOPI_TESTS_HOST_H

#include "diopi/diopi.h"

// The device functions of the library, in the types of the older form.
struct host_device {
  create_stream_func_t create_stream;
  destroy_stream_func_t destroy_stream;
  sync_stream_func_t synchronize_stream;
  malloc_func_t malloc;
  free_func_t free;
  memcpy_h2d_async_func_t copy_to_device;
  memcpy_d2h_async_func_t copy_to_host;
  memcpy_d2d_async_func_t copy_on_device;
  get_last_error_string_func_t last_error;
};

// The functions of the library that `host_open` has opened. Functions that the host did not find are null.
extern struct host_device host_device;

// Opens and initialises a library. Returns null, or a message.
const char* host_open(const char* path);

// Keeps freed device memory for later tensors, as the allocators of frameworks do.
void host_keep_memory(void);

// Allocates and frees device memory.
void* host_allocate(uint64_t bytes);
void host_free(void* data, uint64_t bytes);

// Makes a context. It has no stream until an operator asks for one.
diopiContextHandle_t host_make_context(void);

// Waits for the work of the stream, if there is one.
diopiError_t host_synchronize(diopiContextHandle_t ctx);

// Destroys the stream, and then the tensors of the context.
diopiError_t host_destroy_context(diopiContextHandle_t ctx);

// Makes a tensor with memory of `bytes` bytes; the first element is `offset` elements after its start.
// `base`: null, or a tensor whose memory the new one uses.
diopiTensorHandle_t host_make_tensor(
    diopiTensorHandle_t base, diopiDtype_t dtype, diopiDevice_t device, uint64_t bytes, int64_t offset, int64_t ndim,
    const int64_t* shape, const int64_t* stride);

// Makes a tensor sparse, with the given parts. Nothing may read its own memory and strides from then on.
void host_make_sparse(
    diopiTensorHandle_t th, diopiTensorHandle_t crow_indices, diopiTensorHandle_t col_indices,
    diopiTensorHandle_t values);

// Sets the layout that the tensor reports. The lists are not copied, and may be wrong: they are for hostile tensors.
void host_set_layout(
    diopiTensorHandle_t th, int64_t ndim, const int64_t* shape, const int64_t* stride, int64_t offset);

// What `diopiRequireTensor` does wrong.
enum host_fault { host_works, host_fails, host_gives_null, host_gives_another_type, host_gives_another_shape };

void host_set_fault(enum host_fault next);

void host_destroy_tensor(diopiTensorHandle_t th);

// Destroys the tensors that operators have made in a context.
void host_destroy_tensors(diopiContextHandle_t ctx);

// Copies the whole memory of a tensor, and waits.
diopiError_t host_write(diopiTensorHandle_t th, const void* bytes);
diopiError_t host_read(diopiConstTensorHandle_t th, void* bytes);

// Makes a generator; its state has the seed and the offset.
diopiGeneratorHandle_t host_make_generator(uint64_t seed);

void host_destroy_generator(diopiGeneratorHandle_t th);

// The contexts, tensors, memories and generators that exist.
int64_t host_live_objects(void);

#endif

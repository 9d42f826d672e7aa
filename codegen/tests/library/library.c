// A library of building blocks that defines every symbol of the header: a wrong prototype does not compile.

#include "blocks.h"

#include <stdlib.h>
#include <string.h>

struct blk_layout {
  int32_t ndims;
  int64_t dims[12];
};

struct blk_memory {
  struct blk_layout layout;
  float* data;
};

static size_t elements(const_blk_layout_t layout) {
  size_t product = 1;
  for (int32_t i = 0; i < layout->ndims; ++i) product *= (size_t)layout->dims[i];
  return product;
}

blk_status_t blk_layout_create(blk_layout_t* layout, int32_t ndims, const int64_t* dims) {
  if (ndims < 0 || ndims > 12) return blk_invalid_arguments;
  for (int32_t i = 0; i < ndims; ++i) {
    if (dims[i] < 0) return blk_invalid_arguments;
  }
  *layout = (blk_layout_t)calloc(1, sizeof(struct blk_layout));
  if (*layout == NULL) return blk_out_of_memory;
  (*layout)->ndims = ndims;
  memcpy((*layout)->dims, dims, (size_t)ndims * sizeof *dims);
  return blk_success;
}

blk_status_t blk_layout_clone(blk_layout_t* layout, const_blk_layout_t existing) {
  return blk_layout_create(layout, existing->ndims, existing->dims);
}

blk_status_t blk_layout_query(const_blk_layout_t layout, int32_t* ndims, size_t* bytes) {
  *ndims = layout->ndims;
  *bytes = elements(layout) * sizeof(float);
  return blk_success;
}

blk_status_t blk_layout_destroy(blk_layout_t layout) {
  free(layout);
  return blk_success;
}

blk_status_t blk_memory_create(blk_memory_t* memory, const_blk_layout_t layout, void* buffer) {
  *memory = (blk_memory_t)calloc(1, sizeof(struct blk_memory));
  if (*memory == NULL) return blk_out_of_memory;
  (*memory)->layout = *layout;
  (*memory)->data = (float*)buffer;
  return blk_success;
}

blk_status_t blk_memory_get_layout(const_blk_memory_t memory, const_blk_layout_t* layout) {
  *layout = &memory->layout;
  return blk_success;
}

blk_status_t blk_memory_get_buffer(const_blk_memory_t memory, const void** buffer) {
  *buffer = memory->data;
  return blk_success;
}

blk_status_t blk_memory_destroy(blk_memory_t memory) {
  free(memory);
  return blk_success;
}

blk_status_t blk_sum_many(blk_memory_t target, int32_t n, const const_blk_memory_t* inputs) {
  size_t count = elements(&target->layout);
  for (size_t at = 0; at < count; ++at) {
    target->data[at] = 0;
    for (int32_t i = 0; i < n; ++i) target->data[at] += inputs[i]->data[at];
  }
  return blk_success;
}

blk_status_t blk_sum_execute(int32_t nargs, const blk_argument_t* args) {
  const_blk_memory_t inputs[8];
  if (nargs < 1 || nargs > 9) return blk_invalid_arguments;
  for (int32_t i = 1; i < nargs; ++i) inputs[i - 1] = args[i].memory;
  return blk_sum_many(args[0].memory, nargs - 1, inputs);
}

blk_status_t blk_scale_many(blk_memory_t target, const blk_factor_t* factor, int32_t n, const_blk_memory_t* inputs) {
  double by = factor->is_real ? factor->real_number : (double)factor->integer;
  blk_status_t status = blk_sum_many(target, n, inputs);
  for (size_t at = 0; at < elements(&target->layout); ++at) target->data[at] *= (float)by;
  return status;
}

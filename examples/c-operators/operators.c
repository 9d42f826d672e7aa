/* The elementwise operators. A real device starts a kernel on `call->launch->stream`; this one computes before it
 * returns. */
#include <math.h>
#include <stdlib.h>

#include "device.h"

static float relu_of(const float* x) {
  return x[0] > 0 ? x[0] : 0;
}

static float relu_dx_of(const float* out_and_dout) {
  return out_and_dout[0] > 0 ? out_and_dout[1] : 0;
}

static float silu_of(const float* x) {
  return x[0] / (1 + expf(-x[0]));
}

static float sum_of(const float* summands) {
  return summands[0] + summands[1];
}

static float copy_of(const float* x) {
  return x[0];
}

static C_Status each(
    const TenonCall* call, const TenonTensor* out, size_t count, const TenonTensor* const* inputs,
    float (*compute)(const float*));

static C_Status relu(const TenonCall* call) {
  TenonReluArguments with;
  const C_Status status = tenon_read_relu(call, &with);
  return status != C_SUCCESS ? status : each(call, with.out, 1, &with.x, relu_of);
}

static C_Status relu_dx(const TenonCall* call) {
  TenonReluDxArguments with;
  const C_Status status = tenon_read_relu_dx(call, &with);
  const TenonTensor* inputs[] = {with.out, with.dout};
  return status != C_SUCCESS ? status : each(call, with.dx, 2, inputs, relu_dx_of);
}

static C_Status silu(const TenonCall* call) {
  TenonSiluArguments with;
  const C_Status status = tenon_read_silu(call, &with);
  return status != C_SUCCESS ? status : each(call, with.out, 1, &with.x, silu_of);
}

static C_Status add(const TenonCall* call) {
  TenonAddArguments with;
  const C_Status status = tenon_read_add(call, &with);
  const TenonTensor* inputs[] = {with.a, with.b};
  return status != C_SUCCESS ? status : each(call, with.out, 2, inputs, sum_of);
}

static C_Status expand(const TenonCall* call) {
  TenonExpandArguments with;
  const C_Status status = tenon_read_expand(call, &with);
  return status != C_SUCCESS ? status : each(call, with.out, 1, &with.x, copy_of);
}

static const TenonMethod METHODS[] = {
    {"relu", relu, TENON_DATA_TYPE(FLOAT32)},
    {"relu_dx", relu_dx, TENON_DATA_TYPE(FLOAT32)},
    {"silu", silu, TENON_DATA_TYPE(FLOAT32)},
    {"add", add, TENON_DATA_TYPE(FLOAT32)},
    {"conv", conv, TENON_DATA_TYPE(FLOAT32)},
    {"conv_out_shape", conv_out_shape, TENON_DATA_TYPE(FLOAT32)},
    /* PaddlePaddle fills tensors and reads slices with this one. */
    {"expand", expand, TENON_DATA_TYPE(FLOAT32)},
};
TENON_EXPORT_OPERATORS(METHODS);

/* Returns whether a tensor can be repeated to a shape. */
static bool can_broadcast(const TenonTensor* tensor, const TenonTensor* shape) {
  if (tensor->rank > shape->rank) {
    return false;
  }
  const size_t missing = shape->rank - tensor->rank;
  for (size_t i = 0; i < tensor->rank; ++i) {
    if (tensor->dims[i] != 1 && tensor->dims[i] != shape->dims[missing + i]) {
      return false;
    }
  }
  return true;
}

/* Returns the address of an element of a tensor that is repeated to a shape, by its position in row-major
 * order. */
static float* element(const TenonTensor* tensor, const TenonTensor* shape, size_t position) {
  float* first = memory_of(tensor->data);
  ptrdiff_t offset = 0;
  for (size_t i = shape->rank; i-- > 0;) {
    const size_t missing = shape->rank - tensor->rank;
    const size_t index = position % shape->dims[i];
    position /= shape->dims[i];
    if (i >= missing && tensor->dims[i - missing] != 1) {
      offset += (ptrdiff_t)index * tensor->strides[i - missing];
    }
  }
  return first + offset;
}

/* Computes each element of the output from those of the inputs, which are broadcast to its shape. */
static C_Status each(
    const TenonCall* call, const TenonTensor* out, size_t count, const TenonTensor* const* inputs,
    float (*compute)(const float*)) {
  for (size_t n = 0; n < count; ++n) {
    if (!can_broadcast(inputs[n], out)) {
      tenon_say(call->launch, "the shape of input %zu cannot be broadcast", n);
      return C_ERROR;
    }
  }
  size_t length = 1;
  for (size_t i = 0; i < out->rank; ++i) {
    length *= out->dims[i];
  }
  float* results = malloc((length > 0 ? length : 1) * sizeof(float));
  if (results == NULL) {
    tenon_say(call->launch, "out of memory");
    return C_INTERNAL_ERROR;
  }
  for (size_t position = 0; position < length; ++position) {
    float values[2];
    for (size_t n = 0; n < count; ++n) {
      values[n] = *element(inputs[n], out, position);
    }
    results[position] = compute(values);
  }
  /* All is computed before it is stored: the output may be the memory of an input. */
  for (size_t position = 0; position < length; ++position) {
    *element(out, out, position) = results[position];
  }
  free(results);
  return C_SUCCESS;
}

/* A table whose functions answer with an error that describes their arguments. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tenon/operators.h"

static void say(const TenonLaunch* launch, const char* format, ...) {
  const size_t length = strlen(launch->message);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(launch->message + length, launch->message_size - length, format, arguments);
  va_end(arguments);
}

static void say_tensor(const TenonLaunch* launch, const char* name, const TenonTensor* tensor) {
  if (tensor == NULL) {
    say(launch, "%s null; ", name);
    return;
  }
  say(launch, "%s %d at %zu", name, (int)tensor->data_type, (size_t)tensor->data);
  for (size_t i = 0; i < tensor->rank; ++i) {
    say(launch, " %zu:%td", tensor->dims[i], tensor->strides[i]);
  }
  say(launch, "; ");
}

static void say_tensors(
    const TenonLaunch* launch, const char* name, const TenonTensor* const* tensors, size_t count) {
  say(launch, "%s %s%zu: ", name, tensors == NULL ? "null " : "", count);
  for (size_t i = 0; i < count; ++i) {
    say_tensor(launch, "-", tensors[i]);
  }
}

static C_Status dropout(
    const TenonLaunch* launch, const TenonTensor* out, const TenonTensor* mask, const TenonTensor* x,
    double p, bool is_test, const char* mode, const int64_t* axis, size_t axis_count, int64_t seed,
    int64_t offset) {
  say(launch, "device %d, stream %zu; ", launch->device->id, (size_t)launch->stream);
  say_tensor(launch, "out", out);
  say_tensor(launch, "mask", mask);
  say_tensor(launch, "x", x);
  say(launch, "%g %d %s ", p, is_test, mode);
  for (size_t i = 0; i < axis_count; ++i) {
    say(launch, "axis %d ", (int)axis[i]);
  }
  say(launch, "%d %d", (int)seed, (int)offset);
  return C_ERROR;
}

static C_Status swiglu_halves_grad(
    const TenonLaunch* launch, const TenonTensor* dx, const TenonTensor* dgated, const TenonTensor* x,
    const TenonTensor* gated, const TenonTensor* dout) {
  say_tensor(launch, "dx", dx);
  say_tensor(launch, "dgated", dgated);
  say_tensor(launch, "x", x);
  say_tensor(launch, "gated", gated);
  say_tensor(launch, "dout", dout);
  return C_FAILED;
}

static C_Status merged_momentum(
    const TenonLaunch* launch, const TenonTensor* const* param_out, size_t param_out_count,
    const TenonTensor* const* velocity_out, size_t velocity_out_count,
    const TenonTensor* const* master_param_out, size_t master_param_out_count,
    const TenonTensor* const* param, size_t param_count, const TenonTensor* const* grad, size_t grad_count,
    const TenonTensor* const* velocity, size_t velocity_count, const TenonTensor* const* learning_rate,
    size_t learning_rate_count, const TenonTensor* const* master_param, size_t master_param_count, double mu,
    bool use_nesterov, const char* const* regularization_method, size_t regularization_method_count,
    const double* regularization_coeff, size_t regularization_coeff_count, bool multi_precision,
    double rescale_grad) {
  (void)velocity_out, (void)grad, (void)velocity, (void)learning_rate;
  say_tensors(launch, "param_out", param_out, param_out_count);
  say_tensors(launch, "master_param_out", master_param_out, master_param_out_count);
  say_tensors(launch, "param", param, param_count);
  say_tensors(launch, "master_param", master_param, master_param_count);
  say(launch, "%zu %zu %zu %zu ", velocity_out_count, grad_count, velocity_count, learning_rate_count);
  for (size_t i = 0; i < regularization_method_count; ++i) {
    say(launch, "'%s' ", regularization_method[i]);
  }
  for (size_t i = 0; i < regularization_coeff_count; ++i) {
    say(launch, "%g ", regularization_coeff[i]);
  }
  say(launch, "%g %d %d %g", mu, use_nesterov, multi_precision, rescale_grad);
  return C_INTERNAL_ERROR;
}

static C_Status topk_out_shape(
    const TenonLaunch* launch, TenonShape* out_shape, const TenonTensor* x, int64_t k, int64_t axis,
    bool largest) {
  (void)launch, (void)axis, (void)largest;
  out_shape->rank = x->rank;
  out_shape->dims[0] = (size_t)k;
  out_shape->dims[1] = x->dims[1];
  return C_SUCCESS;
}

static C_Status nonzero_out_shape(const TenonLaunch* launch, TenonShape* out_shape, const TenonTensor* x) {
  (void)launch, (void)x;
  out_shape->rank = TENON_SHAPE_RANK + 1;
  return C_SUCCESS;
}

static C_Status relu(const TenonLaunch* launch, const TenonTensor* out, const TenonTensor* x) {
  (void)out, (void)x;
  memset(launch->message, 'x', launch->message_size);
  return C_ERROR;
}

static C_Status silu(const TenonLaunch* launch, const TenonTensor* out, const TenonTensor* x) {
  (void)launch, (void)out, (void)x;
  return C_FAILED;
}

const TenonOperators* table(void) {
  static const TenonOperators operators = {
      .size = sizeof(TenonOperators),
      .layout = TENON_OPERATORS_LAYOUT,
      .dropout.function = dropout,
      .swiglu_halves_grad.function = swiglu_halves_grad,
      .merged_momentum.function = merged_momentum,
      .topk_out_shape.function = topk_out_shape,
      .nonzero_out_shape.function = nonzero_out_shape,
      .relu = {relu, TENON_DATA_TYPE(FLOAT32) | TENON_DATA_TYPE(BFLOAT16)},
      .silu.function = silu,
  };
  return &operators;
}

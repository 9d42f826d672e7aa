/* Methods that answer with an error that describes their arguments. */
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

static C_Status dropout(const TenonCall* call) {
  const TenonLaunch* launch = call->launch;
  TenonDropoutArguments with;
  const C_Status status = tenon_read_dropout(call, &with);
  if (status != C_SUCCESS) {
    return status;
  }
  say(launch, "device %d, stream %zu; ", launch->device->id, (size_t)launch->stream);
  say_tensor(launch, "out", with.out);
  say_tensor(launch, "mask", with.mask);
  say_tensor(launch, "x", with.x);
  say(launch, "%g %d %.*s ", with.p, with.is_test, (int)with.mode.count, with.mode.first);
  for (size_t i = 0; i < with.axis_count; ++i) {
    say(launch, "axis %d ", (int)with.axis[i]);
  }
  say(launch, "%d %d", (int)with.seed, (int)with.offset);
  return C_ERROR;
}

static C_Status swiglu_halves_grad(const TenonCall* call) {
  TenonSwigluHalvesGradArguments with;
  const C_Status status = tenon_read_swiglu_halves_grad(call, &with);
  if (status != C_SUCCESS) {
    return status;
  }
  say_tensor(call->launch, "dx", with.dx);
  say_tensor(call->launch, "dgated", with.dgated);
  say_tensor(call->launch, "x", with.x);
  say_tensor(call->launch, "gated", with.gated);
  say_tensor(call->launch, "dout", with.dout);
  return C_FAILED;
}

static C_Status merged_momentum(const TenonCall* call) {
  const TenonLaunch* launch = call->launch;
  TenonMergedMomentumArguments with;
  const C_Status status = tenon_read_merged_momentum(call, &with);
  if (status != C_SUCCESS) {
    return status;
  }
  say_tensors(launch, "param_out", with.param_out, with.param_out_count);
  say_tensors(launch, "master_param_out", with.master_param_out, with.master_param_out_count);
  say_tensors(launch, "param", with.param, with.param_count);
  say_tensors(launch, "master_param", with.master_param, with.master_param_count);
  say(launch, "%zu %zu %zu %zu ", with.velocity_out_count, with.grad_count, with.velocity_count,
      with.learning_rate_count);
  for (size_t i = 0; i < with.regularization_method_count; ++i) {
    const TenonText text = with.regularization_method[i];
    say(launch, "'%.*s' ", (int)text.count, text.first);
  }
  for (size_t i = 0; i < with.regularization_coeff_count; ++i) {
    say(launch, "%g ", with.regularization_coeff[i]);
  }
  say(launch, "%g %d %d %g", with.mu, with.use_nesterov, with.multi_precision, with.rescale_grad);
  return C_INTERNAL_ERROR;
}

static C_Status topk_out_shape(const TenonCall* call) {
  TenonTopkOutShapeArguments with;
  const C_Status status = tenon_read_topk_out_shape(call, &with);
  if (status != C_SUCCESS) {
    return status;
  }
  with.out_shape->rank = with.x->rank;
  with.out_shape->dims[0] = (size_t)with.k;
  with.out_shape->dims[1] = with.x->dims[1];
  return C_SUCCESS;
}

static C_Status nonzero_out_shape(const TenonCall* call) {
  call->shape->rank = TENON_SHAPE_RANK + 1;
  return C_SUCCESS;
}

static C_Status relu(const TenonCall* call) {
  memset(call->launch->message, 'x', call->launch->message_size);
  return C_ERROR;
}

static C_Status silu(const TenonCall* call) {
  (void)call;
  return C_FAILED;
}

/* A method of a later release of the header: `selu` with a further attribute. */
static C_Status selu(const TenonCall* call) {
  TenonArguments rest = tenon_arguments(call, 5);
  tenon_take_tensor(&rest);
  tenon_take_tensor(&rest);
  const double scale = tenon_take_number(&rest);
  const double alpha = tenon_has_next(&rest) ? tenon_take_number(&rest) : 1.5;
  const double more = tenon_has_next(&rest) ? tenon_take_number(&rest) : 0.25;
  if (rest.status == C_SUCCESS) {
    say(call->launch, "%g %g %g", scale, alpha, more);
    return C_ERROR;
  }
  return rest.status;
}

/* A method of an earlier release of the header: `thresholded_relu` without `value`. */
static C_Status thresholded_relu(const TenonCall* call) {
  TenonArguments rest = tenon_arguments(call, 3);
  tenon_take_tensor(&rest);
  tenon_take_tensor(&rest);
  const double threshold = tenon_has_next(&rest) ? tenon_take_number(&rest) : 1.0;
  if (rest.status == C_SUCCESS) {
    say(call->launch, "%g", threshold);
    return C_ERROR;
  }
  return rest.status;
}

static const TenonMethod METHODS[] = {
    {"dropout", dropout, 0},
    {"swiglu_halves_grad", swiglu_halves_grad, 0},
    {"merged_momentum", merged_momentum, 0},
    {"topk_out_shape", topk_out_shape, 0},
    {"nonzero_out_shape", nonzero_out_shape, 0},
    {"relu", relu, TENON_DATA_TYPE(FLOAT32) | TENON_DATA_TYPE(BFLOAT16)},
    {"silu", silu, 0},
    {"selu", selu, 0},
    {"thresholded_relu", thresholded_relu, 0},
    {"mish", NULL, 0},
};
TENON_EXPORT_OPERATORS(METHODS);

/* The convolution of images in the format NCHW. */
#include "device.h"

/* The windows along one dimension of an image. */
typedef struct Windows {
  /* The number of elements of a window. */
  size_t size;
  ptrdiff_t step, padding, dilation;
  /* The number of windows in the padded image. */
  size_t count;
} Windows;

/* What a convolution and its shape depend on. */
typedef struct Convolution {
  const TenonTensor *x, *filter;
  size_t groups;
  Windows down, across;
} Convolution;

/* Computes the windows along one dimension. */
static Windows windows(const TenonConvArguments* with, size_t dimension) {
  /* Paddings are one number for both sides of each dimension, or one for each side. */
  const bool is_pair = with->paddings_count == 4;
  const int64_t before = with->paddings[is_pair ? 2 * dimension : dimension];
  const int64_t behind = with->paddings[is_pair ? 2 * dimension + 1 : dimension];
  const size_t size = with->filter->dims[2 + dimension];
  const int64_t span = ((int64_t)size - 1) * with->dilations[dimension] + 1;
  const int64_t room = (int64_t)with->x->dims[2 + dimension] + before + behind - span;
  const Windows windows = {
      size,
      (ptrdiff_t)with->strides[dimension],
      (ptrdiff_t)before,
      (ptrdiff_t)with->dilations[dimension],
      room < 0 ? 0 : (size_t)(room / with->strides[dimension] + 1),
  };
  return windows;
}

/* Checks the arguments of a convolution, and computes its windows. */
static C_Status prepare(const TenonCall* call, const TenonConvArguments* with, Convolution* convolution) {
  const TenonTensor *x = with->x, *filter = with->filter;
  const bool is_supported =
      x->rank == 4 && filter->rank == 4 && tenon_text_is(with->data_format, "NCHW") &&
      tenon_text_is(with->padding_algorithm, "EXPLICIT") && with->strides_count == 2 &&
      with->dilations_count == 2 && (with->paddings_count == 2 || with->paddings_count == 4);
  if (!is_supported) {
    tenon_say(call->launch, "the device convolves images in the format NCHW with explicit paddings");
    return C_FAILED;
  }
  const int64_t groups = with->groups;
  if (groups <= 0 || x->dims[1] != filter->dims[1] * (size_t)groups ||
      filter->dims[0] % (size_t)groups != 0) {
    tenon_say(call->launch, "filters for %zu channels do not fit to %zu", filter->dims[1], x->dims[1]);
    return C_ERROR;
  }
  for (size_t i = 0; i < 2; ++i) {
    if (with->strides[i] <= 0 || with->dilations[i] <= 0) {
      tenon_say(call->launch, "strides and dilations must be positive");
      return C_ERROR;
    }
  }
  const Convolution all = {x, filter, (size_t)groups, windows(with, 0), windows(with, 1)};
  *convolution = all;
  return C_SUCCESS;
}

/* Returns the address of an element. */
static float* element(const TenonTensor* tensor, size_t n, size_t c, size_t y, size_t x) {
  const ptrdiff_t* strides = tensor->strides;
  return (float*)memory_of(tensor->data) + (ptrdiff_t)n * strides[0] + (ptrdiff_t)c * strides[1] +
         (ptrdiff_t)y * strides[2] + (ptrdiff_t)x * strides[3];
}

/* Returns the address of an element of the image that a window sees, or NULL if it is padding. */
static const float* seen(
    const Convolution* of, size_t n, size_t channel, const size_t at[2], const size_t in[2]) {
  const ptrdiff_t row =
      (ptrdiff_t)at[0] * of->down.step - of->down.padding + (ptrdiff_t)in[0] * of->down.dilation;
  const ptrdiff_t column =
      (ptrdiff_t)at[1] * of->across.step - of->across.padding + (ptrdiff_t)in[1] * of->across.dilation;
  const bool is_inside = row >= 0 && row < (ptrdiff_t)of->x->dims[2] && column >= 0 &&
                         column < (ptrdiff_t)of->x->dims[3];
  return is_inside ? element(of->x, n, channel, (size_t)row, (size_t)column) : NULL;
}

/* Computes the sum of the products of a window and a filter. */
static float product(const Convolution* of, size_t n, size_t filter, const size_t at[2]) {
  const size_t channels = of->filter->dims[1], group = filter / (of->filter->dims[0] / of->groups);
  float sum = 0;
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = 0; i < of->down.size; ++i) {
      for (size_t j = 0; j < of->across.size; ++j) {
        const size_t in[2] = {i, j};
        const float* x = seen(of, n, group * channels + c, at, in);
        sum += x == NULL ? 0 : *x * *element(of->filter, filter, c, i, j);
      }
    }
  }
  return sum;
}

C_Status conv(const TenonCall* call) {
  TenonConvArguments with;
  Convolution convolution;
  C_Status status = tenon_read_conv(call, &with);
  if (status == C_SUCCESS) {
    status = prepare(call, &with, &convolution);
  }
  if (status != C_SUCCESS) {
    return status;
  }
  const TenonTensor* out = with.out;
  for (size_t n = 0; n < out->dims[0]; ++n) {
    for (size_t filter = 0; filter < out->dims[1]; ++filter) {
      for (size_t y = 0; y < out->dims[2]; ++y) {
        for (size_t x = 0; x < out->dims[3]; ++x) {
          const size_t at[2] = {y, x};
          *element(out, n, filter, y, x) = product(&convolution, n, filter, at);
        }
      }
    }
  }
  return C_SUCCESS;
}

C_Status conv_out_shape(const TenonCall* call) {
  TenonConvOutShapeArguments with;
  Convolution convolution;
  C_Status status = tenon_read_conv_out_shape(call, &with);
  if (status != C_SUCCESS) {
    return status;
  }
  const TenonConvArguments as_conv = {
      .x = with.x,
      .filter = with.filter,
      .strides = with.strides,
      .strides_count = with.strides_count,
      .paddings = with.paddings,
      .paddings_count = with.paddings_count,
      .padding_algorithm = with.padding_algorithm,
      .dilations = with.dilations,
      .dilations_count = with.dilations_count,
      .groups = with.groups,
      .data_format = with.data_format,
  };
  status = prepare(call, &as_conv, &convolution);
  if (status != C_SUCCESS) {
    return status;
  }
  with.out_shape->rank = 4;
  with.out_shape->dims[0] = with.x->dims[0];
  with.out_shape->dims[1] = with.filter->dims[0];
  with.out_shape->dims[2] = convolution.down.count;
  with.out_shape->dims[3] = convolution.across.count;
  return C_SUCCESS;
}

/* Calls two operators by their names: on the built-in device, or on that of a plugin.
 *
 *   cc -std=c11 call_operators.c $(pkg-config --cflags --libs tenon) -o call_operators && ./call_operators [PLUGIN.so]
 *
 * ../c-operators is a plugin with both operators.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

static void require(tenon_status status) {
  if (status != TENON_SUCCESS) {
    fprintf(stderr, "%s\n", tenon_error_text());
    exit(EXIT_FAILURE);
  }
}

/* Allocates memory for numbers, and copies numbers to it. */
static void* numbers(tenon_device device, const float* values, size_t count) {
  void* memory;
  require(tenon_device_memory_allocate(device, &memory, count * sizeof(float)));
  require(tenon_memory_copy_h2d(device, memory, values, count * sizeof(float)));
  return memory;
}

static void print(tenon_device device, const char* name, const void* memory, size_t count) {
  float values[8];
  require(tenon_synchronize_stream(device, NULL));
  require(tenon_memory_copy_d2h(device, values, memory, count * sizeof(float)));
  printf("%s:", name);
  for (size_t i = 0; i < count; ++i) {
    printf(" %.3f", (double)values[i]);
  }
  printf("\n");
}

/* Computes `x * sigmoid(x)` of four numbers. */
static void silu(tenon_device device) {
  static const float values[] = {-2, -1, 1, 2};
  static const size_t dims[] = {4};
  static const ptrdiff_t strides[] = {1};
  void* memory = numbers(device, values, 4);
  /* The output may be the memory of the input. */
  const tenon_operator_tensor x = {memory, TENON_DATA_TYPE_FLOAT32, 1, dims, strides};
  const tenon_operator_tensor* tensor = &x;
  const tenon_operator_argument arguments[] = {
      {TENON_OPERATOR_KIND_TENSORS, 1, &tensor},
      {TENON_OPERATOR_KIND_TENSORS, 1, &tensor},
  };
  require(tenon_operator_call(device, NULL, "silu", TENON_DATA_TYPE_FLOAT32, arguments, 2));
  print(device, "silu", memory, 4);
  require(tenon_device_memory_deallocate(device, memory, sizeof values));
}

/* Convolves an image of three rows with a filter that adds each element to the one below its right neighbour. */
static void conv(tenon_device device) {
  static const float image[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, filter[] = {1, 0, 0, 1}, zeros[4] = {0};
  static const size_t image_dims[] = {1, 1, 3, 3}, square[] = {1, 1, 2, 2};
  static const ptrdiff_t image_strides[] = {9, 9, 3, 1}, square_strides[] = {4, 4, 2, 1};
  static const int64_t ones[] = {1, 1}, none[] = {0, 0};
  void *elements = numbers(device, image, 9), *weights = numbers(device, filter, 4);
  void* sums = numbers(device, zeros, 4);
  const tenon_operator_tensor x = {elements, TENON_DATA_TYPE_FLOAT32, 4, image_dims, image_strides};
  const tenon_operator_tensor filters = {weights, TENON_DATA_TYPE_FLOAT32, 4, square, square_strides};
  const tenon_operator_tensor out = {sums, TENON_DATA_TYPE_FLOAT32, 4, square, square_strides};
  const tenon_operator_tensor* tensors[] = {&out, &x, &filters};
  /* `groups` and `data_format` have their defaults. */
  const tenon_operator_argument arguments[] = {
      {TENON_OPERATOR_KIND_TENSORS, 1, &tensors[0]}, {TENON_OPERATOR_KIND_TENSORS, 1, &tensors[1]},
      {TENON_OPERATOR_KIND_TENSORS, 1, &tensors[2]}, {TENON_OPERATOR_KIND_INTEGERS, 2, ones},
      {TENON_OPERATOR_KIND_INTEGERS, 2, none},       {TENON_OPERATOR_KIND_TEXT, 8, "EXPLICIT"},
      {TENON_OPERATOR_KIND_INTEGERS, 2, ones},
  };
  const size_t count = sizeof arguments / sizeof *arguments;
  require(tenon_operator_call(device, NULL, "conv", TENON_DATA_TYPE_FLOAT32, arguments, count));
  print(device, "conv", sums, 4);
  require(tenon_device_memory_deallocate(device, sums, sizeof zeros));
  require(tenon_device_memory_deallocate(device, weights, sizeof filter));
  require(tenon_device_memory_deallocate(device, elements, sizeof image));
}

int main(int argc, char** argv) {
  tenon_device device;
  if (argc > 1) {
    tenon_plugin plugin;
    require(tenon_load_plugin(argv[1], NULL, &plugin));
    require(tenon_plugin_open_device(plugin, 0, &device));
  } else {
    require(tenon_device_open(NULL, 0, &device));
  }
  silu(device);
  conv(device);
  require(tenon_device_close(device));
  require(tenon_shutdown());
  return EXIT_SUCCESS;
}

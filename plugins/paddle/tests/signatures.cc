// Prints the kernels of PaddlePaddle's CPU and of custom devices, with the types of their arguments.
//
// A line has, separated by tabs: `host` or `device`, the name, and the type of each input, attribute and output.

#include <cstdio>

#include "paddle/phi/core/kernel_factory.h"

extern "C" void print_kernels(const char* path) {
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (const auto& [name, kernels] : phi::KernelFactory::Instance().kernels()) {
    for (const auto& [key, kernel] : kernels) {
      const bool is_host = key.backend() == phi::Backend::CPU;
      // A custom device has the number behind those of all backends that PaddlePaddle knows.
      if (!is_host && key.backend() <= phi::Backend::NUM_BACKENDS) continue;
      const phi::KernelArgsDef& arguments = kernel.args_def();
      std::fprintf(file, "%s\t%s", is_host ? "host" : "device", name.c_str());
      for (const auto& input : arguments.input_defs()) {
        std::fprintf(file, "\tinput %s", input.type_index.name());
      }
      for (const auto& attribute : arguments.attribute_defs()) {
        std::fprintf(file, "\tattribute %d", static_cast<int>(attribute.type_index));
      }
      for (const auto& output : arguments.output_defs()) {
        std::fprintf(file, "\toutput %s", output.type_index.name());
      }
      std::fprintf(file, "\n");
    }
  }
  std::fclose(file);
}

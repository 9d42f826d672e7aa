// A plugin in C++17.
#include "tenon/operators.h"
#include "tenon/paddle_operators.h"

static C_Status relu(const TenonCall* call) {
  TenonReluArguments with;
  return tenon_read_relu(call, &with);
}

static const TenonMethod methods[] = {
    {"relu", relu, TENON_DATA_TYPE(FLOAT32)},
    {"silu", relu, 0},
};
TENON_EXPORT_OPERATORS(methods);

extern "C" void InitPlugin(CustomRuntimeParams* params) {
  char message[256];
  if (tenon_paddle_register_operators(params, tenon_operator_calls(), message, sizeof message) != C_SUCCESS) {
    params->device_type = nullptr;
  }
}

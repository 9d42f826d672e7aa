/* The plugin of examples/c-plugin as if it were built for release 2.6 only: it refuses every other table. */
#define InitPlugin init_any_release
#include "../../../examples/c-plugin/plugin.c"
#undef InitPlugin

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void InitPlugin(CustomRuntimeParams* params);

void InitPlugin(CustomRuntimeParams* params) {
  if (params->interface->size == TENON_DEVICE_SIZE_2_6) {
    init_any_release(params);
  }
}

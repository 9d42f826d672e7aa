/* The plugin of examples/c-plugin as it would be if it had been built for release 2.6 alone: it declines every other
 * table. */
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

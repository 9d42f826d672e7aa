/* A library with only the marker symbol of the layers plugin. */
const unsigned char tenon_loads_another_plugin = 1;

void InitPlugin(void* params);

void InitPlugin(void* params) {
  (void)params;
  __builtin_trap();
}

/* A library that says what the layers plugin says of itself, and nothing else. */
const unsigned char tenon_loads_another_plugin = 1;

void InitPlugin(void* params);

void InitPlugin(void* params) {
  (void)params;
  __builtin_trap();
}

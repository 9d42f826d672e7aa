static void require(tenon_status status) {
  if (status == TENON_SUCCESS) return;
  fprintf(stderr, "%s\n", tenon_error_text());
  exit(2);
}

int main(int argc, char** argv) {
  const char* path = NULL;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "-v") == 0) {
      verbose = true;
    } else {
      path = argv[i];
    }
  }
  /* Some parts of a capture use neither all helpers nor the callback. */
  (void)at, (void)put, (void)check_bytes, (void)no_callback;
  require(path ? tenon_load_plugin(path, NULL, &plugin) : tenon_plugin_find("cpu", &plugin));
  open_devices();
  repeat();
  printf("CALLS calls repeated, %d differ\n", differences);
  return differences != 0;
}

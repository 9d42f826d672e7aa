/* The library that a plugin needs. */
int npu_open(void);

int npu_open(void) {
  return 0;
}

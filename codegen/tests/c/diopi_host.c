// A host of DIOPI: it defines the runtime functions that the library of the test calls, and calls the library.

#include "diopi/diopi.h"

#include <string.h>

struct diopiTensor {
  double data[4];
  diopiDtype_t dtype;
};

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
  *data = th->data;
  return diopiSuccess;
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
  *data = th->data;
  return diopiSuccess;
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
  *dtype = th->dtype;
  return diopiSuccess;
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
  (void)th;
  *numel = 4;
  return diopiSuccess;
}

// Returns the number of the first check that fails.
int main(void) {
  if (diopiHardtanh == NULL) return 1;
  if (diopiHardtanhInp != NULL) return 2;  // The library lacks it.
  if (diopiGetVersion != NULL) return 3;   // This host lacks it.
  if (initLibrary() != diopiSuccess || strstr(diopiGetVendorName(), "Device") == NULL) return 4;

  diopiScalar_t min, max;
  min.stype = max.stype = diopi_dtype_float64;
  min.fval = -1;
  max.fval = 2;
  struct diopiTensor input = {{-3, 0.5, 2, 7}, diopi_dtype_float64}, out = {{0, 0, 0, 0}, diopi_dtype_float64};
  if (diopiHardtanh(NULL, &out, &input, &min, &max) != diopiSuccess) return 5;
  const double expected[4] = {-1, 0.5, 2, 2};
  if (memcmp(out.data, expected, sizeof expected) != 0) return 6;

  input.dtype = diopi_dtype_int8;
  if (diopiHardtanh(NULL, &out, &input, &min, &max) != diopiNoImplement) return 7;
  if (strcmp(diopiGetLastErrorString(), "diopiHardtanh takes float64") != 0) return 8;
  return finalizeLibrary() == diopiSuccess ? 0 : 9;
}

/* Reads arguments whose names or kinds are special. */
#include "expected/operators.h"

C_Status scale(const TenonCall* call);
C_Status blend(const TenonCall* call);
C_Status sample_out_shape(const TenonCall* call);

C_Status scale(const TenonCall* call) {
  TenonScaleArguments with;
  const C_Status status = tenon_read_scale(call, &with);
  return status == C_SUCCESS && with.double_ > 0 && !with.negate ? C_SUCCESS : C_ERROR;
}

C_Status blend(const TenonCall* call) {
  TenonBlendArguments with;
  const C_Status status = tenon_read_blend(call, &with);
  return status == C_SUCCESS && with.out_count == with.x_count && with.bias == NULL ? C_SUCCESS : C_ERROR;
}

C_Status sample_out_shape(const TenonCall* call) {
  TenonSampleOutShapeArguments with;
  const C_Status status = tenon_read_sample_out_shape(call, &with);
  if (status == C_SUCCESS) {
    with.out_shape->rank = with.x->rank;
  }
  return status;
}

static const TenonMethod METHODS[] = {
    {"scale", scale, TENON_DATA_TYPE(FLOAT32)},
    {"blend", blend, 0},
    {"sample_out_shape", sample_out_shape, 0},
};
TENON_EXPORT_OPERATORS(METHODS);

/* Uses the members whose names or parameters are special. */
#include "expected/operators.h"

C_Status scale(
    const TenonLaunch* launch, const TenonTensor* out, const TenonTensor* x, double factor, bool negate);
C_Status sample_out_shape(const TenonLaunch* launch, TenonShape* out_shape, const TenonTensor* x);
void fill(TenonOperators* operators);

void fill(TenonOperators* operators) {
  operators->size = sizeof(TenonOperators);
  operators->layout = TENON_OPERATORS_LAYOUT;
  operators->scale.function = scale;
  operators->scale.data_types = TENON_DATA_TYPE(FLOAT32);
  operators->sample_out_shape.function = sample_out_shape;
}

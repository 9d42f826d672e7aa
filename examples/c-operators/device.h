#ifndef C_OPERATORS_DEVICE_H
#define C_OPERATORS_DEVICE_H

#include "tenon/operators.h"

/* Convolves images with filters. */
C_Status conv(const TenonCall* call);

/* Computes the shape of the result of `conv`. */
C_Status conv_out_shape(const TenonCall* call);

/* Returns where the device has the memory of an address. */
void* memory_of(const void* address);

#endif

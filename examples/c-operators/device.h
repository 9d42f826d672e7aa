#ifndef C_OPERATORS_DEVICE_H
#define C_OPERATORS_DEVICE_H

#include "tenon/operators.h"

/* The operators of the device. */
extern const TenonOperators operators;

/* Returns where the device has the memory of an address. */
void* memory_of(const void* address);

#endif

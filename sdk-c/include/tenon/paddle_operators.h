/**
 * @file paddle_operators.h
 * @brief Registers the operators of a plugin with PaddlePaddle.
 *
 * The function is in `libtenon_plugin.a`, which the plugin links.
 */
#ifndef TENON_PADDLE_OPERATORS_H
#define TENON_PADDLE_OPERATORS_H

#include "operator_calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Registers the operators of a plugin with the PaddlePaddle that has loaded it.
 *
 * `InitPlugin` calls it once, after it has filled the table of the device and set the device type. Each kernel of
 * PaddlePaddle is registered if the plugin has all functions that it needs. In other hosts nothing is registered.
 *
 * @param[in] params What the host passed to `InitPlugin`.
 * @param[in] operators What `tenon_operator_calls` returns. Its functions stay in use until the process ends.
 * @param[out] message Room for the reason of a failure, as text that ends with a zero byte. NULL is allowed.
 * @param[in] message_size Size of that room in bytes.
 * @retval C_SUCCESS On success, or if the host is not PaddlePaddle.
 * @retval C_ERROR An argument is wrong, or the call comes too early or twice. Nothing was registered.
 * @retval C_FAILED This PaddlePaddle lacks a function that operators need, or refuses a kernel.
 * @retval C_INTERNAL_ERROR The library itself failed.
 */
C_Status tenon_paddle_register_operators(
    const CustomRuntimeParams* params, const TenonCalls* operators, char* message, size_t message_size);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_PADDLE_OPERATORS_H

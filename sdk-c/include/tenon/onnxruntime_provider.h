/**
 * @file onnxruntime_provider.h
 * @brief Makes an execution provider for ONNX Runtime of a device and its operators.
 *
 * The functions are in `libtenon_plugin.a`, which the plugin links. One library can be a plugin for PaddlePaddle and for ONNX
 * Runtime from 1.24 on.
 */
#ifndef TENON_ONNXRUNTIME_PROVIDER_H
#define TENON_ONNXRUNTIME_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#include "operator_calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A provider. */
typedef struct TenonProvider {
  /** sizeof(TenonProvider). */
  size_t size;
  /** The name by which programs select the provider. ONNX Runtime's own names end in `ExecutionProvider`. */
  const char* name;
  /** The vendor that programs see. */
  const char* vendor;
  /** A semantic version, such as `1.2.0`. */
  const char* version;
  /** The number of the vendor at the PCI-SIG, or another one that no vendor has. */
  uint32_t vendor_id;
  /** The functions of the device, which stay callable. Those that are NULL have their fallbacks, if there are some. */
  const C_DeviceInterface* device;
  /** `tenon_operator_calls`, which `TENON_EXPORT_OPERATORS` defines. */
  const TenonCalls* (*operators)(void);
} TenonProvider;

/**
 * @brief Makes the factory of a provider.
 *
 * @param[in] provider The provider. Its texts are copied by the first call.
 * @param[in] name What ONNX Runtime passes to `CreateEpFactories`, as all other arguments.
 * @param[in] base The `OrtApiBase` of ONNX Runtime.
 * @param[in] logger A log.
 * @param[out] factories Room for factories, of which one is written.
 * @param[in] capacity The number of factories that fit.
 * @param[out] count The number of factories.
 * @return NULL on success, or an `OrtStatus` with the reason.
 */
void* tenon_onnxruntime_create_factories(
    const TenonProvider* provider, const char* name, const void* base, const void* logger, void** factories,
    size_t capacity, size_t* count);

/**
 * @brief Releases a factory.
 *
 * @param[in] factory The factory, which nothing uses any more.
 * @return NULL.
 */
void* tenon_onnxruntime_release_factory(void* factory);

/** Exports the functions that ONNX Runtime looks up. `provider` is a `TenonProvider` with static storage. */
#define TENON_EXPORT_ONNXRUNTIME(provider)                                                                   \
  TENON_ONNXRUNTIME_EXPORT void* CreateEpFactories(                                                          \
      const char* name, const void* base, const void* logger, void** factories, size_t capacity,             \
      size_t* count) {                                                                                       \
    return tenon_onnxruntime_create_factories(&(provider), name, base, logger, factories, capacity, count); \
  }                                                                                                          \
  TENON_ONNXRUNTIME_EXPORT void* ReleaseEpFactory(void* factory) {                                           \
    return tenon_onnxruntime_release_factory(factory);                                                       \
  }

#ifdef __cplusplus
#define TENON_ONNXRUNTIME_EXPORT extern "C" TENON_ONNXRUNTIME_VISIBLE
#else
#define TENON_ONNXRUNTIME_EXPORT TENON_ONNXRUNTIME_VISIBLE
#endif

#if defined(__GNUC__)
#define TENON_ONNXRUNTIME_VISIBLE __attribute__((visibility("default")))
#else
#define TENON_ONNXRUNTIME_VISIBLE
#endif

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // TENON_ONNXRUNTIME_PROVIDER_H

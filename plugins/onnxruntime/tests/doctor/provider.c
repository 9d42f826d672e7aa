// A provider of ONNX Runtime that takes no node, with one of several faults. `FAULT_NONE` has none.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/onnxruntime.h>
#include <tenon/onnxruntime_base.h>
#include <tenon/onnxruntime_ep.h>
#include <tenon/onnxruntime_objects.h>

static const OrtApi* api;
static const OrtEpApi* ep_api;
static uint32_t release;

static const char* name_of_factory(const OrtEpFactory* factory) {
  (void)factory;
  return "FaultyExecutionProvider";
}

static const char* name_of_provider(const OrtEp* provider) {
  (void)provider;
#if defined(FAULT_OTHER_NAME)
  return "AnotherExecutionProvider";
#else
  return "FaultyExecutionProvider";
#endif
}

static const char* vendor(const OrtEpFactory* factory) {
  (void)factory;
  return "Faulty Devices";
}

static uint32_t vendor_number(const OrtEpFactory* factory) {
  (void)factory;
  return 0x1234;
}

static const char* version(const OrtEpFactory* factory) {
  (void)factory;
  return "1.2.3";
}

static OrtStatus* find_devices(OrtEpFactory* factory, const OrtHardwareDevice* const* devices,
                               size_t count, OrtEpDevice** found, size_t capacity,
                               size_t* found_count) {
#if defined(FAULT_CRASH_LIST)
  abort();
#endif
#if defined(FAULT_ONLY_NPU)
  const OrtHardwareDeviceType wanted = OrtHardwareDeviceType_NPU;
  fprintf(stderr, "faulty: no NPU is there\n");
#else
  const OrtHardwareDeviceType wanted = OrtHardwareDeviceType_CPU;
#endif
  *found_count = 0;
  for (size_t n = 0; n < count && *found_count < capacity; n++) {
    if (api->HardwareDevice_Type(devices[n]) != wanted) continue;
    OrtStatus* status =
        ep_api->CreateEpDevice(factory, devices[n], NULL, NULL, &found[*found_count]);
    if (status != NULL) return status;
    *found_count += 1;
  }
  return NULL;
}

static OrtStatus* take_nothing(OrtEp* provider, const OrtGraph* graph,
                               OrtEpGraphSupportInfo* support) {
  (void)provider, (void)graph, (void)support;
#if defined(FAULT_CRASH_SESSION)
  abort();
#endif
  return NULL;
}

#if defined(FAULT_CONSTANT)
static const OrtEp constant = {
    .ort_version_supported = 24,
    .GetName = name_of_provider,
    .GetCapability = take_nothing,
};
#endif

static OrtStatus* create(OrtEpFactory* factory, const OrtHardwareDevice* const* devices,
                         const OrtKeyValuePairs* const* metadata, size_t count,
                         const OrtSessionOptions* options, const OrtLogger* logger,
                         OrtEp** provider) {
  (void)factory, (void)devices, (void)metadata, (void)count, (void)options, (void)logger;
#if defined(FAULT_NO_SESSION)
  return api->CreateStatus(ORT_FAIL, "the firmware does not answer");
#endif
  OrtEp* made = calloc(1, sizeof *made);
  if (made == NULL) return api->CreateStatus(ORT_FAIL, "no memory");
#if defined(FAULT_NEWER_VERSION)
  made->ort_version_supported = release + 1;
#elif !defined(FAULT_NO_VERSION)
  made->ort_version_supported = release;
#endif
  made->GetName = name_of_provider;
#if !defined(FAULT_NO_FUNCTION)
  made->GetCapability = take_nothing;
#endif
#if defined(FAULT_CONSTANT)
  free(made);
  made = (OrtEp*)&constant;
#elif defined(FAULT_SAME_AGAIN)
  static OrtEp* first;
  if (first != NULL) {
    free(made);
    made = first;
  }
  first = made;
#elif defined(FAULT_NO_OBJECT)
  free(made);
  made = NULL;
#endif
  *provider = made;
  return NULL;
}

static void release_provider(OrtEpFactory* factory, OrtEp* provider) {
  (void)factory;
#if defined(FAULT_CONSTANT) || defined(FAULT_SAME_AGAIN)
  (void)provider;
#else
  free(provider);
#endif
}

static OrtStatus* no_transfer(OrtEpFactory* factory, OrtDataTransferImpl** transfer) {
  (void)factory;
  *transfer = NULL;
  return NULL;
}

static bool has_streams(const OrtEpFactory* factory) {
  (void)factory;
  return false;
}

#if defined(FAULT_UNDEFINED)
void function_of_nobody(void);
#endif

#if defined(FAULT_CUSTOM_OPERATORS)
OrtStatus* RegisterCustomOps(void) { return NULL; }
#elif !defined(FAULT_NO_ENTRY)
OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                             OrtEpFactory** factories, size_t capacity, size_t* count) {
  (void)name, (void)logger, (void)capacity;
#if defined(FAULT_CRASH_REGISTER)
  abort();
#elif defined(FAULT_UNDEFINED)
  function_of_nobody();
#endif
  release = (uint32_t)atoi(strchr(base->GetVersionString(), '.') + 1);
  api = base->GetApi(release);
  ep_api = api->GetEpApi();
  *count = 0;
#if defined(FAULT_REFUSES)
  return api->CreateStatus(ORT_FAIL, "this provider needs a release of next year");
#elif defined(FAULT_NO_FACTORY)
  return NULL;
#endif
  OrtEpFactory* made = calloc(1, sizeof *made);
  if (made == NULL) return api->CreateStatus(ORT_FAIL, "no memory");
  made->ort_version_supported = release;
  made->GetName = name_of_factory;
  made->GetVendor = vendor;
  made->GetVendorId = vendor_number;
  made->GetVersion = version;
  made->GetSupportedDevices = find_devices;
  made->CreateEp = create;
  made->ReleaseEp = release_provider;
  made->CreateDataTransfer = no_transfer;
  made->IsStreamAware = has_streams;
  factories[0] = made;
  *count = 1;
  return NULL;
}
#endif

#if !defined(FAULT_NO_EXIT)
OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
#if defined(FAULT_CRASH_UNREGISTER)
  abort();
#endif
  free(factory);
  return NULL;
}
#endif

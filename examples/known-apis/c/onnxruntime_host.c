/*
 * A host in C for the provider: it has the tables and objects of ONNX Runtime that the provider uses, and calls its
 * objects as ONNX Runtime does.
 *
 * onnxruntime_host LIBRARY MINOR ACTION
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort_base.h"
#include "ort_provider_api.h"

struct OrtStatus {
  OrtErrorCode code;
  char message[400];
};

struct OrtHardwareDevice {
  OrtHardwareDeviceType type;
};

struct OrtEpDevice {
  const OrtHardwareDevice* device;
};

struct OrtNode {
  const char* operator_type;
};

struct OrtGraph {
  const OrtNode* nodes[3];
  size_t count;
};

struct OrtEpGraphSupportInfo {
  size_t fused;
};

struct OrtValue {
  ONNXTensorElementDataType element;
  float data[6];
  int64_t dimensions[2];
};

struct OrtTensorTypeAndShapeInfo {
  ONNXTensorElementDataType element;
  int64_t dimensions[2];
};

struct OrtKernelContext {
  OrtValue values[3];
};

/* Statuses and shapes that are alive. */
static int alive = 0;

static OrtStatus* create_status(OrtErrorCode code, const char* message) {
  OrtStatus* status = malloc(sizeof *status);
  status->code = code;
  snprintf(status->message, sizeof status->message, "%s", message);
  alive++;
  return status;
}

static OrtErrorCode get_error_code(const OrtStatus* status) { return status->code; }

static const char* get_error_message(const OrtStatus* status) { return status->message; }

static void release_status(OrtStatus* status) {
  alive--;
  free(status);
}

static OrtHardwareDeviceType device_type(const OrtHardwareDevice* device) { return device->type; }

static OrtStatus* count_nodes(const OrtGraph* graph, size_t* count) {
  *count = graph->count;
  return NULL;
}

static OrtStatus* list_nodes(const OrtGraph* graph, const OrtNode** nodes, size_t count) {
  memcpy(nodes, graph->nodes, count * sizeof *nodes);
  return NULL;
}

static OrtStatus* operator_type(const OrtNode* node, const char** name) {
  if (node->operator_type == NULL) {
    return create_status(ORT_FAIL, "the node has no operator");
  }
  *name = node->operator_type;
  return NULL;
}

static OrtStatus* data_of(OrtValue* value, void** data) {
  *data = value->data;
  return NULL;
}

static OrtStatus* element_of(const OrtTensorTypeAndShapeInfo* shape, ONNXTensorElementDataType* element) {
  *element = shape->element;
  return NULL;
}

static OrtStatus* rank_of(const OrtTensorTypeAndShapeInfo* shape, size_t* count) {
  (void)shape;
  *count = 2;
  return NULL;
}

static OrtStatus* dimensions_of(const OrtTensorTypeAndShapeInfo* shape, int64_t* dimensions, size_t count) {
  memcpy(dimensions, shape->dimensions, count * sizeof *dimensions);
  return NULL;
}

static OrtStatus* shape_of(const OrtValue* value, OrtTensorTypeAndShapeInfo** shape) {
  *shape = malloc(sizeof **shape);
  (*shape)->element = value->element;
  memcpy((*shape)->dimensions, value->dimensions, sizeof value->dimensions);
  alive++;
  return NULL;
}

static void release_shape(OrtTensorTypeAndShapeInfo* shape) {
  alive--;
  free(shape);
}

static OrtStatus* input_of(const OrtKernelContext* context, size_t index, const OrtValue** value) {
  *value = &context->values[index];
  return NULL;
}

static OrtStatus* output_of(
    OrtKernelContext* context, size_t index, const int64_t* dimensions, size_t count, OrtValue** value) {
  *value = &context->values[2 + index];
  memcpy((*value)->dimensions, dimensions, count * sizeof *dimensions);
  return NULL;
}

static OrtStatus* make_device(
    OrtEpFactory* factory, const OrtHardwareDevice* device, const OrtKeyValuePairs* metadata,
    const OrtKeyValuePairs* options, OrtEpDevice** made) {
  (void)metadata;
  (void)options;
  printf("device of %s\n", factory->GetName(factory));
  *made = malloc(sizeof **made);
  (*made)->device = device;
  return NULL;
}

static void release_device(OrtEpDevice* device) { free(device); }

static OrtStatus* fuse(
    OrtEpGraphSupportInfo* support, const OrtNode* const* nodes, size_t count, const OrtNodeFusionOptions* options) {
  (void)nodes;
  (void)options;
  support->fused += count;
  return NULL;
}

static const OrtEpApi ep_api = {
    .CreateEpDevice = make_device,
    .ReleaseEpDevice = release_device,
    .EpGraphSupportInfo_AddNodesToFuse = fuse,
};

static const void* get_ep_api(void) { return &ep_api; }

static const OrtApi api = {
    .CreateStatus = create_status,
    .GetErrorCode = get_error_code,
    .GetErrorMessage = get_error_message,
    .ReleaseStatus = release_status,
    .GetEpApi = get_ep_api,
    .HardwareDevice_Type = device_type,
    .Graph_GetNumNodes = count_nodes,
    .Graph_GetNodes = list_nodes,
    .Node_GetOperatorType = operator_type,
    .GetTensorMutableData = data_of,
    .GetTensorElementType = element_of,
    .GetDimensionsCount = rank_of,
    .GetDimensions = dimensions_of,
    .GetTensorTypeAndShape = shape_of,
    .KernelContext_GetInput = input_of,
    .KernelContext_GetOutput = output_of,
    .ReleaseTensorTypeAndShapeInfo = release_shape,
};

static uint32_t minor;
static char version[20];

static const void* get_api(uint32_t number) {
  if (number > minor) {
    fprintf(stderr, "the release %u was asked for\n", (unsigned)number);
    return NULL;
  }
  return &api;
}

static const char* get_version(void) { return version; }

static const OrtApiBase base = {.GetApi = get_api, .GetVersionString = get_version};

/* Prints the outcome of a call, and releases its status. */
static int is_ok(const char* call, OrtStatus* status) {
  if (status == NULL) {
    return 1;
  }
  printf("%s: %d %s\n", call, (int)status->code, status->message);
  release_status(status);
  return 0;
}

typedef OrtStatus* (*CreateFactories)(
    const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, size_t, size_t*);
typedef OrtStatus* (*ReleaseFactory)(OrtEpFactory*);

static void use_streams(OrtEpFactory* factory, const char* action) {
  OrtSyncStreamImpl* stream = NULL;
  OrtMemoryDevice* memory = (OrtMemoryDevice*)factory; /* The provider does not look at it. */
  is_ok("stream", factory->CreateSyncStreamForDevice(factory, memory, NULL, &stream));
  printf("stream of release %u, flush %s\n", (unsigned)stream->ort_version_supported, stream->Flush ? "there" : "absent");
  OrtSyncNotificationImpl* notification = NULL;
  is_ok("notification", stream->CreateNotification(stream, &notification));
  is_ok("wait", notification->WaitOnHost(notification)); /* It panics. */
  is_ok("activate", notification->Activate(notification));
  is_ok("wait", notification->WaitOnHost(notification));
  is_ok("wait on device", notification->WaitOnDevice(notification, (OrtSyncStream*)memory));
  is_ok("null", stream->CreateNotification(NULL, &notification));
  is_ok("nowhere", stream->CreateNotification(stream, NULL));
  void (*release)(OrtSyncNotificationImpl*) = notification->Release;
  OrtStatus* (*activate)(OrtSyncNotificationImpl*) = notification->Activate;
  release(notification);
  release(notification); /* Nothing is released twice. */
  if (strcmp(action, "watched") == 0) {
    is_ok("after release", activate(notification));
    is_ok("another kind", activate((OrtSyncNotificationImpl*)(void*)stream));
  }
  stream->Release(stream);
}

static void run(OrtEpFactory* factory) {
  const OrtHardwareDevice found[] = {{OrtHardwareDeviceType_GPU}, {OrtHardwareDeviceType_CPU}};
  const OrtHardwareDevice* const devices[] = {&found[0], &found[1]};
  OrtEpDevice* entries[4];
  size_t count = 0;
  is_ok("devices", factory->GetSupportedDevices(factory, devices, 2, entries, 4, &count));
  printf("%u device, which is a %s\n", (unsigned)count, entries[0]->device->type == OrtHardwareDeviceType_CPU ? "CPU" : "GPU");
  release_device(entries[0]);

  OrtEp* provider = NULL;
  const OrtKeyValuePairs* const metadata[] = {NULL};
  const OrtSessionOptions* options = (const OrtSessionOptions*)(const void*)found;
  const OrtLogger* logger = (const OrtLogger*)(const void*)found;
  is_ok("provider", factory->CreateEp(factory, &devices[1], metadata, 1, options, logger, &provider));
  printf("provider %s of release %u\n", provider->GetName(provider), (unsigned)provider->ort_version_supported);

  const OrtNode add = {"Add"}, relu = {"Relu"}, broken = {NULL};
  const OrtGraph graph = {{&add, &relu, &add}, 3}, bad = {{&broken}, 1};
  OrtEpGraphSupportInfo support = {0};
  is_ok("capability", provider->GetCapability(provider, &graph, &support));
  printf("%u nodes\n", (unsigned)support.fused);
  is_ok("capability", provider->GetCapability(provider, &bad, &support));

  const OrtGraph* graphs[] = {&graph, &graph};
  const OrtNode* nodes[] = {&add, &add};
  OrtNodeComputeInfo* computations[2] = {NULL, NULL};
  OrtNode* context_nodes[2];
  is_ok("compile", provider->Compile(provider, graphs, nodes, 2, computations, context_nodes));
  OrtNodeComputeInfo* computation = computations[1];
  void* state = NULL;
  is_ok("state", computation->CreateState(computation, (OrtNodeComputeContext*)(void*)provider, &state));
  const ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  OrtKernelContext call = {{{element, {1, 2, 3, 4, 5, 6}, {2, 3}},
                            {element, {10, 20, 30, 40, 50, 60}, {2, 3}},
                            {element, {0}, {0, 0}}}};
  is_ok("compute", computation->Compute(computation, state, &call));
  printf("%g %g %g\n", call.values[2].data[0], call.values[2].data[2], call.values[2].data[5]);
  call.values[1].dimensions[0] = 1;
  is_ok("compute", computation->Compute(computation, state, &call));
  call.values[0].element = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  is_ok("compute", computation->Compute(computation, state, &call));
  computation->ReleaseState(computation, state);
  provider->ReleaseNodeComputeInfos(provider, computations, 2);
  factory->ReleaseEp(factory, provider);
}

int main(int count, char** arguments) {
  if (count != 4) {
    fprintf(stderr, "usage: onnxruntime_host LIBRARY MINOR ACTION\n");
    return 2;
  }
  minor = (uint32_t)atoi(arguments[2]);
  snprintf(version, sizeof version, "1.%u.0", (unsigned)minor);
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  CreateFactories create;
  ReleaseFactory release;
  *(void**)&create = dlsym(library, "CreateEpFactories");
  *(void**)&release = dlsym(library, "ReleaseEpFactory");
  OrtEpFactory* factory = NULL;
  size_t made = 0;
  if (!is_ok("create", create("adder", &base, NULL, &factory, 1, &made))) {
    return 0;
  }
  printf("%u factory, %s by %s, of release %u\n", (unsigned)made, factory->GetName(factory), factory->GetVendor(factory), (unsigned)factory->ort_version_supported);
  if (strcmp(arguments[3], "run") == 0) {
    run(factory);
  } else {
    use_streams(factory, arguments[3]);
  }
  is_ok("release", release(factory));
  printf("%d alive\n", alive);
  return 0;
}

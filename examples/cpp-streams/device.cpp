// A plugin in C++17 with asynchronous streams and events: each stream is a thread with a queue of jobs.
//
//   c++ -std=c++17 -shared -fPIC -pthread -Isdk-c/include examples/cpp-streams/device.cpp -o libcpp_streams.so
//
// The device uses host memory. It has no pinned memory, so asynchronous copies from and to the host follow the rules
// for pageable memory: the source is read, and the destination written, before the call returns.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "objects.h"
#include "tenon/device_ext.h"

namespace {

bool is_device(C_Device device) {
  return device != nullptr && device->id == 0;
}

// Runs `body` and turns exceptions into a status: none may leave a function that C calls.
template <typename Body>
C_Status guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return C_FAILED;
  } catch (...) {
    return C_INTERNAL_ERROR;
  }
}

// They are not destroyed at the end of the process: a host may call the plugin from handlers of `exit`.
Objects& objects() {
  static Objects& all = *new Objects;
  return all;
}

// Calls `body` with the stream of a handle.
template <typename Body>
C_Status with_stream(C_Device device, C_Stream handle, Body body) {
  return guarded([&] {
    const StreamPtr stream = is_device(device) ? objects().find(handle) : nullptr;
    return stream != nullptr ? body(*stream) : C_ERROR;
  });
}

// Devices. There is one.

C_Status finalize() {
  return guarded([] {
    objects().clear();
    return C_SUCCESS;
  });
}

C_Status set_device(C_Device device) {
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

C_Status get_device(C_Device device) {
  if (device == nullptr) {
    return C_ERROR;
  }
  device->id = 0;
  return C_SUCCESS;
}

C_Status get_device_count(size_t* count) {
  if (count == nullptr) {
    return C_ERROR;
  }
  *count = 1;
  return C_SUCCESS;
}

C_Status get_device_list(size_t* devices) {
  if (devices == nullptr) {
    return C_ERROR;
  }
  devices[0] = 0;
  return C_SUCCESS;
}

C_Status synchronize_device(C_Device device) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  return guarded([] {
    for (const auto& stream : objects().all_streams()) {
      stream->synchronize();
    }
    return C_SUCCESS;
  });
}

// Memory.

C_Status device_memory_allocate(C_Device device, void** ptr, size_t size) {
  if (!is_device(device) || ptr == nullptr) {
    return C_ERROR;
  }
  // Null means out of memory and is not an error.
  *ptr = std::malloc(size > 0 ? size : 1);
  return C_SUCCESS;
}

// Jobs may still use the memory.
C_Status device_memory_deallocate(C_Device device, void* ptr, size_t) {
  const C_Status status = synchronize_device(device);
  if (status == C_SUCCESS) {
    std::free(ptr);
  }
  return status;
}

C_Status device_min_chunk_size(C_Device device, size_t* size) {
  if (!is_device(device) || size == nullptr) {
    return C_ERROR;
  }
  *size = 256;
  return C_SUCCESS;
}

bool are_valid(C_Device device, const void* dst, const void* src, size_t size) {
  return is_device(device) && (size == 0 || (dst != nullptr && src != nullptr));
}

// A synchronous copy has no stream: the host waits for work before it calls.
C_Status copy(C_Device device, void* dst, const void* src, size_t size) {
  if (!are_valid(device, dst, src, size)) {
    return C_ERROR;
  }
  if (size > 0) {
    std::memmove(dst, src, size);
  }
  return C_SUCCESS;
}

C_Status device_memory_set(C_Device device, void* ptr, unsigned char value, size_t size) {
  if (!are_valid(device, ptr, ptr, size)) {
    return C_ERROR;
  }
  if (size > 0) {
    std::memset(ptr, value, size);
  }
  return C_SUCCESS;
}

// Queues a job on a stream.
template <typename Job>
C_Status queue(C_Device device, C_Stream handle, Job job) {
  return with_stream(device, handle, [&](Stream& stream) {
    stream.push(std::move(job));
    return C_SUCCESS;
  });
}

C_Status async_copy_h2d(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  if (!are_valid(device, dst, src, size)) {
    return C_ERROR;
  }
  return guarded([&] {
    const auto* bytes = static_cast<const char*>(src);
    std::vector<char> source(bytes, bytes + size);
    return queue(device, stream, [dst, source = std::move(source)] {
      std::copy(source.begin(), source.end(), static_cast<char*>(dst));
    });
  });
}

C_Status async_copy_d2d(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  if (!are_valid(device, dst, src, size)) {
    return C_ERROR;
  }
  return queue(device, stream, [=] {
    if (size > 0) {
      std::memmove(dst, src, size);
    }
  });
}

C_Status async_copy_d2h(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  return guarded([&] {
    const StreamPtr found = objects().find(stream);
    // PaddlePaddle may pass an address that is not a stream: then all work before the copy must be done.
    if (found == nullptr) {
      const C_Status status = synchronize_device(device);
      return status == C_SUCCESS ? copy(device, dst, src, size) : status;
    }
    found->synchronize();
    return copy(device, dst, src, size);
  });
}

C_Status fill(C_Device device, C_Stream stream, void* dst, const void* pattern, size_t pattern_size, size_t size) {
  const bool is_size = pattern_size == 1 || pattern_size == 2 || pattern_size == 4 || pattern_size == 8 ||
                       pattern_size == 16;
  if (!is_size || size % pattern_size != 0 || !are_valid(device, dst, pattern, size)) {
    return C_ERROR;
  }
  std::array<char, 16> element{};
  if (size > 0) {
    std::memcpy(element.data(), pattern, pattern_size);
  }
  return queue(device, stream, [=] {
    for (size_t at = 0; at < size; at += pattern_size) {
      std::memcpy(static_cast<char*>(dst) + at, element.data(), pattern_size);
    }
  });
}

// Streams.

C_Status create_stream(C_Device device, C_Stream* stream) {
  if (!is_device(device) || stream == nullptr) {
    return C_ERROR;
  }
  return guarded([&] {
    *stream = objects().create_stream();
    return C_SUCCESS;
  });
}

C_Status destroy_stream(C_Device device, C_Stream stream) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  // The default stream stays.
  return guarded([&] { return stream == nullptr || objects().destroy_stream(stream) ? C_SUCCESS : C_ERROR; });
}

C_Status synchronize_stream(C_Device device, C_Stream handle) {
  return with_stream(device, handle, [](Stream& stream) {
    stream.synchronize();
    return C_SUCCESS;
  });
}

C_Status query_stream(C_Device device, C_Stream handle) {
  return with_stream(device, handle, [](Stream& stream) { return stream.is_done() ? C_SUCCESS : C_FAILED; });
}

C_Status stream_add_callback(C_Device device, C_Stream stream, C_Callback callback, void* user_data) {
  if (!is_device(device) || callback == nullptr) {
    return C_ERROR;
  }
  // The host's memory of `device` ends with the call.
  return queue(device, stream, [id = *device, stream, callback, user_data]() mutable {
    C_Status status = C_SUCCESS;
    callback(&id, stream, user_data, &status);
  });
}

// Events.

C_Status create_event(C_Device device, C_Event* event) {
  if (!is_device(device) || event == nullptr) {
    return C_ERROR;
  }
  return guarded([&] {
    *event = objects().create_event();
    return C_SUCCESS;
  });
}

C_Status destroy_event(C_Device device, C_Event event) {
  return guarded([&] { return is_device(device) && objects().destroy_event(event) ? C_SUCCESS : C_ERROR; });
}

C_Status record_event(C_Device device, C_Stream handle, C_Event event) {
  return with_stream(device, handle, [&](Stream& stream) {
    const auto record = std::make_shared<Record>();
    return objects().with_event(event, [&](RecordPtr& last) {
      stream.push([record] { record->complete(); });
      last = record;
      return C_SUCCESS;
    });
  });
}

C_Status stream_wait_event(C_Device device, C_Stream handle, C_Event event) {
  return with_stream(device, handle, [&](Stream& stream) {
    return objects().with_event(event, [&](const RecordPtr& last) {
      if (last != nullptr) {
        stream.push([last] { last->wait(); });
      }
      return C_SUCCESS;
    });
  });
}

// Copies the last record of an event.
C_Status last_record(C_Device device, C_Event event, RecordPtr& record) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  return objects().with_event(event, [&](const RecordPtr& last) {
    record = last;
    return C_SUCCESS;
  });
}

// An event that was never recorded is complete.
C_Status synchronize_event(C_Device device, C_Event event) {
  return guarded([&] {
    RecordPtr record;
    const C_Status status = last_record(device, event, record);
    if (record != nullptr) {
      record->wait();
    }
    return status;
  });
}

C_Status query_event(C_Device device, C_Event event) {
  return guarded([&] {
    RecordPtr record;
    const C_Status status = last_record(device, event, record);
    return record != nullptr && !record->is_complete() ? C_FAILED : status;
  });
}

C_Status event_elapsed_time(C_Device device, C_Event start, C_Event end, int64_t* elapsed) {
  return guarded([&] {
    RecordPtr first;
    RecordPtr last;
    const bool exist = last_record(device, start, first) == C_SUCCESS && last_record(device, end, last) == C_SUCCESS;
    if (!exist || first == nullptr || last == nullptr || elapsed == nullptr) {
      return C_ERROR;
    }
    if (!first->is_complete() || !last->is_complete()) {
      return C_FAILED;
    }
    *elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(last->time() - first->time()).count();
    return C_SUCCESS;
  });
}

constexpr C_DeviceInterface functions() {
  C_DeviceInterface table{};
  table.finalize = finalize;
  table.set_device = set_device;
  table.get_device = get_device;
  table.get_device_count = get_device_count;
  table.get_device_list = get_device_list;
  table.synchronize_device = synchronize_device;
  table.device_memory_allocate = device_memory_allocate;
  table.device_memory_deallocate = device_memory_deallocate;
  table.device_memory_set = device_memory_set;
  table.device_min_chunk_size = device_min_chunk_size;
  table.memory_copy_h2d = copy;
  table.memory_copy_d2h = copy;
  table.memory_copy_d2d = copy;
  table.async_memory_copy_h2d = async_copy_h2d;
  table.async_memory_copy_d2h = async_copy_d2h;
  table.async_memory_copy_d2d = async_copy_d2d;
  table.create_stream = create_stream;
  table.destroy_stream = destroy_stream;
  table.synchronize_stream = synchronize_stream;
  table.query_stream = query_stream;
  table.stream_add_callback = stream_add_callback;
  table.stream_wait_event = stream_wait_event;
  table.create_event = create_event;
  table.destroy_event = destroy_event;
  table.record_event = record_event;
  table.synchronize_event = synchronize_event;
  table.query_event = query_event;
  return table;
}

// Made by the compiler, so that the functions can be read from the library.
constexpr C_DeviceInterface table = functions();

}  // namespace

// A note in the library, which `tenon matrix` reads without loading the plugin.
TENON_DEVICE_MANIFEST("cpp_streams", &table);

#define EXPORT extern "C" __attribute__((visibility("default")))

// Functions that PaddlePaddle's table has no slot for.
EXPORT const TenonDeviceExtension* tenon_device_extension() {
  static const TenonDeviceExtension extension{
      sizeof(TenonDeviceExtension),
      TENON_DEVICE_EXTENSION_MAJOR_VERSION,
      TENON_DEVICE_EXTENSION_MINOR_VERSION,
      fill,
      event_elapsed_time,
  };
  return &extension;
}

EXPORT void InitPlugin(CustomRuntimeParams* params) {
  static char device_type[] = "cpp_streams";
  if (tenon_device_fill(params, &table) != TENON_DEVICE_RELEASE_UNKNOWN) {
    params->device_type = device_type;
  }
}

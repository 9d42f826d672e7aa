/**
 * @file tenon.hpp
 * @brief The C++17 wrapper of tenon.h: handles that release themselves, and exceptions.
 *
 * The wrapper is written by hand and small. Functions without a method here are called in C, with `get()` of the
 * objects as the handles and `tenon::check` around the call.
 *
 * **A failure throws** a `tenon::Error` that holds the error record. So a constructor always creates its object, and
 * an object always has a handle unless it was moved from. The alternative, `std::expected`, is not in C++17. Without
 * exceptions, use tenon.h, which has all functions.
 *
 * **A destructor never throws.** It ignores the status of the call that releases the handle. If that status matters,
 * release the handle with `close`, or wait first with `Stream::synchronize`. A destructor waits only if the call that
 * it makes waits: closing a device waits for the device's work.
 *
 * **Objects can be moved, not copied**, except `Plugin`, which owns nothing. A device must outlive the objects that
 * are created on it, and a stream the arrays that are created with it: declare it before them. Otherwise the
 * releasing call fails, its status is ignored, and the object stays until `tenon_shutdown`.
 *
 * **Threads**: several threads may call `const` methods of one object at once, but no other methods.
 */

#ifndef TENON_TENON_HPP
#define TENON_TENON_HPP

#if !defined(__cpp_exceptions)
#error "tenon.hpp throws what goes wrong; without exceptions, include tenon/tenon.h"
#endif

#include <cstddef>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenon.h"

namespace tenon {

/** @brief The exception for a failed call. `what()` is the whole error record as text. */
class Error : public std::runtime_error {
 public:
  /** @brief Reads the record of this thread's last failed call; `status` is the status of that call. */
  explicit Error(tenon_status status) : std::runtime_error(tenon_error_text()), status_(status) {
    tenon_error last;
    static_cast<void>(tenon_error_last(&last));
    story_ = std::make_shared<const Story>(
        Story{text(last.function), text(last.message), text(last.device), text(last.plugin), text(last.plugin_message),
              text(last.layer), text(last.rule)});
  }

  /** @brief The status that the function returned. */
  tenon_status status() const noexcept { return status_; }
  /** @brief The function of tenon.h that failed. */
  const std::string& function() const noexcept { return story_->function; }
  /** @brief The message, without the function and the device. */
  const std::string& message() const noexcept { return story_->message; }
  /** @brief The device, as `cpu:0`; empty if there is none. */
  const std::string& device() const noexcept { return story_->device; }
  /** @brief The name of the plugin; empty if there is none. */
  const std::string& plugin() const noexcept { return story_->plugin; }
  /** @brief The plugin's own message; empty if it has none. */
  const std::string& plugin_message() const noexcept { return story_->plugin_message; }
  /** @brief The layer that refused the call; empty if none did. */
  const std::string& layer() const noexcept { return story_->layer; }
  /** @brief The rule that the call broke, such as `V001`; empty if there is none. */
  const std::string& rule() const noexcept { return story_->rule; }

 private:
  struct Story {
    std::string function;
    std::string message;
    std::string device;
    std::string plugin;
    std::string plugin_message;
    std::string layer;
    std::string rule;
  };

  static std::string text(const char* borrowed) { return borrowed == nullptr ? std::string() : borrowed; }

  tenon_status status_;
  // Shared, since copying an exception must not throw.
  std::shared_ptr<const Story> story_;
};

/** @brief Throws if a call has failed: `tenon::check(tenon_memory_copy_p2p(...))`. */
inline void check(tenon_status status) {
  if (status != TENON_SUCCESS) {
    throw Error(status);
  }
}

namespace detail {

/** A handle with its device; released when its owner is destroyed. */
template <class Handle, tenon_status (*destroy)(tenon_device, Handle)>
class Owned {
 public:
  Owned() noexcept = default;
  Owned(tenon_device device, Handle handle) noexcept : device_(device), handle_(handle) {}
  Owned(Owned&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    Owned taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) {
      static_cast<void>(destroy(device_, handle_));
    }
  }

  tenon_device device() const noexcept { return device_; }
  Handle get() const noexcept { return handle_; }

 private:
  tenon_device device_ = nullptr;
  Handle handle_ = nullptr;
};

/** The size of a number of elements in bytes. */
template <class T>
std::size_t bytes(std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>, "a device moves bytes, and knows nothing of constructors");
  if (count > static_cast<std::size_t>(-1) / sizeof(T)) {
    throw std::bad_array_new_length();
  }
  return count * sizeof(T);
}

/** Reads a text from a function that first returns its length; tries again if the text has grown in between. */
template <class Write>
std::string text(Write write) {
  std::size_t size = 0;
  check(write(nullptr, &size));
  for (;;) {
    std::string text(size, '\0');
    const tenon_status status = write(text.data(), &size);
    if (size <= text.size()) {
      check(status);
      text.resize(size > 0 ? size - 1 : 0);
      return text;
    }
  }
}

}  // namespace detail

/** @brief A loaded plugin. It stays loaded when this object is destroyed: other objects may use its devices. */
class Plugin {
 public:
  /** @brief Loads a plugin from a library or a manifest. @throws Error if it cannot be used, with the reason */
  explicit Plugin(const std::string& path, const tenon_load_options* options = nullptr) {
    check(tenon_load_plugin(path.c_str(), options, &plugin_));
  }
  /** @brief The plugin of a handle. */
  explicit Plugin(tenon_plugin plugin) noexcept : plugin_(plugin) {}

  /** @brief Information about the plugin. The strings live as long as the plugin. */
  tenon_plugin_info info() const {
    tenon_plugin_info info;
    check(tenon_plugin_get_info(plugin_, &info));
    return info;
  }
  /** @brief Unloads it. @throws Error while one of its devices is open */
  void unload() {
    check(tenon_unload_plugin(plugin_));
    plugin_ = nullptr;
  }
  /** @brief The device type, as for `Device`. */
  std::string device_type() const { return info().device_type; }
  /** @brief The handle, for functions of tenon.h. */
  tenon_plugin get() const noexcept { return plugin_; }

 private:
  tenon_plugin plugin_ = nullptr;
};

/** @brief An open device. */
class Device {
 public:
  /** @brief Opens the built-in CPU device. */
  Device() { check(tenon_device_open(nullptr, 0, &device_)); }
  /** @brief Opens a device by its type and number. */
  explicit Device(const std::string& type, int ordinal = 0) {
    check(tenon_device_open(type.c_str(), ordinal, &device_));
  }
  /** @brief Opens a device of a plugin, if other plugins have the same type. */
  explicit Device(const Plugin& plugin, int ordinal = 0) {
    check(tenon_plugin_open_device(plugin.get(), ordinal, &device_));
  }
  Device(Device&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  Device& operator=(Device&& other) noexcept {
    Device taken(std::move(other));
    std::swap(device_, taken.device_);
    return *this;
  }
  ~Device() {
    if (device_ != nullptr) {
      static_cast<void>(tenon_device_close(device_));
    }
  }

  /**
   * @brief Closes the device; objects that were created on it are unusable from then on.
   *
   * @throws Error if closing fails; `get()` is null unless the device stays open, as it does while it is in use
   */
  void close() {
    const tenon_status status = tenon_device_close(device_);
    if (status != TENON_SUCCESS) {
      const Error error(status);
      tenon_device_info info;
      if (tenon_device_get_info(device_, &info) == TENON_INVALID_HANDLE) {
        device_ = nullptr;
      }
      throw error;
    }
    device_ = nullptr;
  }
  /** @brief Waits for all work on the device. */
  void synchronize() const { check(tenon_synchronize_device(device_)); }
  /** @brief Makes it the current device of this thread. */
  void make_current() const { check(tenon_device_make_current(device_)); }
  /** @brief Information about the device, including its memory. */
  tenon_device_info info() const {
    tenon_device_info info;
    check(tenon_device_get_info(device_, &info));
    return info;
  }
  /** @brief A report for people: each function's implementation (native, fallback, unavailable) and number of calls. */
  std::string report() const {
    return detail::text([this](char* text, std::size_t* size) { return tenon_device_report_text(device_, text, size); });
  }

  /** @brief Copies to the device; done when it returns. */
  template <class T>
  void copy_h2d(T* dst, const T* src, std::size_t count) const {
    check(tenon_memory_copy_h2d(device_, dst, src, detail::bytes<T>(count)));
  }
  /** @brief Copies from the device; done when it returns. */
  template <class T>
  void copy_d2h(T* dst, const T* src, std::size_t count) const {
    check(tenon_memory_copy_d2h(device_, dst, src, detail::bytes<T>(count)));
  }
  /** @brief Copies within the device; done when it returns. */
  template <class T>
  void copy_d2d(T* dst, const T* src, std::size_t count) const {
    check(tenon_memory_copy_d2d(device_, dst, src, detail::bytes<T>(count)));
  }

  /** @brief The handle, for functions of tenon.h. */
  tenon_device get() const noexcept { return device_; }

 private:
  tenon_device device_ = nullptr;
};

/** @brief A point in a stream that the host and other streams can wait for. */
class Event {
 public:
  /** @brief An event that was not recorded yet; such an event counts as done. */
  explicit Event(const Device& device) {
    tenon_event event;
    check(tenon_create_event(device.get(), &event));
    event_ = {device.get(), event};
  }

  /** @brief Waits until the last record is done. */
  void synchronize() const { check(tenon_synchronize_event(event_.device(), event_.get())); }
  /** @brief Returns true if the last record is done. */
  bool done() const {
    bool done = false;
    check(tenon_query_event(event_.device(), event_.get(), &done));
    return done;
  }
  /** @brief The handle, for functions of tenon.h. */
  tenon_event get() const noexcept { return event_.get(); }

 private:
  detail::Owned<tenon_event, tenon_destroy_event> event_;
};

/** @brief A queue of work that runs in order. */
class Stream {
 public:
  /** @brief A new stream; of a plugin without streams, the device's default stream. */
  explicit Stream(const Device& device) {
    tenon_stream stream;
    check(tenon_create_stream(device.get(), &stream));
    stream_ = {device.get(), stream};
  }
  /** @brief The default stream of a device. */
  static Stream default_of(const Device& device) noexcept { return Stream(Handle(device.get(), nullptr)); }

  /** @brief Waits for all work that was queued before. */
  void synchronize() const { check(tenon_synchronize_stream(stream_.device(), stream_.get())); }
  /** @brief Returns true if all work that was queued before is done. */
  bool done() const {
    bool done = false;
    check(tenon_query_stream(stream_.device(), stream_.get(), &done));
    return done;
  }
  /** @brief Records the event: it is done once all work that was queued before is done. */
  void record(const Event& event) const { check(tenon_record_event(stream_.device(), stream_.get(), event.get())); }
  /** @brief Work that is queued from now on waits for the last record of the event; the caller does not. */
  void wait(const Event& event) const {
    check(tenon_stream_wait_event(stream_.device(), stream_.get(), event.get()));
  }

  /** @brief Queues a copy to the device. A pinned source must not change until the stream has passed the copy. */
  template <class T>
  void copy_h2d(T* dst, const T* src, std::size_t count) const {
    check(tenon_async_memory_copy_h2d(stream_.device(), stream_.get(), dst, src, detail::bytes<T>(count)));
  }
  /** @brief Queues a copy to the host. A pinned destination holds the elements once the stream has passed it. */
  template <class T>
  void copy_d2h(T* dst, const T* src, std::size_t count) const {
    check(tenon_async_memory_copy_d2h(stream_.device(), stream_.get(), dst, src, detail::bytes<T>(count)));
  }
  /** @brief Queues a copy within the device. */
  template <class T>
  void copy_d2d(T* dst, const T* src, std::size_t count) const {
    check(tenon_async_memory_copy_d2d(stream_.device(), stream_.get(), dst, src, detail::bytes<T>(count)));
  }

  /**
   * @brief Queues a host function, which a thread of the device calls once, after the work before it.
   *
   * It must not call functions that reach a device, and cannot open or close anything (#TENON_BUSY). If an exception
   * leaves it, its text is printed on standard error, and the callback fails.
   */
  template <class Function>
  void call(Function&& function) const {
    using Work = std::decay_t<Function>;
    static_assert(std::is_invocable_v<Work&>, "the function takes no arguments");
    auto work = std::make_unique<Work>(std::forward<Function>(function));
    check(tenon_stream_add_callback(stream_.device(), stream_.get(), run<Work>, work.get()));
    // From here on the callback owns it, and may have run already.
    static_cast<void>(work.release());
  }

  /** @brief The device that it belongs to. */
  tenon_device device() const noexcept { return stream_.device(); }
  /** @brief The handle, for functions of tenon.h; null for the default stream. */
  tenon_stream get() const noexcept { return stream_.get(); }

 private:
  using Handle = detail::Owned<tenon_stream, tenon_destroy_stream>;

  explicit Stream(Handle stream) noexcept : stream_(std::move(stream)) {}

  template <class Work>
  static void run(tenon_device, tenon_stream, void* user_data, tenon_status* status) noexcept {
    const std::unique_ptr<Work> work(static_cast<Work*>(user_data));
    try {
      (*work)();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tenon: a callback of a stream failed: %s\n", error.what());
      *status = TENON_FAILED;
    } catch (...) {
      std::fprintf(stderr, "tenon: a callback of a stream failed\n");
      *status = TENON_FAILED;
    }
  }

  Handle stream_;
};

/** @brief Bytes of device memory from the library's pool. */
class Buffer {
 public:
  /** @brief Memory for work on a stream, on which it is also freed: the stream must outlive the buffer. */
  Buffer(const Stream& stream, std::size_t size) : stream_(stream.get()) {
    check(tenon_buffer_create(stream.device(), size, stream_, &buffer_));
  }
  /** @brief Memory for work on the default stream of a device. */
  Buffer(const Device& device, std::size_t size) : Buffer(Stream::default_of(device), size) {}
  Buffer(Buffer&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)), stream_(other.stream_) {}
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken(std::move(other));
    std::swap(buffer_, taken.buffer_);
    std::swap(stream_, taken.stream_);
    return *this;
  }
  ~Buffer() {
    if (buffer_ != nullptr) {
      static_cast<void>(tenon_buffer_destroy(buffer_, stream_));
    }
  }

  /** @brief The address in device memory. */
  void* address() const {
    void* address = nullptr;
    check(tenon_buffer_address(buffer_, &address));
    return address;
  }
  /** @brief The length in bytes. */
  std::size_t size() const {
    std::size_t size = 0;
    check(tenon_buffer_size(buffer_, &size));
    return size;
  }
  /** @brief The handle, for functions of tenon.h. */
  tenon_buffer get() const noexcept { return buffer_; }

 private:
  tenon_buffer buffer_ = nullptr;
  tenon_stream stream_ = nullptr;
};

/** @brief Elements in device memory. The addresses are for copies and kernels; the host must not dereference them. */
template <class T>
class Array {
 public:
  /** @brief Allocates elements as `Buffer` does; `place` is a stream or a device. */
  template <class Place>
  Array(const Place& place, std::size_t count)
      : buffer_(place, detail::bytes<T>(count)), data_(static_cast<T*>(buffer_.address())), size_(count) {}

  /** @brief The address of the first element in device memory. */
  T* data() const noexcept { return data_; }
  /** @brief The number of elements. */
  std::size_t size() const noexcept { return size_; }

 private:
  Buffer buffer_;
  T* data_;
  std::size_t size_;
};

namespace detail {

/** Elements in device-allocated memory that the host can access. */
template <class T, tenon_status (*allocate)(tenon_device, void**, std::size_t),
          tenon_status (*deallocate)(tenon_device, void*, std::size_t)>
class Reachable {
 public:
  Reachable(const Device& device, std::size_t count) : device_(device.get()), size_(count) {
    void* memory = nullptr;
    check(allocate(device_, &memory, bytes<T>(count)));
    data_ = static_cast<T*>(memory);
  }
  Reachable(Reachable&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Reachable& operator=(Reachable&& other) noexcept {
    Reachable taken(std::move(other));
    std::swap(device_, taken.device_);
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    return *this;
  }
  ~Reachable() {
    if (data_ != nullptr) {
      static_cast<void>(deallocate(device_, data_, size_ * sizeof(T)));
    }
  }

  T* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  T* begin() const noexcept { return data_; }
  T* end() const noexcept { return data_ + size_; }
  T& operator[](std::size_t index) const noexcept { return data_[index]; }

 private:
  tenon_device device_;
  T* data_ = nullptr;
  std::size_t size_;
};

}  // namespace detail

/** @brief Elements in pinned host memory, for asynchronous copies. */
template <class T>
using HostArray = detail::Reachable<T, tenon_host_memory_allocate, tenon_host_memory_deallocate>;

/** @brief Elements in unified memory, which host and device access at the same address. */
template <class T>
using UnifiedArray = detail::Reachable<T, tenon_unified_memory_allocate, tenon_unified_memory_deallocate>;

}  // namespace tenon

#endif  // TENON_TENON_HPP

// The live streams and events of a device.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stream.h"
#include "tenon/device_ext.h"

using StreamPtr = std::shared_ptr<Stream>;
using RecordPtr = std::shared_ptr<Record>;

// Streams and events by their handles, which are numbers that are looked up and never dereferenced.
class Objects {
 public:
  C_Stream create_stream() {
    const std::lock_guard<std::mutex> guard(lock_);
    streams_.emplace(++last_stream_, std::make_shared<Stream>());
    return reinterpret_cast<C_Stream>(last_stream_);
  }

  // Returns the stream of a handle, or null. The null handle is the default stream, which the first use creates.
  StreamPtr find(C_Stream handle) {
    const std::lock_guard<std::mutex> guard(lock_);
    const auto found = streams_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found != streams_.end()) {
      return found->second;
    }
    return handle == nullptr ? streams_.emplace(0, std::make_shared<Stream>()).first->second : nullptr;
  }

  // Removes a stream. Its jobs still run, and the call does not wait for them.
  bool destroy_stream(C_Stream handle) {
    // Threads of streams without jobs are joined when the lock is free.
    std::vector<StreamPtr> ended;
    const std::lock_guard<std::mutex> guard(lock_);
    const auto found = streams_.find(reinterpret_cast<std::uintptr_t>(handle));
    if (found == streams_.end()) {
      return false;
    }
    found->second->end();
    destroyed_.push_back(std::move(found->second));
    streams_.erase(found);
    for (auto& stream : destroyed_) {
      if (stream->is_done()) {
        ended.push_back(std::move(stream));
      }
    }
    destroyed_.erase(std::remove(destroyed_.begin(), destroyed_.end(), nullptr), destroyed_.end());
    return true;
  }

  // Returns all streams with jobs, also destroyed ones.
  std::vector<StreamPtr> all_streams() {
    const std::lock_guard<std::mutex> guard(lock_);
    std::vector<StreamPtr> streams = destroyed_;
    for (const auto& [handle, stream] : streams_) {
      streams.push_back(stream);
    }
    return streams;
  }

  C_Event create_event() {
    const std::lock_guard<std::mutex> guard(lock_);
    events_.emplace(++last_event_, nullptr);
    return reinterpret_cast<C_Event>(last_event_);
  }

  bool destroy_event(C_Event event) {
    const std::lock_guard<std::mutex> guard(lock_);
    return events_.erase(reinterpret_cast<std::uintptr_t>(event)) > 0;
  }

  // Calls `body` with the last record of an event, which is null if it was never recorded.
  template <typename Body>
  C_Status with_event(C_Event event, Body body) {
    const std::lock_guard<std::mutex> guard(lock_);
    const auto found = events_.find(reinterpret_cast<std::uintptr_t>(event));
    return found != events_.end() ? body(found->second) : C_ERROR;
  }

  // Ends all threads, when they have run their jobs.
  void clear() {
    std::map<std::uintptr_t, StreamPtr> streams;
    std::vector<StreamPtr> destroyed;
    const std::lock_guard<std::mutex> guard(lock_);
    streams.swap(streams_);
    destroyed.swap(destroyed_);
    events_.clear();
  }

 private:
  std::mutex lock_;
  std::map<std::uintptr_t, StreamPtr> streams_;
  std::map<std::uintptr_t, RecordPtr> events_;
  std::vector<StreamPtr> destroyed_;
  // Handles are no addresses, and a stream is no event.
  std::uintptr_t last_stream_ = std::uintptr_t{1} << 60;
  std::uintptr_t last_event_ = std::uintptr_t{2} << 60;
};

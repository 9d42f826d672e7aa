// The parts of gloo's classes that the shim touches, in the layout of gloo from 2021 to 2024.
//
// There is no code here: the shim calls gloo's functions by their symbols, so it needs neither gloo's headers nor its
// library to be built. Fields have gloo's order and types; `tests/layout.cpp` compares this file with gloo's own
// headers where they are installed (Debian: libgloo-dev).
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#ifndef __GLIBCXX__
#error "gloo is built with libstdc++, and its functions take classes of that library"
#endif

namespace gloo {

namespace transport {

class Address;
class Device;
class Pair;

class UnboundBuffer {
public:
  virtual ~UnboundBuffer() = 0;
  void* ptr;
  size_t size;
};

class Context {
public:
  virtual ~Context() = 0;
  int rank;
  int size;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::chrono::milliseconds timeout_;
};

namespace tcp {

struct attr {
  std::string hostname;
  std::string iface;
  int ai_family;
  int ai_socktype;
  int ai_protocol;
  sockaddr_storage ai_addr;
  int ai_addrlen;
};

}  // namespace tcp
}  // namespace transport

class Context {
public:
  virtual ~Context() = 0;
  int rank;
  int size;
  int base;
  std::shared_ptr<transport::Device> device_;
  std::shared_ptr<transport::Context> transportContext_;
  int slot_;
  std::chrono::milliseconds timeout_;
};

using Reduction = std::function<void(void*, const void*, const void*, size_t)>;

namespace detail {

struct AllreduceOptionsImpl {
  std::shared_ptr<Context> context;
  std::chrono::milliseconds timeout;
  int algorithm;
  std::vector<std::unique_ptr<transport::UnboundBuffer>> in;
  std::vector<std::unique_ptr<transport::UnboundBuffer>> out;
  size_t elements;
  size_t elementSize;
  Reduction reduce;
  uint32_t tag;
  size_t maxSegmentSize;
};

}  // namespace detail

struct AllreduceOptions {
  detail::AllreduceOptionsImpl impl_;
};

struct AllgatherOptions {
  std::shared_ptr<Context> context;
  std::unique_ptr<transport::UnboundBuffer> in;
  std::unique_ptr<transport::UnboundBuffer> out;
  size_t elementSize;
  uint32_t tag;
  std::chrono::milliseconds timeout;
};

struct BroadcastOptions {
  std::shared_ptr<Context> context;
  std::unique_ptr<transport::UnboundBuffer> in;
  std::unique_ptr<transport::UnboundBuffer> out;
  size_t elements;
  size_t elementSize;
  int root;
  uint32_t tag;
  std::chrono::milliseconds timeout;
};

struct ReduceOptions {
  std::shared_ptr<Context> context;
  std::unique_ptr<transport::UnboundBuffer> in;
  std::unique_ptr<transport::UnboundBuffer> out;
  size_t elements;
  size_t elementSize;
  int root;
  Reduction reduce;
  uint32_t tag;
  size_t maxSegmentSize;
  std::chrono::milliseconds timeout;
};

}  // namespace gloo

// C functions over gloo's C++ classes. `tenon/gloo.h` documents them; it is generated from spec/gloo.
//
// gloo's functions are found by their symbols in a library that the process has loaded. A symbol contains the types of
// the parameters, so a function with other parameters is absent, not called wrongly.

#include "tenon/gloo.h"

#include <dlfcn.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "gloo.hpp"

namespace {

namespace transport = gloo::transport;
using Milliseconds = std::chrono::milliseconds;
using Bytes = std::vector<char>;
using Buffer = std::unique_ptr<transport::UnboundBuffer>;

/// Largest segment of a message in a reduction, as gloo itself sets it.
constexpr size_t kSegment = 1024 * 1024;

/// A reason that is the caller's mistake.
struct Invalid : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// gloo's functions. A member function takes its object as the first parameter.
struct Functions {
  void (*context_new)(gloo::Context*, int rank, int size, int base) = nullptr;
  void (*context_delete)(gloo::Context*) = nullptr;
  void (*context_set_timeout)(gloo::Context*, Milliseconds) = nullptr;
  std::shared_ptr<transport::Device> (*device_create)(const transport::tcp::attr&) = nullptr;
  std::shared_ptr<transport::Context> (*create_context)(transport::Device*, int rank, int size) = nullptr;
  void (*signal_exception)(transport::Context*, const std::string&) = nullptr;
  std::unique_ptr<transport::Pair>& (*create_pair)(transport::Context*, int rank) = nullptr;
  Buffer (*create_buffer)(transport::Context*, void*, size_t) = nullptr;
  const transport::Address& (*pair_address)(const transport::Pair*) = nullptr;
  void (*pair_connect)(transport::Pair*, const Bytes&) = nullptr;
  Bytes (*address_bytes)(const transport::Address*) = nullptr;
  void (*send)(transport::UnboundBuffer*, int rank, uint64_t slot, size_t offset, size_t bytes) = nullptr;
  void (*receive)(transport::UnboundBuffer*, int rank, uint64_t slot, size_t offset, size_t bytes) = nullptr;
  bool (*wait_send)(transport::UnboundBuffer*, int* rank, Milliseconds) = nullptr;
  bool (*wait_receive)(transport::UnboundBuffer*, int* rank, Milliseconds) = nullptr;
  void (*all_reduce)(const gloo::AllreduceOptions&) = nullptr;
  void (*reduce)(gloo::ReduceOptions&) = nullptr;
  void (*broadcast)(gloo::BroadcastOptions&) = nullptr;
  void (*all_gather)(gloo::AllgatherOptions&) = nullptr;
};

Functions functions;

thread_local std::string reason;

template <typename Function>
void find(void* library, const char* symbol, Function*& function) {
  void* found = dlsym(library, symbol);
  if (found == nullptr) {
    throw Invalid(std::string("it has no function ") + symbol);
  }
  function = reinterpret_cast<Function*>(found);
}

Functions functions_of(void* library) {
  Functions of;
  // Later versions take a shared pointer here. Their classes have another layout.
  void (*mark)() = nullptr;
  find(library,
       "_ZN4gloo10rendezvous7Context15connectFullMeshERNS0_5StoreERSt10shared_ptrINS_9transport6DeviceEE", mark);
  find(library, "_ZN4gloo7ContextC1Eiii", of.context_new);
  find(library, "_ZN4gloo7ContextD1Ev", of.context_delete);
  find(library, "_ZN4gloo7Context10setTimeoutENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", of.context_set_timeout);
  find(library, "_ZN4gloo9transport3tcp12CreateDeviceERKNS1_4attrE", of.device_create);
  find(library, "_ZN4gloo9transport3tcp6Device13createContextEii", of.create_context);
  // Ends what waits on this side too, which closing the connections does not.
  find(library,
       "_ZN4gloo9transport3tcp7Context15signalExceptionERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
       of.signal_exception);
  find(library, "_ZN4gloo9transport3tcp7Context10createPairEi", of.create_pair);
  find(library, "_ZN4gloo9transport3tcp7Context19createUnboundBufferEPvm", of.create_buffer);
  find(library, "_ZNK4gloo9transport3tcp4Pair7addressEv", of.pair_address);
  find(library, "_ZN4gloo9transport3tcp4Pair7connectERKSt6vectorIcSaIcEE", of.pair_connect);
  find(library, "_ZNK4gloo9transport3tcp7Address5bytesEv", of.address_bytes);
  find(library, "_ZN4gloo9transport3tcp13UnboundBuffer4sendEimmm", of.send);
  find(library, "_ZN4gloo9transport3tcp13UnboundBuffer4recvEimmm", of.receive);
  find(library, "_ZN4gloo9transport3tcp13UnboundBuffer8waitSendEPiNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE",
       of.wait_send);
  find(library, "_ZN4gloo9transport3tcp13UnboundBuffer8waitRecvEPiNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE",
       of.wait_receive);
  find(library, "_ZN4gloo9allreduceERKNS_16AllreduceOptionsE", of.all_reduce);
  find(library, "_ZN4gloo6reduceERNS_13ReduceOptionsE", of.reduce);
  find(library, "_ZN4gloo9broadcastERNS_16BroadcastOptionsE", of.broadcast);
  find(library, "_ZN4gloo9allgatherERNS_16AllgatherOptionsE", of.all_gather);
  return of;
}

/// Runs a function, and makes a status of what it throws.
template <typename Body>
tenon_gloo_status guarded(Body body) {
  try {
    body();
    return TENON_GLOO_SUCCESS;
  } catch (const Invalid& error) {
    reason = error.what();
    return TENON_GLOO_INVALID;
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
    reason = "an exception of an unknown type";
  }
  return TENON_GLOO_FAILED;
}

std::shared_ptr<gloo::Context> new_context(int rank, int size) {
  void* memory = ::operator new(sizeof(gloo::Context));
  auto* context = static_cast<gloo::Context*>(memory);
  try {
    functions.context_new(context, rank, size, 2);
  } catch (...) {
    ::operator delete(memory);
    throw;
  }
  return {context, [](gloo::Context* done) {
            functions.context_delete(done);
            ::operator delete(static_cast<void*>(done));
          }};
}

}  // namespace

struct tenon_gloo_device_st {
  std::shared_ptr<transport::Device> device;
};

struct tenon_gloo_mesh_st {
  std::shared_ptr<gloo::Context> context;
  std::vector<transport::Pair*> pairs;
  size_t address_size = 0;
};

struct tenon_gloo_exchange_st {
  struct Message {
    Buffer buffer;
    bool is_send;
  };
  std::vector<Message> messages;
  Milliseconds timeout;
};

namespace {

using Mesh = tenon_gloo_mesh_st;
using Exchange = tenon_gloo_exchange_st;

const Mesh& checked(tenon_gloo_mesh mesh) {
  if (mesh == nullptr) {
    throw Invalid("the mesh is null");
  }
  return *mesh;
}

transport::Pair& pair_of(tenon_gloo_mesh mesh, uint32_t member) {
  const auto& pairs = checked(mesh).pairs;
  if (member >= pairs.size() || pairs[member] == nullptr) {
    throw Invalid("there is no such other member");
  }
  return *pairs[member];
}

Buffer buffer(const Mesh& mesh, void* data, size_t bytes) {
  return functions.create_buffer(mesh.context->transportContext_.get(), data, bytes);
}

}  // namespace

extern "C" {

const char* tenon_gloo_last_error(void) { return reason.c_str(); }

tenon_gloo_status tenon_gloo_use_library(void* library) {
  try {
    functions = functions_of(library);
    return TENON_GLOO_SUCCESS;
  } catch (const Invalid& error) {
    reason = error.what();
    return TENON_GLOO_ABSENT;
  }
}

tenon_gloo_status tenon_gloo_device_create(const char* address, tenon_gloo_device* device) {
  return guarded([&] {
    transport::tcp::attr attributes{};
    attributes.hostname = address;
    attributes.ai_family = AF_UNSPEC;
    *device = new tenon_gloo_device_st{functions.device_create(attributes)};
  });
}

tenon_gloo_status tenon_gloo_device_destroy(tenon_gloo_device device) {
  return guarded([&] { delete device; });
}

tenon_gloo_status tenon_gloo_mesh_create(tenon_gloo_device device, uint32_t rank, uint32_t size, uint64_t timeout_ms,
                                         tenon_gloo_mesh* mesh) {
  return guarded([&] {
    auto made = std::make_unique<Mesh>();
    made->context = new_context(static_cast<int>(rank), static_cast<int>(size));
    const Milliseconds timeout(timeout_ms);
    functions.context_set_timeout(made->context.get(), timeout);
    made->context->device_ = device->device;
    made->context->transportContext_ =
        functions.create_context(device->device.get(), static_cast<int>(rank), static_cast<int>(size));
    transport::Context& connections = *made->context->transportContext_;
    connections.timeout_ = timeout;
    made->pairs.resize(size);
    for (uint32_t member = 0; member < size; member++) {
      if (member != rank) {
        transport::Pair* pair = functions.create_pair(&connections, static_cast<int>(member)).get();
        made->pairs[member] = pair;
        made->address_size = functions.address_bytes(&functions.pair_address(pair)).size();
      }
    }
    *mesh = made.release();
  });
}

tenon_gloo_status tenon_gloo_mesh_address_size(tenon_gloo_mesh mesh, size_t* size) {
  return guarded([&] { *size = checked(mesh).address_size; });
}

tenon_gloo_status tenon_gloo_mesh_address(tenon_gloo_mesh mesh, uint32_t member, void* address) {
  return guarded([&] {
    const Bytes bytes = functions.address_bytes(&functions.pair_address(&pair_of(mesh, member)));
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(address));
  });
}

tenon_gloo_status tenon_gloo_mesh_connect(tenon_gloo_mesh mesh, uint32_t member, void* address) {
  return guarded([&] {
    const char* first = static_cast<const char*>(address);
    functions.pair_connect(&pair_of(mesh, member), Bytes(first, first + mesh->address_size));
  });
}

tenon_gloo_status tenon_gloo_mesh_close(tenon_gloo_mesh mesh) {
  return guarded([&] {
    functions.signal_exception(checked(mesh).context->transportContext_.get(), "the connections were closed");
  });
}

tenon_gloo_status tenon_gloo_mesh_destroy(tenon_gloo_mesh mesh) {
  return guarded([&] { delete mesh; });
}

tenon_gloo_status tenon_gloo_all_reduce(tenon_gloo_mesh mesh, void* input, void* output, uint64_t count,
                                        uint32_t element_size, tenon_gloo_reduction reduction, uint32_t tag) {
  return guarded([&] {
    const Mesh& of = checked(mesh);
    gloo::AllreduceOptions options{};
    auto& all = options.impl_;
    all.context = of.context;
    all.timeout = of.context->timeout_;
    // Without an input, the output is the input.
    if (input != output) {
      all.in.push_back(buffer(of, input, count * element_size));
    }
    all.out.push_back(buffer(of, output, count * element_size));
    all.elements = count;
    all.elementSize = element_size;
    all.reduce = reduction;
    all.tag = tag;
    all.maxSegmentSize = kSegment;
    functions.all_reduce(options);
  });
}

tenon_gloo_status tenon_gloo_reduce(tenon_gloo_mesh mesh, void* input, void* output, uint64_t count,
                                    uint32_t element_size, tenon_gloo_reduction reduction, uint32_t root,
                                    uint32_t tag) {
  return guarded([&] {
    const Mesh& of = checked(mesh);
    gloo::ReduceOptions options{};
    options.context = of.context;
    options.timeout = of.context->timeout_;
    options.in = buffer(of, input, count * element_size);
    options.out = buffer(of, output, count * element_size);
    options.elements = count;
    options.elementSize = element_size;
    options.root = static_cast<int>(root);
    options.reduce = reduction;
    options.tag = tag;
    options.maxSegmentSize = kSegment;
    functions.reduce(options);
  });
}

tenon_gloo_status tenon_gloo_broadcast(tenon_gloo_mesh mesh, void* bytes, uint64_t size, uint32_t root, uint32_t tag) {
  return guarded([&] {
    const Mesh& of = checked(mesh);
    gloo::BroadcastOptions options{};
    options.context = of.context;
    options.timeout = of.context->timeout_;
    options.out = buffer(of, bytes, size);
    options.elements = size;
    options.elementSize = 1;
    options.root = static_cast<int>(root);
    options.tag = tag;
    functions.broadcast(options);
  });
}

tenon_gloo_status tenon_gloo_all_gather(tenon_gloo_mesh mesh, void* input, void* output, uint64_t bytes,
                                        uint32_t tag) {
  return guarded([&] {
    const Mesh& of = checked(mesh);
    gloo::AllgatherOptions options{};
    options.context = of.context;
    options.timeout = of.context->timeout_;
    options.in = buffer(of, input, bytes);
    options.out = buffer(of, output, bytes * static_cast<uint64_t>(of.context->size));
    options.elementSize = 1;
    options.tag = tag;
    functions.all_gather(options);
  });
}

tenon_gloo_status tenon_gloo_exchange_start(tenon_gloo_mesh mesh, const tenon_gloo_transfer* transfers, size_t number,
                                            tenon_gloo_exchange* exchange) {
  return guarded([&] {
    const Mesh& of = checked(mesh);
    auto started = std::make_unique<Exchange>();
    started->timeout = of.context->timeout_;
    started->messages.reserve(number);
    for (size_t index = 0; index < number; index++) {
      const tenon_gloo_transfer& transfer = transfers[index];
      pair_of(mesh, transfer.member);
      const bool is_send = transfer.is_send != 0;
      started->messages.push_back({buffer(of, transfer.data, transfer.bytes), is_send});
      auto post = is_send ? functions.send : functions.receive;
      post(started->messages.back().buffer.get(), static_cast<int>(transfer.member), transfer.tag, 0, transfer.bytes);
    }
    *exchange = started.release();
  });
}

tenon_gloo_status tenon_gloo_exchange_wait(tenon_gloo_exchange exchange) {
  return guarded([&] {
    const std::unique_ptr<Exchange> waited(exchange);
    for (const Exchange::Message& message : waited->messages) {
      auto wait = message.is_send ? functions.wait_send : functions.wait_receive;
      if (!wait(message.buffer.get(), nullptr, waited->timeout)) {
        throw std::runtime_error("a message was aborted");
      }
    }
  });
}

}  // extern "C"

// Prints the layout of gloo's classes: as gloo's own headers have it with GLOO_HEADERS, as the shim declares it without.

#include <cstddef>
#include <cstdio>

#ifdef GLOO_HEADERS
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/broadcast.h>
#include <gloo/context.h>
#include <gloo/reduce.h>
#include <gloo/transport/context.h>
#include <gloo/transport/tcp/attr.h>
#include <gloo/transport/unbound_buffer.h>
#else
#include "../shim/gloo.hpp"
#endif

#define SIZE(type) std::printf("%s: %zu\n", #type, sizeof(type))
#define FIELD(type, field) \
  std::printf("  %s at %zu, of %zu bytes\n", #field, offsetof(type, field), sizeof(static_cast<type*>(nullptr)->field))

int main() {
  using namespace gloo;
  SIZE(transport::UnboundBuffer);
  FIELD(transport::UnboundBuffer, ptr);
  FIELD(transport::UnboundBuffer, size);
  // The rest of this class is gloo's own.
  FIELD(transport::Context, rank);
  FIELD(transport::Context, size);
  FIELD(transport::Context, mutex_);
  FIELD(transport::Context, pairs_);
  FIELD(transport::Context, timeout_);
  SIZE(transport::tcp::attr);
  FIELD(transport::tcp::attr, hostname);
  FIELD(transport::tcp::attr, iface);
  FIELD(transport::tcp::attr, ai_family);
  FIELD(transport::tcp::attr, ai_socktype);
  FIELD(transport::tcp::attr, ai_protocol);
  FIELD(transport::tcp::attr, ai_addr);
  FIELD(transport::tcp::attr, ai_addrlen);
  SIZE(Context);
  FIELD(Context, rank);
  FIELD(Context, size);
  FIELD(Context, base);
  FIELD(Context, device_);
  FIELD(Context, transportContext_);
  FIELD(Context, slot_);
  FIELD(Context, timeout_);
  using Reduce = detail::AllreduceOptionsImpl;
  SIZE(AllreduceOptions);
  FIELD(Reduce, context);
  FIELD(Reduce, timeout);
  FIELD(Reduce, algorithm);
  FIELD(Reduce, in);
  FIELD(Reduce, out);
  FIELD(Reduce, elements);
  FIELD(Reduce, elementSize);
  FIELD(Reduce, reduce);
  FIELD(Reduce, tag);
  FIELD(Reduce, maxSegmentSize);
  SIZE(AllgatherOptions);
  FIELD(AllgatherOptions, context);
  FIELD(AllgatherOptions, in);
  FIELD(AllgatherOptions, out);
  FIELD(AllgatherOptions, elementSize);
  FIELD(AllgatherOptions, tag);
  FIELD(AllgatherOptions, timeout);
  SIZE(BroadcastOptions);
  FIELD(BroadcastOptions, context);
  FIELD(BroadcastOptions, in);
  FIELD(BroadcastOptions, out);
  FIELD(BroadcastOptions, elements);
  FIELD(BroadcastOptions, elementSize);
  FIELD(BroadcastOptions, root);
  FIELD(BroadcastOptions, tag);
  FIELD(BroadcastOptions, timeout);
  SIZE(ReduceOptions);
  FIELD(ReduceOptions, context);
  FIELD(ReduceOptions, in);
  FIELD(ReduceOptions, out);
  FIELD(ReduceOptions, elements);
  FIELD(ReduceOptions, elementSize);
  FIELD(ReduceOptions, root);
  FIELD(ReduceOptions, reduce);
  FIELD(ReduceOptions, tag);
  FIELD(ReduceOptions, maxSegmentSize);
  FIELD(ReduceOptions, timeout);
}

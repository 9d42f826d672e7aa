// Tests the promises of tenon.hpp: each handle is released exactly once, and exceptions carry the error
// record.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <tenon/tenon.hpp>

#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
      std::exit(EXIT_FAILURE);                                              \
    }                                                                       \
  } while (false)

namespace {

template <class Handle>
constexpr bool only_moves = !std::is_copy_constructible_v<Handle> && !std::is_copy_assignable_v<Handle> &&
                            std::is_nothrow_move_constructible_v<Handle> &&
                            std::is_nothrow_move_assignable_v<Handle> && std::is_nothrow_destructible_v<Handle>;

static_assert(only_moves<tenon::Device> && only_moves<tenon::Stream> && only_moves<tenon::Event>);
static_assert(only_moves<tenon::Buffer> && only_moves<tenon::Array<int>>);
static_assert(only_moves<tenon::HostArray<int>> && only_moves<tenon::UnifiedArray<int>>);
static_assert(std::is_nothrow_copy_constructible_v<tenon::Error>);

template <class Function>
tenon::Error thrown_by(Function function) {
  try {
    function();
  } catch (const tenon::Error& error) {
    return error;
  }
  std::fprintf(stderr, "nothing was thrown\n");
  std::exit(EXIT_FAILURE);
}

// Number of calls of a function on the device, as the library counts them.
unsigned long long calls(const tenon::Device& device, const char* function) {
  std::size_t count = 0;
  tenon::check(tenon_device_report(device.get(), nullptr, &count));
  std::vector<tenon_report_entry> entries(count);
  tenon::check(tenon_device_report(device.get(), entries.data(), &count));
  for (const tenon_report_entry& entry : entries) {
    if (std::strcmp(entry.function, function) == 0) {
      return entry.calls;
    }
  }
  return std::numeric_limits<unsigned long long>::max();
}

void errors() {
  const tenon::Error error = thrown_by([] { tenon::Device("no such type"); });
  EXPECT(error.status() == TENON_NOT_FOUND);
  EXPECT(error.function() == "tenon_device_open");
  EXPECT(error.message().find("no such type") != std::string::npos);
  EXPECT(std::string(error.what()).find(error.message()) != std::string::npos);

  const tenon::Device device;
  // A negative address is none of the device's.
  int value = 0;
  const tenon::Error copy = thrown_by([&] { device.copy_d2h(&value, reinterpret_cast<int*>(-64), 1); });
  EXPECT(copy.function() == "tenon_memory_copy_d2h");
  EXPECT(copy.device() == "cpu:0");
  EXPECT(copy.plugin() == "cpu");
  EXPECT(thrown_by([] { tenon::Plugin("/no/such/plugin.so"); }).status() == TENON_NOT_FOUND);
}

void moves() {
  tenon::Device device;
  {
    tenon::Stream first(device);
    tenon::Stream second(device);
    tenon::Stream third(std::move(first));
    EXPECT(first.get() == nullptr);
    second = std::move(third);
    tenon::Stream& itself = second;
    second = std::move(itself);
    EXPECT(second.get() != nullptr);
    second.synchronize();

    tenon::Event event(device);
    tenon::Event other(std::move(event));
    other = tenon::Event(device);
    second.record(other);
    other.synchronize();
    EXPECT(other.done() && second.done());
  }
  EXPECT(calls(device, "create_stream") == 2 && calls(device, "destroy_stream") == 2);
  EXPECT(calls(device, "create_event") == 2 && calls(device, "destroy_event") == 2);
  {
    tenon::HostArray<int> host(device, 3);
    tenon::HostArray<int> taken(std::move(host));
    taken = tenon::HostArray<int>(device, 5);
    EXPECT(host.size() == 0 && taken.size() == 5);
    tenon::UnifiedArray<int> unified(device, 2);
    unified = tenon::UnifiedArray<int>(device, 4);
  }
  EXPECT(calls(device, "host_memory_allocate") == 2 && calls(device, "host_memory_deallocate") == 2);
  EXPECT(calls(device, "unified_memory_allocate") == 2 && calls(device, "unified_memory_deallocate") == 2);
  device = tenon::Device();
  device.synchronize();
  device.close();
}

void closing() {
  tenon::Device device;
  void* memory = nullptr;
  tenon::check(tenon_pool_allocate(device.get(), 64, nullptr, &memory));
  // An object in use stays open, and can be closed later.
  EXPECT(thrown_by([&] { device.close(); }).status() == TENON_BUSY);
  EXPECT(device.get() != nullptr);
  tenon::check(tenon_pool_free(device.get(), memory, nullptr));
  device.close();
  EXPECT(device.get() == nullptr);
}

void memory() {
  const tenon::Device device;
  const tenon::Stream stream(device);
  const int values[] = {3, 1, 4, 1, 5};
  int back[5] = {};
  tenon::Array<int> array(stream, 5);
  tenon::Array<int> copied(device, 5);
  stream.copy_h2d(array.data(), values, 5);
  stream.copy_d2d(copied.data() + 1, array.data(), 4);
  stream.copy_d2h(back, copied.data() + 1, 4);
  stream.synchronize();
  EXPECT(back[0] == 3 && back[3] == 1 && back[4] == 0);
  array = std::move(copied);
  device.copy_h2d(array.data(), values, 5);
  device.copy_d2h(back, array.data(), 5);
  EXPECT(std::memcmp(back, values, sizeof values) == 0);

  tenon::Buffer buffer(stream, 100);
  EXPECT(buffer.size() == 100 && buffer.address() != nullptr);
  buffer = tenon::Buffer(device, 7);
  EXPECT(buffer.size() == 7);

  constexpr std::size_t many = std::numeric_limits<std::size_t>::max();
  EXPECT(thrown_by([&] { tenon::Array<char>(device, many / 2); }).status() == TENON_OUT_OF_MEMORY);
  bool too_many = false;
  try {
    tenon::Array<double>(device, many / 4);
  } catch (const std::bad_array_new_length&) {
    too_many = true;
  }
  EXPECT(too_many);
}

void callbacks() {
  const tenon::Device device;
  const tenon::Stream stream(device);
  const auto ran = std::make_shared<int>(0);
  for (int i = 0; i < 100; ++i) {
    stream.call([ran] { ++*ran; });
  }
  stream.synchronize();
  EXPECT(*ran == 100);
  // The captures of a callback may be released shortly after the stream has passed it.
  tenon::Stream::default_of(device).synchronize();

  // An exception of a callback does not leave it; the device decides whether the stream reports an error.
  tenon::Stream failing(device);
  failing.call([] { throw std::runtime_error("not today"); });
  try {
    failing.synchronize();
  } catch (const tenon::Error& error) {
    EXPECT(error.function() == "tenon_synchronize_stream");
  }
}

}  // namespace

int main() {
  errors();
  moves();
  closing();
  memory();
  callbacks();
  {
    const tenon::Device device;
    EXPECT(device.report().find("create_stream") != std::string::npos);
    EXPECT(device.info().ordinal == 0);
  }
  tenon::check(tenon_shutdown());
  EXPECT(thrown_by([] { tenon::check(tenon_shutdown()); }).status() == TENON_NOT_INITIALISED);
  std::puts("all as promised");
}

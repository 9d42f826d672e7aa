// vector_add.c in C++17: handles release themselves, and failures throw exceptions.
//
//   c++ -std=c++17 vector_add.cpp $(pkg-config --cflags --libs tenon) -o vector_add && ./vector_add [DEVICE_TYPE]
#include <cstdlib>
#include <iostream>
#include <tenon/tenon.hpp>

namespace {

constexpr std::size_t count = 1 << 20;
constexpr std::size_t pieces = 8;
constexpr std::size_t piece = count / pieces;

// Queues work of the host. A device without callbacks is waited for, and the calling thread does the work.
template <class Work>
void queue(const tenon::Stream& stream, Work work) {
  try {
    stream.call(work);
  } catch (const tenon::Error& error) {
    if (error.status() != TENON_UNSUPPORTED) {
      throw;
    }
    stream.synchronize();
    work();
  }
}

void add_vectors(const tenon::Device& device) {
  tenon::HostArray<float> a(device, count), b(device, count), sum(device, count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  // What the function that replaces a kernel reads and writes.
  tenon::HostArray<float> x(device, count), y(device, count), z(device, count);
  tenon::Array<float> device_a(device, count), device_b(device, count), device_sum(device, count);

  tenon::Stream incoming(device), sums(device);
  tenon::Event arrived(device);
  for (std::size_t at = 0; at < count; at += piece) {
    incoming.copy_h2d(device_a.data() + at, a.data() + at, piece);
    incoming.copy_h2d(device_b.data() + at, b.data() + at, piece);
    // One event does for all pieces: a wait keeps to the record that it saw.
    incoming.record(arrived);
    sums.wait(arrived);
    sums.copy_d2h(x.data() + at, device_a.data() + at, piece);
    sums.copy_d2h(y.data() + at, device_b.data() + at, piece);
    // Addresses by value, not the arrays by reference: the stream calls when this scope may have been left.
    queue(sums, [x = x.data() + at, y = y.data() + at, z = z.data() + at] {
      for (std::size_t i = 0; i < piece; ++i) {
        z[i] = x[i] + y[i];
      }
    });
    sums.copy_h2d(device_sum.data() + at, z.data() + at, piece);
    sums.copy_d2h(sum.data() + at, device_sum.data() + at, piece);
  }
  // On a device with streams, everything above was only queued. The work of `sums` waits for the work of `incoming`.
  sums.synchronize();

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    wrong += sum[i] != static_cast<float>(3 * i);
  }
  std::cout << count << " sums in " << pieces << " pieces, " << wrong << " wrong\n";
}

}  // namespace

int main(int argc, char** argv) try {
  add_vectors(argc > 1 ? tenon::Device(argv[1]) : tenon::Device());
  tenon::check(tenon_shutdown());
  return EXIT_SUCCESS;
} catch (const tenon::Error& error) {
  std::cerr << error.what() << '\n';
  return EXIT_FAILURE;
}

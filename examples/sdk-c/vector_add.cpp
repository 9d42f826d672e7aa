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

void add_vectors(const tenon::Device& device) {
  tenon::HostArray<float> a(device, count), b(device, count), sum(device, count);
  for (std::size_t i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i);
    b[i] = static_cast<float>(2 * i);
  }
  tenon::UnifiedArray<float> device_a(device, count), device_b(device, count), device_sum(device, count);

  tenon::Stream incoming(device), sums(device);
  tenon::Event arrived(device);
  for (std::size_t at = 0; at < count; at += piece) {
    incoming.copy_h2d(device_a.data() + at, a.data() + at, piece);
    incoming.copy_h2d(device_b.data() + at, b.data() + at, piece);
    // One event does for all pieces: a wait keeps to the record that it saw.
    incoming.record(arrived);
    sums.wait(arrived);
    // Addresses by value, not the arrays by reference: the stream calls when this scope may have been left.
    sums.call([x = device_a.data() + at, y = device_b.data() + at, z = device_sum.data() + at] {
      for (std::size_t i = 0; i < piece; ++i) {
        z[i] = x[i] + y[i];
      }
    });
    sums.copy_d2h(sum.data() + at, device_sum.data() + at, piece);
  }
  // Everything above was only queued. The work of `sums` waits for the work of `incoming`.
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

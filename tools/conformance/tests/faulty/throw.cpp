// The part of the plugin in C++: a function that throws through the plugin's C functions into its host.
#include <stdexcept>

extern "C" void throw_exception(void);

void throw_exception() {
  throw std::runtime_error("lost the device");
}

// What a vendor's kernels expect of PaddlePaddle, which is played by `libpaddle.so` of `paddle.cc`.
//
//   DATA   a class of PaddlePaddle is derived from, whose typeinfo is data
//   EARLY  PaddlePaddle is called while the library is opened, as the registration of kernels in C++ does

extern "C" int PD_Version(void);

#ifdef DATA
namespace phi {
class Kernel {
 public:
  virtual ~Kernel();
  virtual int Run();
};
}  // namespace phi

namespace vendor {
class Relu : public phi::Kernel {
 public:
  int Run() override { return phi::Kernel::Run() + 1; }
};
}  // namespace vendor

extern "C" __attribute__((visibility("default"))) phi::Kernel* vendor_kernel() { return new vendor::Relu; }
#endif

#ifdef EARLY
static int version = PD_Version();
#endif

extern "C" __attribute__((visibility("default"))) int vendor_version() { return PD_Version(); }

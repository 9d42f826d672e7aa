// A stand-in for PaddlePaddle's library: the functions and the class that `kernels.cc` expects. It needs another library
// beside it, as the real one does.

extern "C" int PD_CommonVersion(void);

extern "C" int PD_Version(void) { return PD_CommonVersion(); }

namespace phi {
class Kernel {
 public:
  virtual ~Kernel();
  virtual int Run();
};

Kernel::~Kernel() = default;
int Kernel::Run() { return PD_Version(); }
}  // namespace phi

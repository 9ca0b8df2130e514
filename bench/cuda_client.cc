// The least a program can do to let a GPU add two vectors: the calls of CUDA's driver and nothing
// else. The floor for the phases of `kgpu validate`: a line "PHASE NANOSECONDS" each.
//   cuda-client LIBRARY
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "src/diagnose/validate/kernels.h"
#include "src/diagnose/validate/protocol.h"
#include "src/gpu/cuda_abi/functions.h"

namespace kgpu::bench {
namespace {

namespace cu = cuda_api;
using std::chrono::steady_clock;

class Client {
 public:
  explicit Client(const char* library) : start_(steady_clock::now()) {
    library_ = dlopen(library, RTLD_NOW);
  }
  bool is_loaded() const { return library_ != nullptr; }
  bool is_good() const { return is_good_; }
  template <typename Fn, typename... Args>
  void Call(const char* name, Args... args) {
    void* symbol = is_good_ ? dlsym(library_, name) : nullptr;
    is_good_ = symbol != nullptr && reinterpret_cast<Fn*>(symbol)(args...) == cu::kSuccess;
  }
  void End(const char* phase) {
    const auto now = steady_clock::now();
    is_good_ = printf("%s %lld\n", phase,
                      static_cast<long long>(std::chrono::nanoseconds(now - start_).count())) > 0 &&
               is_good_;
    start_ = steady_clock::now();
  }

 private:
  void* library_ = nullptr;
  bool is_good_ = true;
  steady_clock::time_point start_;
};

void Add(Client& client, cu::Module module) {
  const size_t bytes = validate::kElements * sizeof(float);
  std::vector<float> host(validate::kElements, 1);
  std::array<cu::DevicePointer, 3> on_device{};
  for (cu::DevicePointer& pointer : on_device) {
    client.Call<cu::MemAllocFn>("cuMemAlloc_v2", &pointer, bytes);
  }
  for (const size_t i : {0, 1}) {
    client.Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", on_device[i],
                                  static_cast<const void*>(host.data()), bytes);
  }
  client.End("copy-in");
  cu::Function kernel = nullptr;
  client.Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", &kernel, module, "vector_add");
  uint32_t count = validate::kElements;
  std::array<void*, 4> arguments{&on_device[0], &on_device[1], &on_device[2], &count};
  const cu::Stream stream = nullptr;
  void** extra = nullptr;
  client.Call<cu::LaunchKernelFn>("cuLaunchKernel", kernel, validate::kBlocks, 1U, 1U,
                                  validate::kThreads, 1U, 1U, 0U, stream, arguments.data(), extra);
  client.Call<cu::CtxSynchronizeFn>("cuCtxSynchronize");
  client.End("kernel");
  client.Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", static_cast<void*>(host.data()), on_device[2],
                                bytes);
  client.End("copy-out");
}

int Run(const char* library) {
  Client client(library);
  if (!client.is_loaded()) {
    return 1;
  }
  client.End("load");
  cu::Device device = 0;
  client.Call<cu::InitFn>("cuInit", 0U);
  client.Call<cu::DeviceGetFn>("cuDeviceGet", &device, 0);
  client.End("init");
  cu::Context context = nullptr;
  client.Call<cu::CtxCreateFn>("cuCtxCreate_v2", &context, 0U, device);
  client.End("context");
  std::string ptx(validate::kKernels);
  cu::Module module = nullptr;
  cu::JitOption* options = nullptr;
  void** values = nullptr;
  client.Call<cu::ModuleLoadDataExFn>("cuModuleLoadDataEx", &module,
                                      static_cast<const void*>(ptx.c_str()), 0U, options, values);
  client.End("compile");
  Add(client, module);
  return client.is_good() ? 0 : 1;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  return argc == 2 ? kgpu::bench::Run(argv[1]) : 2;
}

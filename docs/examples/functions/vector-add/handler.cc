// Adds two vectors on the GPU. Input: two lines of numbers. Output: one line, their sum.
//
// It uses the driver alone: libcuda.so.1 is mounted into the container together with the GPU, and
// translates the kernel below for whatever GPU that is. So the image needs no CUDA, and building it
// no compiler of NVIDIA's.
#include "handler.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace {

// One thread adds one pair. Source: the PTX ISA reference.
constexpr char kKernel[] = R"(
.version 6.0
.target sm_30
.address_size 64
.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 sum, .param .u32 count) {
  .reg .pred %p<1>;
  .reg .b32 %r<5>;
  .reg .f32 %f<3>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd0, [a];
  ld.param.u64 %rd1, [b];
  ld.param.u64 %rd2, [sum];
  ld.param.u32 %r0, [count];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p0, %r4, %r0;
  @%p0 ret;
  cvta.to.global.u64 %rd0, %rd0;
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  mul.wide.u32 %rd3, %r4, 4;
  add.u64 %rd4, %rd0, %rd3;
  add.u64 %rd5, %rd1, %rd3;
  add.u64 %rd6, %rd2, %rd3;
  ld.global.f32 %f0, [%rd4];
  ld.global.f32 %f1, [%rd5];
  add.f32 %f2, %f0, %f1;
  st.global.f32 [%rd6], %f2;
  ret;
}
)";

// The part of the driver's interface that is used here. Source: the CUDA driver API reference.
using Result = int;              // CUresult; 0 is success
using DevicePointer = uint64_t;  // CUdeviceptr
using Handle = void*;            // CUcontext, CUmodule, CUfunction, CUstream

class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (library_ == nullptr) {
      throw std::runtime_error(std::string("this container has no GPU driver: ") + dlerror());
    }
  }
  // Calls a function of the library; an error of it becomes an exception, which fails the call.
  template <typename... Arguments>
  void operator()(const char* name, Arguments... arguments) const {
    const auto function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library_, name));
    if (function == nullptr) {
      throw std::runtime_error(std::string("the driver has no function ") + name);
    }
    if (const Result result = function(arguments...); result != 0) {
      throw std::runtime_error(std::string(name) + " failed with error " + std::to_string(result));
    }
  }

 private:
  void* const library_;
};

// Made with the first call, and kept for all later ones: a CUDA context costs some tenths of a
// second and hundreds of megabytes.
class Gpu {
 public:
  Gpu() {
    int device = 0;
    char name[128] = {};
    driver_("cuInit", 0U);
    driver_("cuDeviceGet", &device, 0);
    driver_("cuDeviceGetName", &name[0], static_cast<int>(sizeof(name)), device);
    driver_("cuCtxCreate_v2", &context_, 0U, device);
    driver_("cuModuleLoadDataEx", &module_, static_cast<const void*>(kKernel), 0U,
            static_cast<int*>(nullptr), static_cast<void**>(nullptr));
    driver_("cuModuleGetFunction", &kernel_, module_, static_cast<const char*>("add"));
    std::clog << "context on " << name << std::endl;
  }
  void Use() const { driver_("cuCtxSetCurrent", context_); }
  const Driver& driver() const { return driver_; }
  Handle kernel() const { return kernel_; }

 private:
  Driver driver_;
  Handle context_ = nullptr;
  Handle module_ = nullptr;
  Handle kernel_ = nullptr;
};

// Memory of the GPU, freed at the end.
class DeviceVector {
 public:
  DeviceVector(const Gpu& gpu, std::size_t count) : gpu_(gpu), bytes_(count * sizeof(float)) {
    gpu_.driver()("cuMemAlloc_v2", &pointer_, bytes_);
  }
  DeviceVector(const Gpu& gpu, const std::vector<float>& values)
      : DeviceVector(gpu, values.size()) {
    gpu_.driver()("cuMemcpyHtoD_v2", pointer_, static_cast<const void*>(values.data()), bytes_);
  }
  ~DeviceVector() {
    try {
      gpu_.driver()("cuMemFree_v2", pointer_);
    } catch (const std::exception& error) {
      std::clog << error.what() << std::endl;
    }
  }
  DeviceVector(const DeviceVector&) = delete;
  DeviceVector& operator=(const DeviceVector&) = delete;

  std::vector<float> Values() const {
    std::vector<float> values(bytes_ / sizeof(float));
    gpu_.driver()("cuMemcpyDtoH_v2", static_cast<void*>(values.data()), pointer_, bytes_);
    return values;
  }
  // As an argument of a kernel.
  void* argument() { return &pointer_; }

 private:
  const Gpu& gpu_;
  const std::size_t bytes_;
  DevicePointer pointer_ = 0;
};

std::vector<float> NumbersIn(const std::string& line) {
  std::istringstream text(line);
  std::vector<float> numbers;
  for (float number = 0; text >> number;) {
    numbers.push_back(number);
  }
  if (!text.eof()) {
    throw std::runtime_error("\"" + line + "\" must be numbers separated by spaces");
  }
  return numbers;
}

std::vector<float> Sum(const Gpu& gpu, const std::vector<float>& a, const std::vector<float>& b) {
  constexpr unsigned kThreads = 128;
  gpu.Use();
  DeviceVector on_gpu_a(gpu, a);
  DeviceVector on_gpu_b(gpu, b);
  DeviceVector sum(gpu, a.size());
  auto count = static_cast<uint32_t>(a.size());
  void* arguments[] = {on_gpu_a.argument(), on_gpu_b.argument(), sum.argument(), &count};
  gpu.driver()("cuLaunchKernel", gpu.kernel(), (count + kThreads - 1) / kThreads, 1U, 1U, kThreads,
               1U, 1U, 0U, Handle(nullptr), &arguments[0], static_cast<void**>(nullptr));
  gpu.driver()("cuCtxSynchronize");
  return sum.Values();
}

}  // namespace

std::string Handler(const std::string req) {
  std::istringstream input(req);
  std::string lines[2];
  std::getline(input, lines[0]);
  std::getline(input, lines[1]);
  const std::vector<float> a = NumbersIn(lines[0]);
  const std::vector<float> b = NumbersIn(lines[1]);
  if (a.empty() || a.size() != b.size()) {
    throw std::runtime_error("the input must be two lines with the same number of numbers");
  }
  static const Gpu gpu;
  std::ostringstream output;
  const char* separator = "";
  for (const float value : Sum(gpu, a, b)) {
    output << separator << value;
    separator = " ";
  }
  output << "\n";
  return output.str();
}

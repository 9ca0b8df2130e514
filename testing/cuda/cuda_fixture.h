// Tests only: the built libcuda.so.1 inside a simulated host of the test's own.
#pragma once

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "src/gpu/cuda_abi/functions.h"
#include "testing/driver/memory_ledger.h"
#include "testing/driver/running_server.h"
#include "testing/driver/sample_state.h"
#include "testing/temp_dir.h"

namespace kgpu::simcuda {

namespace cu = cuda_api;

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kGiB = uint64_t{1} << 30;
inline constexpr uint64_t kContext = uint64_t{sim::kDefaultContextMib} << 20;

class CudaFixture : public ::testing::Test {
 protected:
  CudaFixture() {
    constexpr unsigned kNoDriver = 511;
    unsigned minor = 0;
    for (const char* node : {"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia0", "dev/nvidia1"}) {
      has_nodes_ = has_nodes_ && root_.MakeCharDevice(node, kNoDriver, minor++);
    }
    (void)chmod(root_.path().c_str(), 0755);
    root_.MakeDir("usr/lib64");
    const std::string file = root_.At("usr/lib64/libcuda.so.535.261.03");
    std::filesystem::copy_file(KGPU_CUDA_LIBRARY, file);
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    server_ = std::make_unique<sim::RunningServer>(root_.path(), *sim::SampleState(2));
  }
  ~CudaFixture() override { unsetenv("CUDA_VISIBLE_DEVICES"); }
  void SetUp() override {
    ASSERT_NE(handle_, nullptr);
    if (!has_nodes_) {
      GTEST_SKIP() << "this machine does not let us make device nodes";
    }
  }

  template <typename Fn, typename... Args>
  cu::Result Call(const char* name, Args... args) const {
    return reinterpret_cast<Fn*>(dlsym(handle_, name))(args...);
  }
  cu::Result Init() const { return Call<cu::InitFn>("cuInit", 0U); }
  // A context on the first device.
  void Start() {
    ASSERT_EQ(Init(), cu::kSuccess);
    ASSERT_EQ(MakeContext(0, &context_), cu::kSuccess);
  }
  cu::Result MakeContext(cu::Device device, cu::Context* context) const {
    return Call<cu::CtxCreateFn>("cuCtxCreate_v2", context, 0U, device);
  }
  cu::Result Alloc(size_t size, cu::DevicePointer* pointer) const {
    return Call<cu::MemAllocFn>("cuMemAlloc_v2", pointer, size);
  }
  cu::Result Free(cu::DevicePointer pointer) const {
    return Call<cu::MemFreeFn>("cuMemFree_v2", pointer);
  }
  cu::Result Put(cu::DevicePointer to, const std::string& text) const {
    return Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", to, text.data(), text.size());
  }
  std::string Get(cu::DevicePointer from, size_t size) const {
    std::string text(size, '?');
    const auto result = Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", text.data(), from, size);
    return result == cu::kSuccess ? text : "error " + std::to_string(result);
  }
  cu::Result Synchronize() const { return Call<cu::CtxSynchronizeFn>("cuCtxSynchronize"); }

  // What the simulated driver says of a process on a GPU: 0, it is not on it.
  uint64_t UsedBy(pid_t pid, uint32_t slot = 0) const {
    uint64_t used = 0;
    server_->Look([&](const sim::SimState& state) {
      for (const sim::SimProcess& process : state.gpus[slot].processes) {
        used += process.pid == static_cast<uint32_t>(pid) ? process.used_bytes : 0;
      }
    });
    return used;
  }
  // What this process has besides its contexts.
  uint64_t Used(uint32_t slot = 0) const {
    const uint64_t used = UsedBy(getpid(), slot);
    return used < kContext ? used : used - kContext;
  }
  uint64_t FreeOf(uint32_t slot = 0) const {
    uint64_t free = 0;
    server_->Look([&](const sim::SimState& state) {
      free = sim::SpaceOf(state.gpus[slot], sim::kUnsupported).free;
    });
    return free;
  }

  TempDir root_;
  bool has_nodes_ = true;
  void* handle_ = nullptr;  // never unloaded, as with CUDA's own users
  std::unique_ptr<sim::RunningServer> server_;
  cu::Context context_ = nullptr;
};

}  // namespace kgpu::simcuda

// The built libcuda.so.1 inside a simulated host of the test's own.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

using ::testing::HasSubstr;

constexpr char kDouble[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry twice(.param .u64 data, .param .u32 count) {\n"
    ".reg .pred %p<1>; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
    "ld.param.u64 %rd0, [data]; ld.param.u32 %r1, [count]; mov.u32 %r0, %tid.x;\n"
    "setp.ge.u32 %p0, %r0, %r1; @%p0 ret;\n"
    "mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;\n"
    "ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd2], %r2; ret;\n}\n";

class SimulatedCudaTest : public CudaFixture {
 protected:
  int Count() const {
    int count = -1;
    EXPECT_EQ(Call<cu::DeviceGetCountFn>("cuDeviceGetCount", &count), cu::kSuccess);
    return count;
  }
  cu::Result LoadText(const char* text, cu::Module* module, char* log, size_t log_size) const {
    cu::JitOption options[] = {cu::kJitErrorLogBuffer, cu::kJitErrorLogBufferSize};
    void* values[] = {log, reinterpret_cast<void*>(log_size)};
    return Call<cu::ModuleLoadDataExFn>(
        "cuModuleLoadDataEx", module, static_cast<const void*>(text), 2U, &options[0], &values[0]);
  }
  // Runs kDouble over `words` of device memory, `count` of them.
  cu::Result Double(cu::DevicePointer words, uint32_t count) const {
    cu::Module module = nullptr;
    cu::Function function = nullptr;
    char log[128] = {};
    EXPECT_EQ(LoadText(kDouble, &module, log, sizeof(log)), cu::kSuccess) << log;
    EXPECT_EQ(Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", &function, module, "twice"),
              cu::kSuccess);
    void* arguments[] = {&words, &count};
    void** extra = nullptr;
    cu::Stream stream = nullptr;
    EXPECT_EQ(Call<cu::LaunchKernelFn>("cuLaunchKernel", function, 1U, 1U, 1U, 8U, 1U, 1U, 0U,
                                       stream, &arguments[0], extra),
              cu::kSuccess);
    return Synchronize();
  }
};

TEST_F(SimulatedCudaTest, AKernelComputesInDeviceMemory) {
  Start();
  std::vector<uint32_t> words{1, 2, 3, 4};
  cu::DevicePointer memory = 0;
  ASSERT_EQ(Call<cu::MemAllocFn>("cuMemAlloc_v2", &memory, size_t{16}), cu::kSuccess);
  ASSERT_EQ(Call<cu::MemcpyHtoDFn>("cuMemcpyHtoD_v2", memory, words.data(), size_t{16}),
            cu::kSuccess);
  ASSERT_EQ(Double(memory, 3), cu::kSuccess);
  ASSERT_EQ(Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", words.data(), memory, size_t{16}),
            cu::kSuccess);
  EXPECT_THAT(words, ::testing::ElementsAre(2, 4, 6, 4));
  EXPECT_EQ(Call<cu::MemFreeFn>("cuMemFree_v2", memory), cu::kSuccess);
}

TEST_F(SimulatedCudaTest, AKernelBeyondItsMemoryFailsItsContext) {
  Start();
  cu::DevicePointer memory = 0;
  ASSERT_EQ(Call<cu::MemAllocFn>("cuMemAlloc_v2", &memory, size_t{16}), cu::kSuccess);
  EXPECT_EQ(Double(memory, 5), cu::kIllegalAddress);
  EXPECT_EQ(Synchronize(), cu::kIllegalAddress) << "for good";
}

TEST_F(SimulatedCudaTest, SaysWhatItDoesNotUnderstandOfPtx) {
  Start();
  cu::Module module = nullptr;
  char log[128] = {};
  EXPECT_EQ(LoadText(".version 6.0\n.target sm_30\n.func f;", &module, log, sizeof(log)),
            cu::kInvalidPtx);
  EXPECT_THAT(log, HasSubstr("line 3"));
  EXPECT_EQ(LoadText(".version 6.0\n.target sm_90", &module, log, sizeof(log)),
            cu::kNoBinaryForGpu);
  EXPECT_EQ(LoadText(".version 9.9\n.target sm_30", &module, log, sizeof(log)),
            cu::kUnsupportedPtxVersion);
}

TEST_F(SimulatedCudaTest, ShowsTheDevicesTheProcessMaySee) {
  setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  ASSERT_EQ(Init(), cu::kSuccess);
  EXPECT_EQ(Count(), 1);
  cu::Uuid uuid{};
  ASSERT_EQ(Call<cu::DeviceGetUuidFn>("cuDeviceGetUuid", &uuid, 0), cu::kSuccess);
  EXPECT_EQ(uuid.bytes[15], 1);
}

TEST_F(SimulatedCudaTest, TakesUuidsUpToTheFirstUnknownOne) {
  setenv("CUDA_VISIBLE_DEVICES",
         "GPU-00000000-0000-0000-0000-000000000001,GPU-ffffffff,GPU-00000000", 1);
  ASSERT_EQ(Init(), cu::kSuccess);
  EXPECT_EQ(Count(), 1);
}

TEST_F(SimulatedCudaTest, SaysNoDeviceWithoutNodes) {
  std::filesystem::remove(root_.At("dev/nvidia0"));
  std::filesystem::remove(root_.At("dev/nvidia1"));
  EXPECT_EQ(Init(), cu::kNoDevice);
}

TEST_F(SimulatedCudaTest, NeedsTheNodeOfUnifiedMemory) {
  std::filesystem::remove(root_.At("dev/nvidia-uvm"));
  EXPECT_EQ(Init(), cu::kUnknown);
}

TEST_F(SimulatedCudaTest, AnUncorrectedEccErrorEndsTheContext) {
  Start();
  EXPECT_EQ(Synchronize(), cu::kSuccess);
  server_->Change([](sim::SimState& state) { state.gpus[0].ecc.volatile_uncorrected[2] += 1; });
  EXPECT_EQ(Synchronize(), cu::kEccUncorrectable);
  ASSERT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", context_), cu::kSuccess);
  ASSERT_EQ(Call<cu::CtxCreateFn>("cuCtxCreate_v2", &context_, 0U, 0), cu::kSuccess);
  EXPECT_EQ(Synchronize(), cu::kSuccess);
}

TEST_F(SimulatedCudaTest, ALostGpuAnswersNoMore) {
  Start();
  server_->Change([](sim::SimState& state) { state.gpus[0].is_lost = 1; });
  EXPECT_EQ(Synchronize(), cu::kUnknown);
}

TEST_F(SimulatedCudaTest, HasNoMoreMemoryThanTheGpu) {
  Start();
  size_t free_bytes = 0;
  size_t total = 0;
  ASSERT_EQ(Call<cu::MemGetInfoFn>("cuMemGetInfo_v2", &free_bytes, &total), cu::kSuccess);
  EXPECT_GT(free_bytes, 0U);
  EXPECT_LT(free_bytes, total);
  cu::DevicePointer memory = 0;
  EXPECT_EQ(Call<cu::MemAllocFn>("cuMemAlloc_v2", &memory, free_bytes + 1), cu::kOutOfMemory);
}

TEST_F(SimulatedCudaTest, FindsFunctionsByTheirPlainNames) {
  using Fn = cu::GetProcAddressFn;
  void* found = nullptr;
  cu::ProcAddressStatus status{};
  EXPECT_EQ(Call<Fn>("cuGetProcAddress_v2", "cuMemAlloc", &found, 12000, uint64_t{0}, &status),
            cu::kSuccess);
  EXPECT_EQ(found, dlsym(handle_, "cuMemAlloc_v2"));
  EXPECT_EQ(Call<Fn>("cuGetProcAddress_v2", "cuNothing", &found, 12000, uint64_t{0}, &status),
            cu::kNotFound);
  EXPECT_EQ(status, 1);
}

TEST_F(SimulatedCudaTest, NamesItsErrors) {
  const char* text = nullptr;
  EXPECT_EQ(Call<cu::GetErrorTextFn>("cuGetErrorName", cu::kInvalidPtx, &text), cu::kSuccess);
  EXPECT_STREQ(text, "CUDA_ERROR_INVALID_PTX");
  EXPECT_EQ(Call<cu::GetErrorTextFn>("cuGetErrorString", static_cast<cu::Result>(12345), &text),
            cu::kInvalidValue);
}

}  // namespace
}  // namespace kgpu::simcuda

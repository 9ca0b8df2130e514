// Linear, managed and pinned memory, and what CUDA says of an address.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

using ::testing::Each;

class MemoryTest : public CudaFixture {
 protected:
  template <typename Value>
  Value AttributeOf(cu::DevicePointer pointer, cu::PointerAttribute attribute) const {
    Value value{};
    void* out = &value;
    EXPECT_EQ(Call<cu::PointerGetAttributeFn>("cuPointerGetAttribute", out, attribute, pointer),
              cu::kSuccess);
    return value;
  }
};

// Pages of this process that are in memory, in bytes. The kernel counts them per processor, and
// it may take pages back: a later value can be smaller.
uint64_t Resident() {
  uint64_t total = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * static_cast<uint64_t>(getpagesize());
}

TEST_F(MemoryTest, AContextCostsMemoryUntilItEnds) {
  ASSERT_EQ(Init(), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
  cu::Context first = nullptr;
  cu::Context second = nullptr;
  ASSERT_EQ(MakeContext(0, &first), cu::kSuccess);
  ASSERT_EQ(MakeContext(0, &second), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 2 * kContext);
  EXPECT_EQ(UsedBy(getpid(), 1), 0U);
  EXPECT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", first), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), kContext);
  EXPECT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", second), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
}

TEST_F(MemoryTest, TheCostOfAContextIsTheGpus) {
  server_->Change([](sim::SimState& state) { state.gpus[0].context_mib = 500; });
  Start();
  EXPECT_EQ(UsedBy(getpid()), 500 * kMiB);
}

TEST_F(MemoryTest, EndsAContextWithAllItHas) {
  Start();
  cu::DevicePointer pointer = 0;
  void* host = nullptr;
  ASSERT_EQ(Alloc(10 * kMiB, &pointer), cu::kSuccess);
  ASSERT_EQ(Alloc(10, &pointer), cu::kSuccess);
  ASSERT_EQ(Call<cu::MemHostAllocFn>("cuMemHostAlloc", &host, size_t{100}, 0U), cu::kSuccess);
  EXPECT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", context_), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
  EXPECT_EQ(Alloc(1, &pointer), cu::kInvalidContext);
}

TEST_F(MemoryTest, AnotherThreadSeesThatItsContextHasEnded) {
  Start();
  ASSERT_EQ(Synchronize(), cu::kSuccess);
  std::thread([&] {
    EXPECT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", context_), cu::kSuccess);
  }).join();
  EXPECT_EQ(Synchronize(), cu::kContextIsDestroyed);
  cu::Context other = nullptr;
  ASSERT_EQ(MakeContext(0, &other), cu::kSuccess);
  EXPECT_EQ(Synchronize(), cu::kSuccess);
}

TEST_F(MemoryTest, SmallAllocationsShareTwoMebibytes) {
  Start();
  std::vector<cu::DevicePointer> pointers(100);
  for (cu::DevicePointer& pointer : pointers) {
    ASSERT_EQ(Alloc(1000, &pointer), cu::kSuccess);
    EXPECT_EQ(pointer % 512, 0U);
  }
  EXPECT_EQ(Used(), 2 * kMiB);
  cu::DevicePointer large = 0;
  ASSERT_EQ(Alloc(3 * kMiB, &large), cu::kSuccess);
  EXPECT_EQ(Used(), 6 * kMiB) << "whole pieces of 2 MiB";
  for (const cu::DevicePointer pointer : pointers) {
    EXPECT_EQ(Free(pointer), cu::kSuccess);
  }
  EXPECT_EQ(Free(large), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(MemoryTest, FillsTheGapsOfWhatIsFreed) {
  Start();
  std::vector<cu::DevicePointer> pointers(4096);
  for (cu::DevicePointer& pointer : pointers) {
    ASSERT_EQ(Alloc(512, &pointer), cu::kSuccess);
  }
  EXPECT_EQ(Used(), 2 * kMiB) << "one full piece";
  for (size_t i = 0; i < pointers.size(); i += 2) {
    EXPECT_EQ(Free(pointers[i]), cu::kSuccess);
  }
  for (size_t i = 0; i < pointers.size(); i += 2) {
    ASSERT_EQ(Alloc(512, &pointers[i]), cu::kSuccess);
  }
  EXPECT_EQ(Used(), 2 * kMiB);
  cu::DevicePointer more = 0;
  ASSERT_EQ(Alloc(513, &more), cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB);
}

TEST_F(MemoryTest, GivesExactlyWhatIsLeft) {
  Start();
  const uint64_t left = FreeOf() / (2 * kMiB) * (2 * kMiB);
  cu::DevicePointer pointer = 0;
  cu::DevicePointer more = 0;
  EXPECT_EQ(Alloc(left + 2 * kMiB, &pointer), cu::kOutOfMemory);
  ASSERT_EQ(Alloc(left, &pointer), cu::kSuccess);
  EXPECT_EQ(Alloc(2 * kMiB, &more), cu::kOutOfMemory);
  size_t free_bytes = 1;
  size_t total = 0;
  ASSERT_EQ(Call<cu::MemGetInfoFn>("cuMemGetInfo_v2", &free_bytes, &total), cu::kSuccess);
  EXPECT_LT(free_bytes, 2 * kMiB);
  EXPECT_EQ(total, 80 * kGiB);
  EXPECT_EQ(Free(pointer), cu::kSuccess);
  EXPECT_EQ(Alloc(2 * kMiB, &more), cu::kSuccess);
}

TEST_F(MemoryTest, LargeAllocationsTakeNoRealMemoryUntilSomebodyWrites) {
  Start();
  const uint64_t before = Resident();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(70 * kGiB, &pointer), cu::kSuccess);
  EXPECT_LT(Resident(), before + 8 * kMiB);
  ASSERT_EQ(Put(pointer + 69 * kGiB, "far"), cu::kSuccess);
  EXPECT_EQ(Get(pointer + 69 * kGiB, 3), "far");
  EXPECT_EQ(Free(pointer), cu::kSuccess);
}

TEST_F(MemoryTest, KnowsWhatIsAllocated) {
  Start();
  cu::DevicePointer pointer = 0;
  EXPECT_EQ(Alloc(0, &pointer), cu::kInvalidValue);
  EXPECT_EQ(Alloc(~size_t{0}, &pointer), cu::kOutOfMemory);
  ASSERT_EQ(Alloc(1000, &pointer), cu::kSuccess);
  EXPECT_EQ(Put(pointer + 999, "xy"), cu::kInvalidValue) << "one byte too far";
  EXPECT_EQ(Free(pointer + 1), cu::kInvalidValue);
  EXPECT_EQ(Free(0), cu::kSuccess);
  EXPECT_EQ(Free(pointer), cu::kSuccess);
  EXPECT_EQ(Free(pointer), cu::kInvalidValue);
}

TEST_F(MemoryTest, AllocatesRows) {
  Start();
  cu::DevicePointer pointer = 0;
  size_t pitch = 0;
  const auto rows = [&](size_t width, size_t height, unsigned element) {
    return Call<cu::MemAllocPitchFn>("cuMemAllocPitch_v2", &pointer, &pitch, width, height,
                                     element);
  };
  EXPECT_EQ(rows(1000, 4000, 5), cu::kInvalidValue);
  ASSERT_EQ(rows(1000, 4096, 4), cu::kSuccess);
  EXPECT_EQ(pitch, 1024U);
  EXPECT_EQ(Used(), 4 * kMiB);
  EXPECT_EQ(rows(kGiB, ~size_t{0}, 4), cu::kOutOfMemory) << "no product wraps";
}

TEST_F(MemoryTest, OldFunctionsHaveShortAddresses) {
  Start();
  cu::DevicePointerV1 pointer = 0;
  ASSERT_EQ(Call<cu::MemAllocV1Fn>("cuMemAlloc", &pointer, 3U << 20), cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB);
  ASSERT_EQ(Put(pointer, "low"), cu::kSuccess);
  EXPECT_EQ(Get(pointer, 3), "low");
  EXPECT_EQ(Call<cu::MemFreeV1Fn>("cuMemFree", pointer), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  uint32_t free_bytes = 0;
  uint32_t total = 0;
  EXPECT_EQ(Call<cu::MemGetInfoV1Fn>("cuMemGetInfo", &free_bytes, &total), cu::kSuccess);
  EXPECT_EQ(total, UINT32_MAX) << "as much as it can say";
}

TEST_F(MemoryTest, ManagedMemoryIsOnTheGpuIfThereIsRoom) {
  Start();
  cu::DevicePointer pointer = 0;
  const auto managed = [&](size_t size) {
    return Call<cu::MemAllocManagedFn>("cuMemAllocManaged", &pointer, size, 1U);
  };
  ASSERT_EQ(managed(4 * kMiB), cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB);
  *reinterpret_cast<volatile char*>(pointer) = 'm';
  EXPECT_EQ(Get(pointer, 1), "m") << "one memory for the host and the GPU";
  ASSERT_EQ(managed(100 * kGiB), cu::kSuccess) << "more than the GPU has";
  EXPECT_EQ(Used(), 4 * kMiB);
  EXPECT_EQ(AttributeOf<int>(pointer, cu::kPointerIsManaged), 1);
  EXPECT_EQ(Free(pointer), cu::kSuccess);
}

TEST_F(MemoryTest, PinnedMemoryIsNotTheGpus) {
  Start();
  void* host = nullptr;
  ASSERT_EQ(Call<cu::MemHostAllocFn>("cuMemHostAlloc", &host, size_t{5 << 20},
                                     unsigned{cu::kHostPortable}),
            cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  cu::DevicePointer on_device = 0;
  EXPECT_EQ(
      Call<cu::MemHostGetDevicePointerFn>("cuMemHostGetDevicePointer_v2", &on_device, host, 0U),
      cu::kSuccess);
  EXPECT_EQ(on_device, reinterpret_cast<uint64_t>(host));
  unsigned flags = 0;
  EXPECT_EQ(Call<cu::MemHostGetFlagsFn>("cuMemHostGetFlags", &flags, host), cu::kSuccess);
  EXPECT_EQ(flags, cu::kHostPortable);
  EXPECT_EQ(AttributeOf<uint32_t>(on_device, cu::kPointerMemoryType), cu::kTypeHost);
  EXPECT_EQ(Free(on_device), cu::kInvalidValue) << "the wrong function";
  EXPECT_EQ(Call<cu::MemFreeHostFn>("cuMemFreeHost", host), cu::kSuccess);
}

TEST_F(MemoryTest, SmallPinnedAndSmallDeviceMemoryLieApart) {
  Start();
  void* host = nullptr;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Call<cu::MemAllocHostFn>("cuMemAllocHost_v2", &host, size_t{100}), cu::kSuccess);
  ASSERT_EQ(Alloc(100, &pointer), cu::kSuccess);
  EXPECT_EQ(Used(), 2 * kMiB);
  ASSERT_EQ(Call<cu::MemAllocHostFn>("cuMemAllocHost_v2", &host, size_t{100}), cu::kSuccess);
  EXPECT_EQ(Used(), 2 * kMiB);
}

TEST_F(MemoryTest, RegistersTheProgramsMemory) {
  Start();
  std::vector<char> mine(10000);
  const auto add = [&](size_t offset, size_t size) {
    void* at = mine.data() + offset;
    return Call<cu::MemHostRegisterFn>("cuMemHostRegister_v2", at, size, 0U);
  };
  ASSERT_EQ(add(0, 5000), cu::kSuccess);
  EXPECT_EQ(add(4999, 100), cu::kHostMemoryAlreadyRegistered);
  EXPECT_EQ(add(5000, 100), cu::kSuccess);
  EXPECT_EQ(Put(reinterpret_cast<uint64_t>(mine.data()), "by the GPU"), cu::kSuccess);
  EXPECT_STREQ(mine.data(), "by the GPU");
  void* at = mine.data();
  EXPECT_EQ(Call<cu::MemHostUnregisterFn>("cuMemHostUnregister", at), cu::kSuccess);
  EXPECT_EQ(Call<cu::MemHostUnregisterFn>("cuMemHostUnregister", at), cu::kHostMemoryNotRegistered);
}

TEST_F(MemoryTest, TellsOfAddresses) {
  Start();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(5000, &pointer), cu::kSuccess);
  const cu::DevicePointer inside = pointer + 4000;
  EXPECT_EQ(AttributeOf<cu::Context>(inside, cu::kPointerContext), context_);
  EXPECT_EQ(AttributeOf<uint32_t>(inside, cu::kPointerMemoryType), cu::kTypeDevice);
  EXPECT_EQ(AttributeOf<int>(inside, cu::kPointerDeviceOrdinal), 0);
  EXPECT_EQ(AttributeOf<uint64_t>(inside, cu::kPointerRangeStart), pointer);
  EXPECT_EQ(AttributeOf<uint64_t>(inside, cu::kPointerRangeSize), 5000U);
  cu::DevicePointer base = 0;
  size_t size = 0;
  EXPECT_EQ(Call<cu::MemGetAddressRangeFn>("cuMemGetAddressRange_v2", &base, &size, inside),
            cu::kSuccess);
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(size, 5000U);
  EXPECT_EQ(Call<cu::MemGetAddressRangeFn>("cuMemGetAddressRange_v2", &base, &size, pointer + 5000),
            cu::kNotFound);
}

TEST_F(MemoryTest, TellsOfSeveralAttributesAndOfNoMemory) {
  Start();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(16, &pointer), cu::kSuccess);
  cu::PointerAttribute attributes[] = {cu::kPointerDeviceOrdinal, cu::kPointerRangeSize};
  int ordinal = -7;
  uint64_t size = 7;
  void* values[] = {&ordinal, &size};
  const auto get = [&](cu::DevicePointer of) {
    return Call<cu::PointerGetAttributesFn>("cuPointerGetAttributes", 2U, &attributes[0],
                                            &values[0], of);
  };
  EXPECT_EQ(get(pointer), cu::kSuccess);
  EXPECT_EQ(ordinal, 0);
  EXPECT_EQ(size, 16U);
  EXPECT_EQ(get(4096), cu::kSuccess) << "unknown memory is no error here";
  EXPECT_EQ(size, 0U);
}

TEST_F(MemoryTest, FillsMemory) {
  Start();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(16, &pointer), cu::kSuccess);
  EXPECT_EQ(
      Call<cu::MemsetD8Fn>("cuMemsetD8_v2", pointer, static_cast<unsigned char>('a'), size_t{16}),
      cu::kSuccess);
  EXPECT_EQ(Call<cu::MemsetD32Fn>("cuMemsetD32_v2", pointer + 4, 0x62626262U, size_t{2}),
            cu::kSuccess);
  EXPECT_EQ(Get(pointer, 16), "aaaabbbbbbbbaaaa");
  EXPECT_EQ(Call<cu::MemsetD32Fn>("cuMemsetD32_v2", pointer + 1, 0U, size_t{1}), cu::kInvalidValue)
      << "not aligned";
  EXPECT_EQ(Call<cu::MemsetD32Fn>("cuMemsetD32_v2", pointer, 0U, ~size_t{0} / 2),
            cu::kInvalidValue);
}

TEST_F(MemoryTest, ManyThreadsAllocateAtOnce) {
  Start();
  std::vector<cu::Result> results(64, cu::kUnknown);
  std::vector<std::thread> threads;
  threads.reserve(results.size());
  for (cu::Result& result : results) {
    threads.emplace_back([&] {
      result = Call<cu::CtxSetCurrentFn>("cuCtxSetCurrent", context_);
      for (int i = 0; i < 50 && result == cu::kSuccess; ++i) {
        cu::DevicePointer pointer = 0;
        result = Alloc(i % 2 == 0 ? 1000 : 3 * kMiB, &pointer);
        result = result == cu::kSuccess ? Free(pointer) : result;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_THAT(results, Each(cu::kSuccess));
  EXPECT_EQ(Used(), 0U);
}

TEST_F(MemoryTest, ContextsArePushedAndPopped) {
  Start();
  cu::Context second = nullptr;
  cu::Context current = nullptr;
  ASSERT_EQ(MakeContext(1, &second), cu::kSuccess);
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(2 * kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Used(1), 2 * kMiB) << "the second GPU's";
  EXPECT_EQ(Call<cu::CtxPopCurrentFn>("cuCtxPopCurrent_v2", &current), cu::kSuccess);
  EXPECT_EQ(current, second);
  EXPECT_EQ(Call<cu::CtxGetCurrentFn>("cuCtxGetCurrent", &current), cu::kSuccess);
  EXPECT_EQ(current, context_) << "the one before it";
  EXPECT_EQ(Put(pointer, "x"), cu::kInvalidValue) << "memory of another GPU";
  EXPECT_EQ(Call<cu::CtxPushCurrentFn>("cuCtxPushCurrent_v2", second), cu::kSuccess);
  EXPECT_EQ(Put(pointer, "x"), cu::kSuccess);
}

TEST_F(MemoryTest, AllVersionsMakeContexts) {
  ASSERT_EQ(Init(), cu::kSuccess);
  cu::Context context = nullptr;
  cu::ExecAffinityParam affinity{.type = 0, .multiprocessors = 10};
  cu::ContextCreateParams params{
      .affinities = nullptr, .affinity_count = 0, .graphics_in_cuda = nullptr};
  EXPECT_EQ(Call<cu::CtxCreateFn>("cuCtxCreate", &context, 0U, 0), cu::kSuccess);
  EXPECT_EQ(Call<cu::CtxCreateV3Fn>("cuCtxCreate_v3", &context, &affinity, 1, 0U, 0), cu::kSuccess);
  EXPECT_EQ(Call<cu::CtxCreateV4Fn>("cuCtxCreate_v4", &context, &params, 0U, 0), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 3 * kContext);
  EXPECT_EQ(Call<cu::CtxCreateFn>("cuCtxCreate_v2", &context, 0U, 7), cu::kInvalidDevice);
}

TEST_F(MemoryTest, AResetEndsThePrimaryContextForAll) {
  ASSERT_EQ(Init(), cu::kSuccess);
  cu::Context context = nullptr;
  unsigned flags = 0;
  int is_active = 0;
  const auto retain = [&] {
    return Call<cu::DevicePrimaryCtxRetainFn>("cuDevicePrimaryCtxRetain", &context, 0);
  };
  ASSERT_EQ(retain(), cu::kSuccess);
  ASSERT_EQ(retain(), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), kContext) << "one for the process";
  EXPECT_EQ(Call<cu::DevicePrimaryCtxReleaseFn>("cuDevicePrimaryCtxRelease_v2", 0), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), kContext);
  EXPECT_EQ(Call<cu::DevicePrimaryCtxResetFn>("cuDevicePrimaryCtxReset_v2", 0), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
  EXPECT_EQ(
      Call<cu::DevicePrimaryCtxGetStateFn>("cuDevicePrimaryCtxGetState", 0, &flags, &is_active),
      cu::kSuccess);
  EXPECT_EQ(is_active, 0);
}

TEST_F(MemoryTest, AContextNeedsRoom) {
  server_->Change([](sim::SimState& state) {
    state.gpus[0].memory_used = state.gpus[0].memory_total - state.gpus[0].memory_reserved - 1000;
  });
  ASSERT_EQ(Init(), cu::kSuccess);
  EXPECT_EQ(MakeContext(0, &context_), cu::kOutOfMemory);
  server_->Change([](sim::SimState& state) {
    state.gpus[0].memory_used = 0;
    state.gpus[0].compute_mode = 2;
  });
  EXPECT_EQ(MakeContext(0, &context_), cu::kDeviceUnavailable) << "prohibited";
}

TEST_F(MemoryTest, WithoutAServerNothingCanBeAllocated) {
  Start();
  server_.reset();
  cu::DevicePointer pointer = 0;
  EXPECT_EQ(Alloc(4 * kMiB, &pointer), cu::kUnknown);
}

}  // namespace
}  // namespace kgpu::simcuda

// Allocations in the order of a stream, and the pools that they come from.
#include <gmock/gmock.h>
#include <unistd.h>

#include <string>

#include "testing/cuda/child_side.h"
#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

class PoolsTest : public CudaFixture {
 protected:
  cu::Result AllocAsync(size_t size, cu::DevicePointer* pointer) const {
    return Call<cu::MemAllocAsyncFn>("cuMemAllocAsync", pointer, size, cu::Stream{});
  }
  cu::Result AllocFrom(cu::MemoryPool pool, size_t size, cu::DevicePointer* pointer) const {
    return Call<cu::MemAllocFromPoolAsyncFn>("cuMemAllocFromPoolAsync", pointer, size, pool,
                                             cu::Stream{});
  }
  cu::Result FreeAsync(cu::DevicePointer pointer) const {
    return Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, cu::Stream{});
  }
  cu::MemoryPool DefaultPool() const {
    cu::MemoryPool pool = nullptr;
    EXPECT_EQ(Call<cu::DeviceGetMemPoolFn>("cuDeviceGetDefaultMemPool", &pool, 0), cu::kSuccess);
    return pool;
  }
  static cu::PoolProperties Properties(cu::HandleType handles = cu::kHandleNone) {
    cu::PoolProperties properties{};
    properties.type = cu::kPinned;
    properties.handle_types = handles;
    properties.location = {.type = cu::kLocationDevice, .id = 0};
    return properties;
  }
  cu::MemoryPool MakePool(const cu::PoolProperties& properties) const {
    cu::MemoryPool pool = nullptr;
    EXPECT_EQ(Call<cu::MemPoolCreateFn>("cuMemPoolCreate", &pool, &properties), cu::kSuccess);
    return pool;
  }
  uint64_t Value(cu::MemoryPool pool, cu::PoolAttribute attribute) const {
    uint64_t value = ~uint64_t{0};
    void* out = &value;
    EXPECT_EQ(Call<cu::MemPoolAttributeFn>("cuMemPoolGetAttribute", pool, attribute, out),
              cu::kSuccess);
    return value;
  }
  cu::Result SetValue(cu::MemoryPool pool, cu::PoolAttribute attribute, uint64_t value) const {
    void* in = &value;
    return Call<cu::MemPoolAttributeFn>("cuMemPoolSetAttribute", pool, attribute, in);
  }
};

TEST_F(PoolsTest, TakesMemoryInPiecesAndKeepsItUntilTheStreamIsEmpty) {
  Start();
  const cu::MemoryPool pool = DefaultPool();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(5 * kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Value(pool, cu::kPoolUsedMemoryCurrent), 5 * kMiB);
  EXPECT_EQ(Value(pool, cu::kPoolReservedMemoryCurrent), 32 * kMiB);
  EXPECT_EQ(Used(), 32 * kMiB);
  ASSERT_EQ(Put(pointer, "async"), cu::kSuccess);
  EXPECT_EQ(Get(pointer, 5), "async");
  EXPECT_EQ(FreeAsync(pointer), cu::kSuccess);
  EXPECT_EQ(Value(pool, cu::kPoolUsedMemoryCurrent), 0U);
  EXPECT_EQ(Used(), 32 * kMiB) << "kept for the next allocation";
  EXPECT_EQ(Synchronize(), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(Value(pool, cu::kPoolReservedMemoryHigh), 32 * kMiB);
  EXPECT_EQ(SetValue(pool, cu::kPoolReservedMemoryHigh, 1), cu::kInvalidValue);
  EXPECT_EQ(SetValue(pool, cu::kPoolReservedMemoryHigh, 0), cu::kSuccess);
  EXPECT_EQ(Value(pool, cu::kPoolReservedMemoryHigh), 0U);
}

TEST_F(PoolsTest, KeepsUpToItsThresholdAndTrims) {
  Start();
  const cu::MemoryPool pool = DefaultPool();
  ASSERT_EQ(SetValue(pool, cu::kPoolReleaseThreshold, ~uint64_t{0}), cu::kSuccess);
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(100 * kMiB, &pointer), cu::kSuccess);
  ASSERT_EQ(FreeAsync(pointer), cu::kSuccess);
  ASSERT_EQ(Synchronize(), cu::kSuccess);
  EXPECT_EQ(Used(), 128 * kMiB);
  EXPECT_EQ(Call<cu::MemPoolTrimToFn>("cuMemPoolTrimTo", pool, size_t{40 << 20}), cu::kSuccess);
  EXPECT_EQ(Used(), 64 * kMiB) << "the next larger number of pieces";
  EXPECT_EQ(Call<cu::MemPoolTrimToFn>("cuMemPoolTrimTo", pool, size_t{0}), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(PoolsTest, AFreedAllocationServesTheNext) {
  Start();
  cu::DevicePointer pointer = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(AllocAsync(20 * kMiB, &pointer), cu::kSuccess);
    ASSERT_EQ(FreeAsync(pointer), cu::kSuccess);
  }
  EXPECT_EQ(Used(), 32 * kMiB);
}

TEST_F(PoolsTest, HasNoMoreThanTheGpuAndItsOwnLimit) {
  Start();
  cu::DevicePointer pointer = 0;
  EXPECT_EQ(AllocAsync(100 * kGiB, &pointer), cu::kOutOfMemory);
  EXPECT_EQ(AllocAsync(~size_t{0}, &pointer), cu::kOutOfMemory);
  EXPECT_EQ(Used(), 0U);
  const uint64_t left = FreeOf() / (2 * kMiB) * (2 * kMiB);
  EXPECT_EQ(AllocAsync(left, &pointer), cu::kSuccess) << "though no whole piece is left";
  EXPECT_EQ(Free(pointer), cu::kSuccess) << "the function for other memory takes it, too";
  cu::PoolProperties small = Properties();
  small.maximum_size = 64 * kMiB;
  const cu::MemoryPool pool = MakePool(small);
  EXPECT_EQ(AllocFrom(pool, 65 * kMiB, &pointer), cu::kOutOfMemory);
  EXPECT_EQ(AllocFrom(pool, 64 * kMiB, &pointer), cu::kSuccess);
}

TEST_F(PoolsTest, ADestroyedPoolGoesWithItsLastAllocation) {
  Start();
  const cu::MemoryPool pool = MakePool(Properties());
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocFrom(pool, kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Call<cu::MemPoolDestroyFn>("cuMemPoolDestroy", pool), cu::kSuccess);
  EXPECT_EQ(AllocFrom(pool, kMiB, &pointer), cu::kInvalidValue);
  EXPECT_EQ(Used(), 32 * kMiB);
  EXPECT_EQ(Get(pointer, 1), std::string(1, '\0'));
  EXPECT_EQ(FreeAsync(pointer), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(Call<cu::MemPoolDestroyFn>("cuMemPoolDestroy", DefaultPool()), cu::kInvalidValue);
}

TEST_F(PoolsTest, TheProgramChoosesTheDevicesPool) {
  Start();
  const cu::MemoryPool pool = MakePool(Properties());
  cu::MemoryPool current = nullptr;
  ASSERT_EQ(Call<cu::DeviceSetMemPoolFn>("cuDeviceSetMemPool", 0, pool), cu::kSuccess);
  ASSERT_EQ(Call<cu::DeviceGetMemPoolFn>("cuDeviceGetMemPool", &current, 0), cu::kSuccess);
  EXPECT_EQ(current, pool);
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Value(pool, cu::kPoolUsedMemoryCurrent), kMiB);
  EXPECT_EQ(Call<cu::DeviceSetMemPoolFn>("cuDeviceSetMemPool", 1, pool), cu::kInvalidValue)
      << "of another device";
  ASSERT_EQ(Call<cu::MemPoolDestroyFn>("cuMemPoolDestroy", pool), cu::kSuccess);
  ASSERT_EQ(Call<cu::DeviceGetMemPoolFn>("cuDeviceGetMemPool", &current, 0), cu::kSuccess);
  EXPECT_EQ(current, DefaultPool());
}

TEST_F(PoolsTest, OtherDevicesNeedAccess) {
  Start();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(kMiB, &pointer), cu::kSuccess);
  cu::Context second = nullptr;
  ASSERT_EQ(MakeContext(1, &second), cu::kSuccess);
  EXPECT_EQ(Put(pointer, "x"), cu::kInvalidValue);
  const cu::AccessDescription access{.location = {.type = cu::kLocationDevice, .id = 1},
                                     .flags = cu::kAccessReadWrite};
  ASSERT_EQ(Call<cu::MemPoolSetAccessFn>("cuMemPoolSetAccess", DefaultPool(), &access, size_t{1}),
            cu::kSuccess);
  EXPECT_EQ(Put(pointer, "x"), cu::kSuccess);
  cu::AccessFlags flags{};
  cu::Location location = access.location;
  EXPECT_EQ(Call<cu::MemPoolGetAccessFn>("cuMemPoolGetAccess", &flags, DefaultPool(), &location),
            cu::kSuccess);
  EXPECT_EQ(flags, cu::kAccessReadWrite);
}

TEST_F(PoolsTest, ThePoolsOfADeviceWithoutContextsAreEmpty) {
  Start();
  ASSERT_EQ(SetValue(DefaultPool(), cu::kPoolReleaseThreshold, ~uint64_t{0}), cu::kSuccess);
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", context_), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
}

TEST_F(PoolsTest, AnotherProcessImportsAPool) {
  ChildSide child([&](const Talk& talk) {
    UniqueFd fd;
    (void)talk.Hear(&fd);
    const auto exported = talk.HearValue<cu::PoolPointerExport>();
    cu::PoolPointerExport data = exported;
    cu::MemoryPool pool = nullptr;
    cu::DevicePointer pointer = 0;
    cu::DevicePointer own = 0;
    void* handle = reinterpret_cast<void*>(static_cast<intptr_t>(fd.get()));
    if (Init() != cu::kSuccess || MakeContext(0, &context_) != cu::kSuccess ||
        Call<cu::MemPoolImportFromShareableHandleFn>("cuMemPoolImportFromShareableHandle", &pool,
                                                     handle, cu::kHandlePosixFileDescriptor,
                                                     uint64_t{0}) != cu::kSuccess ||
        Call<cu::MemPoolImportPointerFn>("cuMemPoolImportPointer", &pointer, pool, &data) !=
            cu::kSuccess ||
        AllocFrom(pool, 100, &own) != cu::kInvalidValue) {
      return false;
    }
    return talk.Say(Get(pointer, 6)) && talk.Hear() == "freed" &&
           Put(pointer, "still") == cu::kSuccess && talk.Say("done") && talk.Hear() == "end" &&
           FreeAsync(pointer) == cu::kSuccess;
  });
  Start();
  const cu::MemoryPool pool = MakePool(Properties(cu::kHandlePosixFileDescriptor));
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocFrom(pool, 3 * kMiB, &pointer), cu::kSuccess);
  EXPECT_EQ(Value(pool, cu::kPoolReservedMemoryCurrent), 4 * kMiB);
  ASSERT_EQ(Put(pointer, "shared"), cu::kSuccess);
  int fd = -1;
  void* out = &fd;
  ASSERT_EQ(
      Call<cu::MemPoolExportToShareableHandleFn>("cuMemPoolExportToShareableHandle", out, pool,
                                                 cu::kHandlePosixFileDescriptor, uint64_t{0}),
      cu::kSuccess);
  cu::PoolPointerExport data{};
  ASSERT_EQ(Call<cu::MemPoolExportPointerFn>("cuMemPoolExportPointer", &data, pointer),
            cu::kSuccess);
  ASSERT_TRUE(child.talk().Say("pool", fd));
  close(fd);
  ASSERT_TRUE(child.talk().SayValue(data));
  EXPECT_EQ(child.talk().Hear(), "shared");
  EXPECT_EQ(Used(), 4 * kMiB);
  EXPECT_EQ(UsedBy(child.pid()), kContext) << "the memory counts once";
  EXPECT_EQ(FreeAsync(pointer), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(UsedBy(child.pid()), kContext + 4 * kMiB) << "for whoever still has it";
  ASSERT_TRUE(child.talk().Say("freed"));
  EXPECT_EQ(child.talk().Hear(), "done");
  ASSERT_TRUE(child.talk().Say("end"));
  EXPECT_EQ(child.Wait(), 0);
}

TEST_F(PoolsTest, PointersOfOtherPoolsAreNotExported) {
  Start();
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AllocAsync(kMiB, &pointer), cu::kSuccess);
  cu::PoolPointerExport data{};
  EXPECT_EQ(Call<cu::MemPoolExportPointerFn>("cuMemPoolExportPointer", &data, pointer),
            cu::kInvalidValue);
}

}  // namespace
}  // namespace kgpu::simcuda

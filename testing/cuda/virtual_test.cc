// Virtual memory, handles between processes, external memory, arrays.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "testing/cuda/child_side.h"
#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

constexpr size_t kPiece = 2 << 20;

class VirtualTest : public CudaFixture {
 protected:
  static cu::AllocationProperties Properties(cu::HandleType handles = cu::kHandleNone) {
    cu::AllocationProperties properties{};
    properties.type = cu::kPinned;
    properties.requested_handle_types = handles;
    properties.location = {.type = cu::kLocationDevice, .id = 0};
    return properties;
  }
  cu::Result Create(size_t size, cu::AllocationHandle* handle,
                    cu::HandleType handles = cu::kHandleNone) const {
    const cu::AllocationProperties properties = Properties(handles);
    return Call<cu::MemCreateFn>("cuMemCreate", handle, size, &properties, uint64_t{0});
  }
  cu::DevicePointer Reserve(size_t size) const {
    cu::DevicePointer pointer = 0;
    EXPECT_EQ(Call<cu::MemAddressReserveFn>("cuMemAddressReserve", &pointer, size, size_t{0},
                                            cu::DevicePointer{0}, uint64_t{0}),
              cu::kSuccess);
    return pointer;
  }
  cu::Result Map(cu::DevicePointer pointer, size_t size, cu::AllocationHandle handle) const {
    return Call<cu::MemMapFn>("cuMemMap", pointer, size, size_t{0}, handle, uint64_t{0});
  }
  cu::Result Unmap(cu::DevicePointer pointer, size_t size) const {
    return Call<cu::MemUnmapFn>("cuMemUnmap", pointer, size);
  }
  cu::Result Allow(cu::DevicePointer pointer, size_t size) const {
    const cu::AccessDescription access{.location = {.type = cu::kLocationDevice, .id = 0},
                                       .flags = cu::kAccessReadWrite};
    return Call<cu::MemSetAccessFn>("cuMemSetAccess", pointer, size, &access, size_t{1});
  }
  cu::Result Release(cu::AllocationHandle handle) const {
    return Call<cu::MemReleaseFn>("cuMemRelease", handle);
  }
};

TEST_F(VirtualTest, MemoryAndAddressesAreApart) {
  Start();
  size_t granularity = 0;
  const cu::AllocationProperties properties = Properties();
  ASSERT_EQ(Call<cu::MemGetAllocationGranularityFn>("cuMemGetAllocationGranularity", &granularity,
                                                    &properties, cu::kGranularityMinimum),
            cu::kSuccess);
  EXPECT_EQ(granularity, kPiece);
  const cu::DevicePointer space = Reserve(100 * kGiB);
  EXPECT_EQ(Used(), 0U) << "addresses cost nothing";
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Create(2 * kPiece, &handle), cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB) << "memory does, even without an address";
  ASSERT_EQ(Map(space, 2 * kPiece, handle), cu::kSuccess);
  EXPECT_EQ(Put(space, "x"), cu::kInvalidValue) << "nobody may use it yet";
  ASSERT_EQ(Allow(space, 2 * kPiece), cu::kSuccess);
  ASSERT_EQ(Put(space + kPiece, "there"), cu::kSuccess);
  EXPECT_EQ(Unmap(space, 2 * kPiece), cu::kSuccess);
  EXPECT_EQ(Get(space, 1), "error 1");
  ASSERT_EQ(Map(space + 50 * kGiB, 2 * kPiece, handle), cu::kSuccess);
  ASSERT_EQ(Allow(space + 50 * kGiB, 2 * kPiece), cu::kSuccess);
  EXPECT_EQ(Get(space + 50 * kGiB + kPiece, 5), "there") << "the same memory elsewhere";
  EXPECT_EQ(Release(handle), cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB) << "as long as it is mapped";
  EXPECT_EQ(Call<cu::MemAddressFreeFn>("cuMemAddressFree", space, size_t{100 * kGiB}),
            cu::kInvalidValue)
      << "something is mapped there";
  EXPECT_EQ(Unmap(space + 50 * kGiB, 2 * kPiece), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(Call<cu::MemAddressFreeFn>("cuMemAddressFree", space, size_t{100 * kGiB}),
            cu::kSuccess);
}

TEST_F(VirtualTest, MapsOneMemoryTwice) {
  Start();
  const cu::DevicePointer space = Reserve(2 * kPiece);
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Create(kPiece, &handle), cu::kSuccess);
  ASSERT_EQ(Map(space, kPiece, handle), cu::kSuccess);
  ASSERT_EQ(Map(space + kPiece, kPiece, handle), cu::kSuccess);
  ASSERT_EQ(Allow(space, 2 * kPiece), cu::kSuccess) << "both at once";
  ASSERT_EQ(Put(space, "twice"), cu::kSuccess);
  EXPECT_EQ(Get(space + kPiece, 5), "twice");
  EXPECT_EQ(Used(), 2 * kMiB);
  EXPECT_EQ(Unmap(space, 2 * kPiece), cu::kSuccess);
}

TEST_F(VirtualTest, RefusesWhatDoesNotFit) {
  Start();
  cu::AllocationHandle handle = 0;
  EXPECT_EQ(Create(100, &handle), cu::kInvalidValue) << "no multiple of the granularity";
  EXPECT_EQ(Create(100 * kGiB, &handle), cu::kOutOfMemory);
  EXPECT_EQ(Create(kPiece, &handle, cu::kHandleFabric), cu::kNotPermitted);
  cu::AllocationProperties elsewhere = Properties();
  elsewhere.location.id = 5;
  EXPECT_EQ(Call<cu::MemCreateFn>("cuMemCreate", &handle, kPiece, &elsewhere, uint64_t{0}),
            cu::kInvalidDevice);
  ASSERT_EQ(Create(kPiece, &handle), cu::kSuccess);
  const cu::DevicePointer space = Reserve(2 * kPiece);
  EXPECT_EQ(Map(space, 2 * kPiece, handle), cu::kInvalidValue) << "more than the memory";
  EXPECT_EQ(Map(space + 2 * kPiece, kPiece, handle), cu::kInvalidValue) << "not reserved";
  ASSERT_EQ(Map(space, kPiece, handle), cu::kSuccess);
  EXPECT_EQ(Map(space, kPiece, handle), cu::kInvalidValue) << "mapped already";
  EXPECT_EQ(Unmap(space, 2 * kPiece), cu::kInvalidValue) << "half of it is not mapped";
  EXPECT_EQ(Release(handle), cu::kSuccess);
  EXPECT_EQ(Release(handle), cu::kInvalidValue);
}

TEST_F(VirtualTest, MemoryOfTheHostIsNotTheGpus) {
  Start();
  cu::AllocationProperties properties = Properties();
  properties.location = {.type = cu::kLocationHostNuma, .id = 0};
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Call<cu::MemCreateFn>("cuMemCreate", &handle, kPiece, &properties, uint64_t{0}),
            cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(Release(handle), cu::kSuccess);
}

TEST_F(VirtualTest, FindsTheHandleOfAnAddress) {
  Start();
  const cu::DevicePointer space = Reserve(kPiece);
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Create(kPiece, &handle), cu::kSuccess);
  ASSERT_EQ(Map(space, kPiece, handle), cu::kSuccess);
  ASSERT_EQ(Release(handle), cu::kSuccess);
  cu::AllocationHandle found = 0;
  void* address = reinterpret_cast<void*>(space + 100);
  ASSERT_EQ(Call<cu::MemRetainAllocationHandleFn>("cuMemRetainAllocationHandle", &found, address),
            cu::kSuccess);
  cu::AllocationProperties properties{};
  EXPECT_EQ(Call<cu::MemGetAllocationPropertiesFn>("cuMemGetAllocationPropertiesFromHandle",
                                                   &properties, found),
            cu::kSuccess);
  EXPECT_EQ(properties.location.id, 0);
  ASSERT_EQ(Unmap(space, kPiece), cu::kSuccess);
  EXPECT_EQ(Used(), 2 * kMiB) << "the new handle keeps it";
  EXPECT_EQ(Release(found), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(VirtualTest, AnotherProcessMapsTheMemoryOfADescriptor) {
  ChildSide child([&](const Talk& talk) {
    UniqueFd fd;
    (void)talk.Hear(&fd);
    cu::AllocationHandle handle = 0;
    void* shareable = reinterpret_cast<void*>(static_cast<intptr_t>(fd.get()));
    if (Init() != cu::kSuccess || MakeContext(0, &context_) != cu::kSuccess ||
        Call<cu::MemImportFromShareableHandleFn>("cuMemImportFromShareableHandle", &handle,
                                                 shareable,
                                                 cu::kHandlePosixFileDescriptor) != cu::kSuccess) {
      return false;
    }
    fd.Reset();
    const cu::DevicePointer space = Reserve(kPiece);
    return Map(space, kPiece, handle) == cu::kSuccess && Allow(space, kPiece) == cu::kSuccess &&
           talk.Say(Get(space, 7)) && talk.Hear() == "end" && Put(space, "changed") == cu::kSuccess;
  });
  Start();
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Create(kPiece, &handle, cu::kHandlePosixFileDescriptor), cu::kSuccess);
  const cu::DevicePointer space = Reserve(kPiece);
  ASSERT_EQ(Map(space, kPiece, handle), cu::kSuccess);
  ASSERT_EQ(Allow(space, kPiece), cu::kSuccess);
  ASSERT_EQ(Put(space, "for you"), cu::kSuccess);
  int fd = -1;
  void* out = &fd;
  ASSERT_EQ(Call<cu::MemExportToShareableHandleFn>("cuMemExportToShareableHandle", out, handle,
                                                   cu::kHandlePosixFileDescriptor, uint64_t{0}),
            cu::kSuccess);
  ASSERT_TRUE(child.talk().Say("handle", fd));
  close(fd);
  EXPECT_EQ(child.talk().Hear(), "for you");
  EXPECT_EQ(UsedBy(child.pid()), kContext);
  ASSERT_TRUE(child.talk().Say("end"));
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(Get(space, 7), "changed");
  EXPECT_EQ(Unmap(space, kPiece), cu::kSuccess);
  EXPECT_EQ(Release(handle), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(VirtualTest, OnlySomeMemoryHasADescriptor) {
  Start();
  cu::AllocationHandle handle = 0;
  ASSERT_EQ(Create(kPiece, &handle), cu::kSuccess);
  int fd = -1;
  void* out = &fd;
  EXPECT_EQ(Call<cu::MemExportToShareableHandleFn>("cuMemExportToShareableHandle", out, handle,
                                                   cu::kHandlePosixFileDescriptor, uint64_t{0}),
            cu::kInvalidValue);
  void* wrong = reinterpret_cast<void*>(intptr_t{0});
  EXPECT_EQ(Call<cu::MemImportFromShareableHandleFn>("cuMemImportFromShareableHandle", &handle,
                                                     wrong, cu::kHandlePosixFileDescriptor),
            cu::kInvalidValue);
}

class IpcTest : public CudaFixture {
 protected:
  cu::Result Open(cu::DevicePointer* pointer, const cu::IpcMemoryHandle& handle) const {
    return Call<cu::IpcOpenMemHandleFn>("cuIpcOpenMemHandle_v2", pointer, handle,
                                        unsigned{cu::kIpcLazyEnablePeerAccess});
  }
  // Reads `size` bytes behind a handle, then writes "new" there.
  std::function<bool(const Talk&)> Reader(size_t size) {
    return [this, size](const Talk& talk) {
      const auto handle = talk.HearValue<cu::IpcMemoryHandle>();
      cu::DevicePointer pointer = 0;
      if (Init() != cu::kSuccess || MakeContext(0, &context_) != cu::kSuccess ||
          Open(&pointer, handle) != cu::kSuccess) {
        return false;
      }
      return talk.Say(Get(pointer, size)) && talk.Hear() == "go on" &&
             Put(pointer, "new") == cu::kSuccess && talk.Say("written") && talk.Hear() == "end" &&
             Free(pointer) == cu::kInvalidValue &&
             Call<cu::IpcCloseMemHandleFn>("cuIpcCloseMemHandle", pointer) == cu::kSuccess;
    };
  }
};

TEST_F(IpcTest, AnotherProcessOpensLargeMemory) {
  ChildSide child(Reader(5));
  Start();
  cu::DevicePointer pointer = 0;
  cu::IpcMemoryHandle handle{};
  ASSERT_EQ(Alloc(30 * kGiB, &pointer), cu::kSuccess);
  ASSERT_EQ(Put(pointer, "large"), cu::kSuccess);
  ASSERT_EQ(Put(pointer + 20 * kGiB, "middle"), cu::kSuccess);
  ASSERT_EQ(Call<cu::IpcGetMemHandleFn>("cuIpcGetMemHandle", &handle, pointer), cu::kSuccess);
  EXPECT_EQ(Get(pointer + 20 * kGiB, 6), "middle") << "it is still there";
  cu::DevicePointer own = 0;
  EXPECT_EQ(Open(&own, handle), cu::kInvalidContext) << "not in the same process";
  ASSERT_TRUE(child.talk().SayValue(handle));
  EXPECT_EQ(child.talk().Hear(), "large");
  EXPECT_EQ(Used(), 30 * kGiB);
  EXPECT_EQ(UsedBy(child.pid()), kContext) << "it counts once";
  ASSERT_TRUE(child.talk().Say("go on"));
  EXPECT_EQ(child.talk().Hear(), "written");
  EXPECT_EQ(Get(pointer, 3), "new");
  EXPECT_EQ(Free(pointer), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(UsedBy(child.pid()), kContext + 30 * kGiB) << "as long as one has it";
  ASSERT_TRUE(child.talk().Say("end"));
  EXPECT_EQ(child.Wait(), 0);
  EXPECT_EQ(FreeOf(), 80 * kGiB - 600 * kMiB - kContext);
}

TEST_F(IpcTest, AnotherProcessOpensAPartOfASharedPiece) {
  ChildSide child(Reader(6));
  Start();
  cu::DevicePointer first = 0;
  cu::DevicePointer second = 0;
  cu::IpcMemoryHandle handle{};
  ASSERT_EQ(Alloc(100, &first), cu::kSuccess);
  ASSERT_EQ(Alloc(100, &second), cu::kSuccess);
  ASSERT_EQ(Put(second, "second"), cu::kSuccess);
  ASSERT_EQ(Call<cu::IpcGetMemHandleFn>("cuIpcGetMemHandle", &handle, second), cu::kSuccess);
  ASSERT_TRUE(child.talk().SayValue(handle));
  EXPECT_EQ(child.talk().Hear(), "second");
  child.Kill();
  EXPECT_EQ(Used(), 2 * kMiB);
  EXPECT_EQ(Free(first), cu::kSuccess);
  EXPECT_EQ(Free(second), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(IpcTest, RefusesBadHandles) {
  Start();
  cu::DevicePointer pointer = 0;
  cu::IpcMemoryHandle handle{};
  EXPECT_EQ(Open(&pointer, handle), cu::kInvalidHandle);
  EXPECT_EQ(Call<cu::IpcGetMemHandleFn>("cuIpcGetMemHandle", &handle, cu::DevicePointer{4096}),
            cu::kInvalidValue);
  ASSERT_EQ(Call<cu::MemAllocManagedFn>("cuMemAllocManaged", &pointer, size_t{100}, 1U),
            cu::kSuccess);
  EXPECT_EQ(Call<cu::IpcGetMemHandleFn>("cuIpcGetMemHandle", &handle, pointer), cu::kInvalidValue);
  EXPECT_EQ(Call<cu::IpcCloseMemHandleFn>("cuIpcCloseMemHandle", pointer), cu::kInvalidValue);
}

TEST_F(IpcTest, EventsNeedTheirFlag) {
  Start();
  cu::Event plain = nullptr;
  cu::Event shared = nullptr;
  cu::IpcEventHandle handle{};
  ASSERT_EQ(Call<cu::EventCreateFn>("cuEventCreate", &plain, 0U), cu::kSuccess);
  EXPECT_EQ(Call<cu::EventCreateFn>("cuEventCreate", &shared, unsigned{cu::kEventInterprocess}),
            cu::kInvalidValue)
      << "without timing alone";
  ASSERT_EQ(
      Call<cu::EventCreateFn>("cuEventCreate", &shared,
                              unsigned{cu::kEventInterprocess} | unsigned{cu::kEventDisableTiming}),
      cu::kSuccess);
  EXPECT_EQ(Call<cu::IpcGetEventHandleFn>("cuIpcGetEventHandle", &handle, plain),
            cu::kInvalidHandle);
  ASSERT_EQ(Call<cu::IpcGetEventHandleFn>("cuIpcGetEventHandle", &handle, shared), cu::kSuccess);
  cu::Event opened = nullptr;
  ASSERT_EQ(Call<cu::IpcOpenEventHandleFn>("cuIpcOpenEventHandle", &opened, handle), cu::kSuccess);
  EXPECT_EQ(Call<cu::EventSynchronizeFn>("cuEventQuery", opened), cu::kSuccess);
  for (const cu::Event event : {plain, shared, opened}) {
    EXPECT_EQ(Call<cu::EventDestroyFn>("cuEventDestroy_v2", event), cu::kSuccess);
  }
}

class ExternalTest : public CudaFixture {};

TEST_F(ExternalTest, MapsTheMemoryOfAnotherApi) {
  Start();
  UniqueFd file(memfd_create("vulkan", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(file.get(), 3 << 20), 0);
  ASSERT_EQ(pwrite(file.get(), "pixels", 6, 5000), 6);
  cu::ExternalMemoryDescription description{};
  description.type = cu::kExternalOpaqueFd;
  description.handle.fd = dup(file.get());
  description.size = 3 << 20;
  cu::ExternalMemory memory = nullptr;
  ASSERT_EQ(Call<cu::ImportExternalMemoryFn>("cuImportExternalMemory", &memory, &description),
            cu::kSuccess);
  EXPECT_EQ(Used(), 4 * kMiB);
  cu::ExternalMemoryBuffer buffer{};
  buffer.offset = 5000;
  buffer.size = 100;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Call<cu::ExternalMemoryGetMappedBufferFn>("cuExternalMemoryGetMappedBuffer", &pointer,
                                                      memory, &buffer),
            cu::kSuccess);
  EXPECT_EQ(Get(pointer, 6), "pixels");
  EXPECT_EQ(Put(pointer + 99, "xy"), cu::kInvalidValue);
  EXPECT_EQ(Free(pointer), cu::kSuccess);
  buffer.size = 4 << 20;
  EXPECT_EQ(Call<cu::ExternalMemoryGetMappedBufferFn>("cuExternalMemoryGetMappedBuffer", &pointer,
                                                      memory, &buffer),
            cu::kInvalidValue);
  EXPECT_EQ(Call<cu::DestroyExternalMemoryFn>("cuDestroyExternalMemory", memory), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  description.type = cu::kExternalOpaqueWin32;
  EXPECT_EQ(Call<cu::ImportExternalMemoryFn>("cuImportExternalMemory", &memory, &description),
            cu::kNotSupported);
}

class ArraysTest : public CudaFixture {
 protected:
  static cu::Array3dDescriptor Descriptor(size_t width, size_t height, size_t depth) {
    return {.width = width,
            .height = height,
            .depth = depth,
            .format = cu::kFormatFloat,
            .channels = 4,
            .flags = 0};
  }
};

TEST_F(ArraysTest, CostsWhatItHolds) {
  Start();
  cu::Array flat = nullptr;
  cu::Array deep = nullptr;
  const cu::ArrayDescriptor small{
      .width = 1000, .height = 0, .format = cu::kFormatUint8, .channels = 1};
  ASSERT_EQ(Call<cu::ArrayCreateFn>("cuArrayCreate_v2", &flat, &small), cu::kSuccess);
  EXPECT_EQ(Used(), 2 * kMiB);
  const cu::Array3dDescriptor large = Descriptor(256, 256, 16);
  ASSERT_EQ(Call<cu::Array3dCreateFn>("cuArray3DCreate_v2", &deep, &large), cu::kSuccess);
  EXPECT_EQ(Used(), 18 * kMiB);
  cu::Array3dDescriptor seen{};
  ASSERT_EQ(Call<cu::Array3dGetDescriptorFn>("cuArray3DGetDescriptor_v2", &seen, deep),
            cu::kSuccess);
  EXPECT_EQ(seen.depth, 16U);
  EXPECT_EQ(Call<cu::ArrayDestroyFn>("cuArrayDestroy", deep), cu::kSuccess);
  EXPECT_EQ(Call<cu::ArrayDestroyFn>("cuArrayDestroy", deep), cu::kInvalidHandle);
  EXPECT_EQ(Call<cu::ArrayDestroyFn>("cuArrayDestroy", flat), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(ArraysTest, HoldsBytes) {
  Start();
  cu::Array array = nullptr;
  const cu::ArrayDescriptor row{
      .width = 100, .height = 0, .format = cu::kFormatUint8, .channels = 1};
  ASSERT_EQ(Call<cu::ArrayCreateFn>("cuArrayCreate_v2", &array, &row), cu::kSuccess);
  using To = cu::Result(cu::Array, size_t, const void*, size_t);
  using From = cu::Result(void*, cu::Array, size_t, size_t);
  const void* from = "texels";
  char bytes[7] = {};
  void* to = &bytes[0];
  EXPECT_EQ(Call<To>("cuMemcpyHtoA_v2", array, size_t{94}, from, size_t{6}), cu::kSuccess);
  EXPECT_EQ(Call<To>("cuMemcpyHtoA_v2", array, size_t{95}, from, size_t{6}), cu::kInvalidValue);
  EXPECT_EQ(Call<From>("cuMemcpyAtoH_v2", to, array, size_t{94}, size_t{6}), cu::kSuccess);
  EXPECT_STREQ(bytes, "texels");
}

TEST_F(ArraysTest, LevelsShareTheirMemory) {
  Start();
  cu::MipmappedArray array = nullptr;
  const cu::Array3dDescriptor first = Descriptor(512, 512, 0);
  ASSERT_EQ(Call<cu::MipmappedArrayCreateFn>("cuMipmappedArrayCreate", &array, &first, 3U),
            cu::kSuccess);
  EXPECT_EQ(Used(), 6 * kMiB) << "4 MiB, 1 MiB, 256 KiB in pieces";
  cu::Array level = nullptr;
  cu::Array again = nullptr;
  const auto get = [&](cu::Array* out, unsigned number) {
    return Call<cu::MipmappedArrayGetLevelFn>("cuMipmappedArrayGetLevel", out, array, number);
  };
  ASSERT_EQ(get(&level, 2), cu::kSuccess);
  ASSERT_EQ(get(&again, 2), cu::kSuccess);
  EXPECT_EQ(level, again);
  EXPECT_EQ(get(&again, 3), cu::kInvalidValue);
  cu::ArrayDescriptor seen{};
  ASSERT_EQ(Call<cu::ArrayGetDescriptorFn>("cuArrayGetDescriptor_v2", &seen, level), cu::kSuccess);
  EXPECT_EQ(seen.width, 128U);
  EXPECT_EQ(Call<cu::ArrayDestroyFn>("cuArrayDestroy", level), cu::kArrayIsMapped)
      << "a level goes with its array";
  EXPECT_EQ(Call<cu::MipmappedArrayDestroyFn>("cuMipmappedArrayDestroy", array), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
}

TEST_F(ArraysTest, MemoryThatComesLaterCostsNothingYet) {
  Start();
  cu::Array array = nullptr;
  cu::Array3dDescriptor later = Descriptor(1024, 1024, 0);
  later.flags = cu::kArrayDeferredMapping;
  ASSERT_EQ(Call<cu::Array3dCreateFn>("cuArray3DCreate_v2", &array, &later), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  cu::ArrayMemoryRequirements requirements{};
  ASSERT_EQ(Call<cu::ArrayGetMemoryRequirementsFn>("cuArrayGetMemoryRequirements", &requirements,
                                                   array, 0),
            cu::kSuccess);
  EXPECT_EQ(requirements.size, 16 * kMiB);
}

TEST_F(ArraysTest, RefusesWhatIsNoArray) {
  Start();
  cu::Array array = nullptr;
  cu::Array3dDescriptor wrong = Descriptor(0, 1, 1);
  const auto create = [&] {
    return Call<cu::Array3dCreateFn>("cuArray3DCreate_v2", &array, &wrong);
  };
  EXPECT_EQ(create(), cu::kInvalidValue);
  wrong = Descriptor(10, 10, 10);
  wrong.channels = 3;
  EXPECT_EQ(create(), cu::kInvalidValue);
  wrong = Descriptor(131072, 131072, 131072);
  EXPECT_EQ(create(), cu::kOutOfMemory);
  EXPECT_EQ(Used(), 0U);
}

}  // namespace
}  // namespace kgpu::simcuda

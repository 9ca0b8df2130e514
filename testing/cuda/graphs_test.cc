// Graphs, launches of all kinds, and the ways to a function.
#include <gmock/gmock.h>

#include <string>

#include "testing/cuda/cuda_fixture.h"

namespace kgpu::simcuda {
namespace {

// Adds one to a number in memory.
constexpr char kIncrement[] =
    ".version 6.0\n.target sm_30\n.address_size 64\n"
    ".visible .entry increment(.param .u64 data) {\n"
    ".reg .b32 %r<1>; .reg .b64 %rd<1>;\n"
    "ld.param.u64 %rd0, [data]; ld.global.u32 %r0, [%rd0]; add.u32 %r0, %r0, 1;\n"
    "st.global.u32 [%rd0], %r0; ret;\n}\n";

class GraphsTest : public CudaFixture {
 protected:
  void StartWithKernel() {
    Start();
    cu::Module module = nullptr;
    ASSERT_EQ(Call<cu::ModuleLoadDataExFn>(
                  "cuModuleLoadDataEx", &module, static_cast<const void*>(kIncrement), 0U,
                  static_cast<cu::JitOption*>(nullptr), static_cast<void**>(nullptr)),
              cu::kSuccess);
    ASSERT_EQ(Call<cu::ModuleGetFunctionFn>("cuModuleGetFunction", &function_, module, "increment"),
              cu::kSuccess);
    ASSERT_EQ(Call<cu::GraphCreateFn>("cuGraphCreate", &graph_, 0U), cu::kSuccess);
  }
  uint32_t NumberAt(cu::DevicePointer pointer) const {
    uint32_t number = ~0U;
    void* out = &number;
    EXPECT_EQ(Call<cu::MemcpyDtoHFn>("cuMemcpyDtoH_v2", out, pointer, sizeof(number)),
              cu::kSuccess);
    return number;
  }
  cu::Result AddAllocation(size_t size, cu::GraphNode* node, cu::DevicePointer* pointer) const {
    cu::MemoryAllocationNodeParams params{};
    params.pool.type = cu::kPinned;
    params.pool.location = {.type = cu::kLocationDevice, .id = 0};
    params.size = size;
    const cu::Result result = Call<cu::GraphAddMemAllocNodeFn>(
        "cuGraphAddMemAllocNode", node, graph_, static_cast<const cu::GraphNode*>(nullptr),
        size_t{0}, &params);
    *pointer = params.pointer;
    return result;
  }
  cu::Result AddKernel(cu::GraphNode* node, const cu::GraphNode* after, size_t after_count,
                       cu::DevicePointer data) const {
    void* arguments[] = {&data};
    const cu::KernelNodeParams params{.function = function_,
                                      .grid = {1, 1, 1},
                                      .block = {1, 1, 1},
                                      .shared_bytes = 0,
                                      .arguments = &arguments[0],
                                      .extra = nullptr,
                                      .kernel = nullptr,
                                      .context = nullptr};
    return Call<cu::GraphAddKernelNodeFn>("cuGraphAddKernelNode_v2", node, graph_, after,
                                          after_count, &params);
  }
  cu::Result AddFree(cu::DevicePointer pointer, const cu::GraphNode* after) const {
    cu::GraphNode node = nullptr;
    return Call<cu::GraphAddMemFreeNodeFn>("cuGraphAddMemFreeNode", &node, graph_, after, size_t{1},
                                           pointer);
  }
  cu::GraphExec Instantiate(uint64_t flags = 0) const {
    cu::GraphExec exec = nullptr;
    EXPECT_EQ(
        Call<cu::GraphInstantiateWithFlagsFn>("cuGraphInstantiateWithFlags", &exec, graph_, flags),
        cu::kSuccess);
    return exec;
  }
  cu::Result Launch(cu::GraphExec exec) const {
    return Call<cu::GraphLaunchFn>("cuGraphLaunch", exec, cu::Stream{});
  }
  uint64_t Value(cu::GraphMemoryAttribute attribute) const {
    uint64_t value = 0;
    void* out = &value;
    EXPECT_EQ(
        Call<cu::DeviceGraphMemAttributeFn>("cuDeviceGetGraphMemAttribute", 0, attribute, out),
        cu::kSuccess);
    return value;
  }

  cu::Function function_ = nullptr;
  cu::Graph graph_ = nullptr;
};

TEST_F(GraphsTest, KernelsRunWithTheArgumentsOfTheirNodes) {
  StartWithKernel();
  cu::DevicePointer data = 0;
  ASSERT_EQ(Alloc(4, &data), cu::kSuccess);
  cu::GraphNode first = nullptr;
  cu::GraphNode second = nullptr;
  ASSERT_EQ(AddKernel(&first, nullptr, 0, data), cu::kSuccess);
  ASSERT_EQ(AddKernel(&second, &first, 1, data), cu::kSuccess);
  const cu::GraphNode stranger = reinterpret_cast<cu::GraphNode>(&data);
  EXPECT_EQ(AddKernel(&second, &stranger, 1, data), cu::kInvalidValue) << "of no graph";
  const cu::GraphExec exec = Instantiate();
  EXPECT_EQ(NumberAt(data), 0U) << "nothing has run";
  EXPECT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(NumberAt(data), 4U);
  EXPECT_EQ(Call<cu::GraphDestroyFn>("cuGraphDestroy", graph_), cu::kSuccess);
  EXPECT_EQ(Launch(exec), cu::kSuccess) << "it does not need the graph";
  EXPECT_EQ(Call<cu::GraphExecDestroyFn>("cuGraphExecDestroy", exec), cu::kSuccess);
  EXPECT_EQ(Launch(exec), cu::kInvalidValue);
}

TEST_F(GraphsTest, MemoryComesWithTheLaunchAndStaysReserved) {
  StartWithKernel();
  cu::GraphNode allocation = nullptr;
  cu::GraphNode kernel = nullptr;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AddAllocation(5 * kMiB, &allocation, &pointer), cu::kSuccess);
  ASSERT_EQ(AddKernel(&kernel, &allocation, 1, pointer), cu::kSuccess);
  ASSERT_EQ(AddFree(pointer, &kernel), cu::kSuccess);
  const cu::GraphExec exec = Instantiate();
  EXPECT_EQ(Used(), 0U);
  ASSERT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryCurrent), 0U);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryHigh), 6 * kMiB);
  EXPECT_EQ(Value(cu::kGraphReservedMemoryCurrent), 6 * kMiB);
  EXPECT_EQ(Used(), 6 * kMiB) << "for the next launch";
  ASSERT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(Used(), 6 * kMiB);
  EXPECT_EQ(Put(pointer, "x"), cu::kInvalidValue) << "it is freed";
  EXPECT_EQ(Call<cu::DeviceGraphMemTrimFn>("cuDeviceGraphMemTrim", 0), cu::kSuccess);
  EXPECT_EQ(Used(), 0U);
  uint64_t zero = 0;
  void* in = &zero;
  EXPECT_EQ(Call<cu::DeviceGraphMemAttributeFn>("cuDeviceSetGraphMemAttribute", 0,
                                                cu::kGraphUsedMemoryHigh, in),
            cu::kSuccess);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryHigh), 0U);
}

TEST_F(GraphsTest, MemoryThatAGraphLeavesIsTheProgramsToFree) {
  StartWithKernel();
  cu::GraphNode allocation = nullptr;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AddAllocation(2 * kMiB, &allocation, &pointer), cu::kSuccess);
  const cu::GraphExec exec = Instantiate();
  const cu::GraphExec freeing = Instantiate(cu::kGraphAutoFreeOnLaunch);
  ASSERT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(Put(pointer, "left"), cu::kSuccess);
  EXPECT_EQ(Launch(exec), cu::kInvalidValue) << "it has not been freed";
  EXPECT_EQ(Launch(freeing), cu::kSuccess);
  EXPECT_EQ(Used(), 2 * kMiB);
  EXPECT_EQ(Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, cu::Stream{}), cu::kSuccess);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryCurrent), 0U);
  EXPECT_EQ(Launch(exec), cu::kSuccess);
}

TEST_F(GraphsTest, ALaunchWithoutRoomChangesNothing) {
  StartWithKernel();
  cu::GraphNode allocation = nullptr;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AddAllocation(40 * kGiB, &allocation, &pointer), cu::kSuccess);
  ASSERT_EQ(AddAllocation(41 * kGiB, &allocation, &pointer), cu::kSuccess);
  const cu::GraphExec exec = Instantiate();
  EXPECT_EQ(Launch(exec), cu::kOutOfMemory);
  EXPECT_EQ(Used(), 0U);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryCurrent), 0U);
}

TEST_F(GraphsTest, TheGeneralFunctionAddsNodesToo) {
  StartWithKernel();
  cu::GraphNodeParams params{};
  params.type = cu::kNodeMemoryAllocation;
  params.allocation.pool.type = cu::kPinned;
  params.allocation.pool.location = {.type = cu::kLocationDevice, .id = 0};
  params.allocation.size = 2 * kMiB;
  cu::GraphNode node = nullptr;
  const auto* none = static_cast<const cu::GraphNode*>(nullptr);
  ASSERT_EQ(Call<cu::GraphAddNodeV1Fn>("cuGraphAddNode", &node, graph_, none, size_t{0}, &params),
            cu::kSuccess);
  const cu::DevicePointer pointer = params.allocation.pointer;
  cu::MemoryAllocationNodeParams seen{};
  ASSERT_EQ(Call<cu::GraphMemAllocNodeGetParamsFn>("cuGraphMemAllocNodeGetParams", node, &seen),
            cu::kSuccess);
  EXPECT_EQ(seen.pointer, pointer);
  params = {};
  params.type = cu::kNodeMemoryFree;
  params.freed = pointer;
  const auto* after = static_cast<const cu::GraphNode*>(&node);
  cu::GraphNode freeing = nullptr;
  ASSERT_EQ(Call<cu::GraphAddNodeFn>("cuGraphAddNode_v2", &freeing, graph_, after,
                                     static_cast<const void*>(nullptr), size_t{1}, &params),
            cu::kSuccess);
  EXPECT_EQ(Launch(Instantiate()), cu::kSuccess);
  EXPECT_EQ(Value(cu::kGraphUsedMemoryHigh), 2 * kMiB);
}

class CaptureTest : public GraphsTest {
 protected:
  void StartCapture() {
    StartWithKernel();
    ASSERT_EQ(Call<cu::StreamCreateFn>("cuStreamCreate", &stream_, 0U), cu::kSuccess);
    ASSERT_EQ(Begin(), cu::kSuccess);
  }
  ~CaptureTest() override {
    if (stream_ != nullptr) {
      (void)Call<cu::StreamDestroyFn>("cuStreamDestroy_v2", stream_);
    }
  }
  cu::Result Begin() const {
    return Call<cu::StreamBeginCaptureFn>("cuStreamBeginCapture_v2", stream_, cu::kCaptureGlobal);
  }
  cu::Result End(cu::Graph* graph) const {
    return Call<cu::StreamEndCaptureFn>("cuStreamEndCapture", stream_, graph);
  }
  cu::CaptureStatus Status() const {
    cu::CaptureStatus status{};
    EXPECT_EQ(Call<cu::StreamIsCapturingFn>("cuStreamIsCapturing", stream_, &status), cu::kSuccess);
    return status;
  }
  cu::Result LaunchOn(cu::DevicePointer data) const {
    void* arguments[] = {&data};
    void** extra = nullptr;
    return Call<cu::LaunchKernelFn>("cuLaunchKernel", function_, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                    stream_, &arguments[0], extra);
  }

  cu::Stream stream_ = nullptr;
};

TEST_F(CaptureTest, AllocationsBecomeNodes) {
  StartCapture();
  cu::DevicePointer kept = 0;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(4, &kept), cu::kSuccess) << "not in the order of a stream";
  ASSERT_EQ(Call<cu::MemAllocAsyncFn>("cuMemAllocAsync", &pointer, size_t{10 << 20}, stream_),
            cu::kSuccess);
  ASSERT_EQ(LaunchOn(pointer), cu::kSuccess);
  ASSERT_EQ(LaunchOn(kept), cu::kSuccess);
  ASSERT_EQ(Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, stream_), cu::kSuccess);
  EXPECT_EQ(Status(), cu::kCaptureActive);
  EXPECT_EQ(NumberAt(kept), 0U) << "nothing has run";
  EXPECT_EQ(Used(), 2 * kMiB);
  ASSERT_EQ(End(&graph_), cu::kSuccess);
  EXPECT_EQ(Status(), cu::kCaptureNone);
  const cu::GraphExec exec = Instantiate();
  EXPECT_EQ(Used(), 2 * kMiB);
  ASSERT_EQ(Launch(exec), cu::kSuccess);
  EXPECT_EQ(NumberAt(kept), 1U);
  EXPECT_EQ(Used(), 12 * kMiB);
}

TEST_F(CaptureTest, WhatIsNoNodeEndsTheCapture) {
  StartCapture();
  EXPECT_EQ(Begin(), cu::kIllegalState) << "it does so already";
  EXPECT_EQ(Call<cu::StreamSynchronizeFn>("cuStreamSynchronize", stream_),
            cu::kStreamCaptureUnsupported);
  EXPECT_EQ(Status(), cu::kCaptureInvalidated);
  EXPECT_EQ(End(&graph_), cu::kStreamCaptureInvalidated);
  EXPECT_EQ(graph_, nullptr);
  EXPECT_EQ(End(&graph_), cu::kIllegalState);
  ASSERT_EQ(Begin(), cu::kSuccess);
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(Alloc(4, &pointer), cu::kSuccess);
  EXPECT_EQ(Call<cu::MemcpyHtoDAsyncFn>("cuMemcpyHtoDAsync_v2", pointer,
                                        static_cast<const void*>("abcd"), size_t{4}, stream_),
            cu::kStreamCaptureUnsupported);
  EXPECT_EQ(Call<cu::MemFreeAsyncFn>("cuMemFreeAsync", pointer, stream_), cu::kInvalidValue)
      << "no graph's";
  EXPECT_EQ(
      Call<cu::StreamBeginCaptureFn>("cuStreamBeginCapture_v2", cu::Stream{}, cu::kCaptureGlobal),
      cu::kStreamCaptureUnsupported);
}

TEST_F(GraphsTest, EndsWithItsContext) {
  StartWithKernel();
  cu::GraphNode allocation = nullptr;
  cu::DevicePointer pointer = 0;
  ASSERT_EQ(AddAllocation(2 * kMiB, &allocation, &pointer), cu::kSuccess);
  const cu::GraphExec exec = Instantiate();
  ASSERT_EQ(Launch(exec), cu::kSuccess);
  ASSERT_EQ(Call<cu::CtxDestroyFn>("cuCtxDestroy_v2", context_), cu::kSuccess);
  EXPECT_EQ(UsedBy(getpid()), 0U);
  EXPECT_EQ(Call<cu::GraphExecDestroyFn>("cuGraphExecDestroy", exec), cu::kSuccess);
}

TEST_F(GraphsTest, LaunchesInAllWays) {
  StartWithKernel();
  cu::DevicePointer data = 0;
  ASSERT_EQ(Alloc(4, &data), cu::kSuccess);
  void* arguments[] = {&data};
  void** extra = nullptr;
  const cu::LaunchConfig config{.grid = {1, 1, 1},
                                .block = {1, 1, 1},
                                .shared_bytes = 0,
                                .stream = nullptr,
                                .attributes = nullptr,
                                .attribute_count = 0};
  for (const char* name : {"cuLaunchKernelEx", "cuLaunchKernelEx_ptsz"}) {
    EXPECT_EQ(Call<cu::LaunchKernelExFn>(name, &config, function_, &arguments[0], extra),
              cu::kSuccess);
  }
  for (const char* name : {"cuLaunchCooperativeKernel", "cuLaunchCooperativeKernel_ptsz"}) {
    EXPECT_EQ(Call<cu::LaunchCooperativeKernelFn>(name, function_, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                                  cu::Stream{}, &arguments[0]),
              cu::kSuccess);
  }
  EXPECT_EQ(Call<cu::LaunchKernelFn>("cuLaunchKernel_ptsz", function_, 1U, 1U, 1U, 1U, 1U, 1U, 0U,
                                     cu::Stream{}, &arguments[0], extra),
            cu::kSuccess);
  EXPECT_EQ(NumberAt(data), 5U);
  EXPECT_EQ(Call<cu::LaunchCooperativeKernelFn>("cuLaunchCooperativeKernel", function_, 100000U, 1U,
                                                1U, 1U, 1U, 1U, 0U, cu::Stream{}, &arguments[0]),
            cu::kCooperativeLaunchTooLarge);
}

class ProcAddressTest : public CudaFixture {
 protected:
  // The symbol that the library finds, or an error.
  std::string Find(const char* name, int version, uint64_t flags = 0) const {
    void* found = nullptr;
    cu::ProcAddressStatus status{};
    const cu::Result result =
        Call<cu::GetProcAddressFn>("cuGetProcAddress_v2", name, &found, version, flags, &status);
    Dl_info info{};
    if (found == nullptr || dladdr(found, &info) == 0) {
      return "error " + std::to_string(result) + " status " + std::to_string(status);
    }
    return info.dli_sname;
  }
  void* At(const char* symbol) const { return dlsym(handle_, symbol); }
  void* Found(const char* name, int version, uint64_t flags = 0) const {
    void* found = nullptr;
    cu::ProcAddressStatus status{};
    (void)Call<cu::GetProcAddressFn>("cuGetProcAddress_v2", name, &found, version, flags, &status);
    return found;
  }
};

TEST_F(ProcAddressTest, TheVersionDecides) {
  EXPECT_EQ(Found("cuCtxCreate", 3010), At("cuCtxCreate"));
  EXPECT_EQ(Found("cuCtxCreate", 11000), At("cuCtxCreate_v2"));
  EXPECT_EQ(Found("cuCtxCreate", 12000), At("cuCtxCreate_v3"));
  EXPECT_EQ(Found("cuCtxCreate", 13000), At("cuCtxCreate_v4"));
  EXPECT_EQ(Found("cuGraphInstantiate", 11080), At("cuGraphInstantiate_v2"));
  EXPECT_EQ(Found("cuGraphInstantiate", 12000), At("cuGraphInstantiateWithFlags"));
  EXPECT_EQ(Found("cuGetProcAddress", 12000), At("cuGetProcAddress_v2"));
  EXPECT_EQ(Find("cuMemAllocAsync", 11000), "error 500 status 2") << "too old a version";
  EXPECT_EQ(Find("cuMemAllocSomehow", 13000), "error 500 status 1");
}

TEST_F(ProcAddressTest, TheStreamsOfEachThreadHaveTheirOwn) {
  EXPECT_EQ(Found("cuLaunchKernel", 12000), At("cuLaunchKernel"));
  EXPECT_EQ(At("cuLaunchKernel"), At("cuLaunchKernel_ptsz")) << "which do the same here";
  EXPECT_EQ(Found("cuMemcpyHtoD", 12000, cu::kProcPerThreadStream), At("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(Found("cuMemAlloc", 12000, cu::kProcPerThreadStream), At("cuMemAlloc_v2"))
      << "no stream";
  EXPECT_EQ(Find("cuMemAlloc", 12000, 4), "error 1 status 0") << "no such flag";
}

TEST_F(ProcAddressTest, TheOldFunctionFindsTheSame) {
  void* found = nullptr;
  EXPECT_EQ(
      Call<cu::GetProcAddressV1Fn>("cuGetProcAddress", "cuMemFree", &found, 11030, uint64_t{0}),
      cu::kSuccess);
  EXPECT_EQ(found, At("cuMemFree_v2"));
}

TEST_F(ProcAddressTest, ThereIsNoExportTable) {
  const void* table = this;
  const cu::Uuid id{};
  EXPECT_EQ(Call<cu::GetExportTableFn>("cuGetExportTable", &table, &id), cu::kNotFound);
  EXPECT_EQ(table, nullptr);
}

}  // namespace
}  // namespace kgpu::simcuda

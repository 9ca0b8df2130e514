// Graphs that allocate. The driver reserves their memory when they are launched, for all graphs of
// a device together; we make sure beforehand that what a graph could need at most fits.
#include "src/preload/gates.h"
#include "src/preload/pools.h"
#include "src/preload/system.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

constexpr int kNodeGraph = 4;          // CU_GRAPH_NODE_TYPE_GRAPH
constexpr int kNodeMemoryAlloc = 10;   // CU_GRAPH_NODE_TYPE_MEM_ALLOC
constexpr size_t kMaxNodes = 1 << 22;  // of one graph that are looked at
constexpr int kMaxNesting = 4;

struct GraphNeeds {
  uint64_t bytes;
  cu::Device device;  // of the last allocation
};

using GraphGetNodesFn = Result(cu::Graph graph, cu::GraphNode* nodes, size_t* count);
using GraphNodeGetTypeFn = Result(cu::GraphNode node, int* type);
using ChildGraphGetFn = Result(cu::GraphNode node, cu::Graph* graph);

void AddNode(cu::GraphNode node, GraphNeeds* needs, cu::Graph* child) {
  auto* get_type = Helper<GraphNodeGetTypeFn>(kGraphNodeGetType);
  int type = -1;
  if (get_type == nullptr || get_type(node, &type) != cu::kSuccess) {
    return;
  }
  if (type == kNodeMemoryAlloc) {
    auto* get = Helper<cu::GraphMemAllocNodeGetParamsFn>(kGraphMemAllocNodeGetParams);
    cu::MemoryAllocationNodeParams params{};
    if (get != nullptr && get(node, &params) == cu::kSuccess) {
      needs->bytes = Plus(needs->bytes, params.size);
      needs->device = params.pool.location.type == cu::kLocationDevice ? params.pool.location.id
                                                                       : needs->device;
    }
  } else if (type == kNodeGraph) {
    auto* get = Helper<ChildGraphGetFn>(kGraphChildGraphNodeGetGraph);
    if (get == nullptr || get(node, child) != cu::kSuccess) {
      *child = nullptr;
    }
  }
}

// NOLINTNEXTLINE(misc-no-recursion): graphs nest, and we look at four levels
void AddGraph(cu::Graph graph, int depth, GraphNeeds* needs) {
  auto* get_nodes = Helper<GraphGetNodesFn>(kGraphGetNodes);
  size_t count = 0;
  if (get_nodes == nullptr || get_nodes(graph, nullptr, &count) != cu::kSuccess || count == 0 ||
      count > kMaxNodes) {
    return;
  }
  const size_t size = count * sizeof(cu::GraphNode);
  auto* nodes = static_cast<cu::GraphNode*>(MapMemory(size, false));
  if (nodes == nullptr) {
    return;
  }
  const bool is_read = get_nodes(graph, nodes, &count) == cu::kSuccess;
  for (size_t at = 0; is_read && at < count; ++at) {
    cu::Graph child = nullptr;
    AddNode(nodes[at], needs, &child);
    if (child != nullptr && depth < kMaxNesting) {
      AddGraph(child, depth + 1, needs);
    }
  }
  UnmapMemory(static_cast<void*>(nodes), size);
}

// What the launch may need on top of what is reserved already.
uint64_t MissingOf(const Record& exec) {
  const auto device = static_cast<cu::Device>(exec.owner);
  const uint64_t reserved = GraphMemory(device, cu::kGraphReservedMemoryCurrent);
  const uint64_t used = GraphMemory(device, cu::kGraphUsedMemoryCurrent);
  const uint64_t spare = used < reserved ? reserved - used : 0;
  return exec.extent > spare ? exec.extent - spare : 0;
}

Result ChargeGraph(const Record& exec, uint64_t missing) {
  const auto device = static_cast<cu::Device>(exec.owner);
  const int account = AccountOf(device);
  Result charged = Charge(account, missing);
  if (charged == cu::kOutOfMemory && account >= 0) {
    TrimPools(account);
    charged = Charge(account, missing);
  }
  return charged;
}

bool FindExec(cu::GraphExec exec, Record* record) {
  Process* process = CurrentProcess();
  if (process == nullptr || !__atomic_load_n(&process->has_graph_memory, __ATOMIC_RELAXED)) {
    return false;
  }
  const Guard guard(process->lock);
  const Record* found = process->records.Find(Kind::kExec, reinterpret_cast<uint64_t>(exec));
  if (found != nullptr) {
    *record = *found;
  }
  return found != nullptr;
}

// `call` launches or uploads. Graphs without memory cost one look at a flag.
template <typename Call>
Result ChargeAndCall(cu::GraphExec exec, Call&& call) {
  Record record{};
  if (!FindExec(exec, &record)) {
    return call();
  }
  const uint64_t missing = MissingOf(record);
  const Result charged = ChargeGraph(record, missing);
  if (charged != cu::kSuccess) {
    return charged;
  }
  const Result result = call();
  SyncGraphMemory(static_cast<cu::Device>(record.owner), missing);
  return result;
}

// The kernels of a graph pass the gate together, and are charged afterwards: while they wait,
// others may have the memory.
Result LaunchGraph(HookId id, cu::GraphExec exec, const LaunchStream& launch) {
  auto* function = Real<cu::GraphLaunchFn>(id);
  if (function == nullptr) {
    return cu::kNotInitialized;
  }
  return LaunchInTurn(
      launch, [&] { return ChargeAndCall(exec, [&] { return function(exec, launch.stream); }); });
}

template <typename Call>
Result InstantiateGraph(cu::GraphExec* exec, cu::Graph graph, Call&& call) {
  GraphNeeds needs{.bytes = 0, .device = CurrentDevice()};
  AddGraph(graph, 0, &needs);
  Process* process = CurrentProcess();
  if (needs.bytes == 0 || process == nullptr || AccountOf(needs.device) == kUnlimited) {
    return call();
  }
  __atomic_store_n(&process->has_graph_memory, true, __ATOMIC_RELAXED);
  Record record{.kind = Kind::kExec,
                .device = 0,
                .key = 0,
                .size = 0,
                .owner = static_cast<uint64_t>(needs.device),
                .extent = needs.bytes,
                .uses = 1,
                .is_mine = 1};
  const uint64_t missing = MissingOf(record);
  Result result = ChargeGraph(record, missing);
  if (result != cu::kSuccess) {
    return result;
  }
  result = call();
  if (result == cu::kSuccess) {
    record.key = reinterpret_cast<uint64_t>(*exec);
    if (!Remember(record)) {
      (void)KGPU_CALL_REAL(GraphExecDestroyFn, cuGraphExecDestroy, *exec);
      result = cu::kOutOfMemory;
    }
  }
  SyncGraphMemory(needs.device, missing);
  return result;
}

Result DestroyExec(cu::GraphExec exec) {
  Record record{};
  const bool is_known =
      FindExec(exec, &record) && TakeRecord(Kind::kExec, reinterpret_cast<uint64_t>(exec), &record);
  const Result result = KGPU_CALL_REAL(GraphExecDestroyFn, cuGraphExecDestroy, exec);
  if (is_known) {
    result == cu::kSuccess ? Settle(record) : PutBack(record);
    SyncGraphMemory(static_cast<cu::Device>(record.owner), 0);
  }
  return result;
}

Result Instantiate(HookId id, cu::GraphExec* exec, cu::Graph graph, cu::GraphNode* error_node,
                   char* log, size_t log_size) {
  return InstantiateGraph(exec, graph, [&] {
    return CallReal<cu::GraphInstantiateV2Fn>(id, exec, graph, error_node, log, log_size);
  });
}

Result InstantiateWithParams(HookId id, cu::GraphExec* exec, cu::Graph graph,
                             cu::GraphInstantiateParams* params) {
  return InstantiateGraph(exec, graph, [&] {
    return CallReal<cu::GraphInstantiateWithParamsFn>(id, exec, graph, params);
  });
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuGraphInstantiate(cu::GraphExec* exec, cu::Graph graph, cu::GraphNode* error_node,
                                 char* log, size_t log_size) {
  return Instantiate(k_cuGraphInstantiate, exec, graph, error_node, log, log_size);
}
KGPU_STAND_IN cuGraphInstantiate_v2(cu::GraphExec* exec, cu::Graph graph, cu::GraphNode* error_node,
                                    char* log, size_t log_size) {
  return Instantiate(k_cuGraphInstantiate_v2, exec, graph, error_node, log, log_size);
}
KGPU_STAND_IN cuGraphInstantiateWithFlags(cu::GraphExec* exec, cu::Graph graph, uint64_t flags) {
  return InstantiateGraph(exec, graph, [&] {
    return KGPU_CALL_REAL(GraphInstantiateWithFlagsFn, cuGraphInstantiateWithFlags, exec, graph,
                          flags);
  });
}
KGPU_STAND_IN cuGraphInstantiateWithParams(cu::GraphExec* exec, cu::Graph graph,
                                           cu::GraphInstantiateParams* params) {
  return InstantiateWithParams(k_cuGraphInstantiateWithParams, exec, graph, params);
}
KGPU_STAND_IN cuGraphInstantiateWithParams_ptsz(cu::GraphExec* exec, cu::Graph graph,
                                                cu::GraphInstantiateParams* params) {
  return InstantiateWithParams(k_cuGraphInstantiateWithParams_ptsz, exec, graph, params);
}
KGPU_STAND_IN cuGraphUpload(cu::GraphExec exec, cu::Stream stream) {
  return ChargeAndCall(exec,
                       [&] { return KGPU_CALL_REAL(GraphLaunchFn, cuGraphUpload, exec, stream); });
}
KGPU_STAND_IN cuGraphUpload_ptsz(cu::GraphExec exec, cu::Stream stream) {
  return ChargeAndCall(
      exec, [&] { return KGPU_CALL_REAL(GraphLaunchFn, cuGraphUpload_ptsz, exec, stream); });
}
KGPU_STAND_IN cuGraphLaunch(cu::GraphExec exec, cu::Stream stream) {
  return LaunchGraph(k_cuGraphLaunch, exec, {stream, false});
}
KGPU_STAND_IN cuGraphLaunch_ptsz(cu::GraphExec exec, cu::Stream stream) {
  return LaunchGraph(k_cuGraphLaunch_ptsz, exec, {stream, true});
}
KGPU_STAND_IN cuGraphExecDestroy(cu::GraphExec exec) {
  return DestroyExec(exec);
}
KGPU_STAND_IN cuDeviceGraphMemTrim(cu::Device device) {
  const Result result = KGPU_CALL_REAL(DeviceGraphMemTrimFn, cuDeviceGraphMemTrim, device);
  if (result == cu::kSuccess && CurrentProcess() != nullptr) {
    SyncGraphMemory(device, 0);
  }
  return result;
}

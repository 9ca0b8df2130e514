#include "testing/cuda/launches.h"

#include <cstring>

#include "testing/cuda/capture.h"
#include "testing/cuda/mps.h"
#include "testing/cuda/ptx_run.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::Function;
using cuda_api::kInvalidHandle;
using cuda_api::kInvalidValue;

// Minutes of this interpreter: a kernel that needs more will not end by itself.
constexpr uint64_t kInstructionLimit = uint64_t{1} << 33;

// With the lock held: the module that has the kernel.
const ModuleObject* ModuleOf(Function kernel) {
  const auto wanted = reinterpret_cast<uintptr_t>(kernel);
  for (const ModuleObject* at = State().modules; at != nullptr; at = at->next) {
    const uintptr_t offset = wanted - reinterpret_cast<uintptr_t>(&at->code.functions[0]);
    if (offset % sizeof(ptx::Function) == 0 &&
        offset / sizeof(ptx::Function) < at->code.function_count) {
      return at;
    }
  }
  return nullptr;
}

void* ResolveFor(void* context, uint64_t address, uint32_t size) {
  return Resolve(static_cast<ContextObject*>(context), address, size);
}

Result ResultOf(ptx::Fault fault) {
  switch (fault) {
    case ptx::Fault::kNone:
      return kSuccess;
    case ptx::Fault::kIllegalAddress:
      return cuda_api::kIllegalAddress;
    case ptx::Fault::kMisaligned:
      return cuda_api::kMisalignedAddress;
    case ptx::Fault::kTooLong:
      return cuda_api::kLaunchTimeout;
  }
  return cuda_api::kUnknown;
}

bool IsGridGood(const uint32_t (&grid)[3], const uint32_t (&block)[3]) {
  uint64_t threads = 1;
  bool is_empty = false;
  for (int i = 0; i < 3; ++i) {
    is_empty = is_empty || grid[i] == 0 || block[i] == 0 || block[i] > 1024;
    threads *= block[i];
  }
  return !is_empty && threads <= 1024;
}

// Blocks of a cooperative launch that can wait for each other are on the GPU at the same time.
Result CheckCooperative(const ContextObject& context, const uint32_t (&grid)[3]) {
  constexpr uint64_t kBlocksOfMultiprocessor = 32;
  uint64_t multiprocessors = 0;
  const Result read = ReadGpu(context.device, [&](const sim::SimGpu& gpu) {
    const auto* profile = context.device.is_mig ? ProfileOf(gpu, context.device) : nullptr;
    multiprocessors = profile != nullptr ? profile->multiprocessors : gpu.multiprocessors;
  });
  const uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
  return read == kSuccess && blocks > multiprocessors * kBlocksOfMultiprocessor
             ? cuda_api::kCooperativeLaunchTooLarge
             : read;
}

struct Shape {
  uint32_t grid[3];
  uint32_t block[3];
  bool is_cooperative;
  cuda_api::Stream stream;
};

// There is no shared memory in the subset; `extra` is another way to pass arguments.
Result Start(const char* name, Function function, const Shape& shape, void* const* arguments,
             void** extra) {
  const ContextCall call(name);
  Result result = call.Check(extra == nullptr);
  if (result == kSuccess && shape.is_cooperative) {
    result = CheckCooperative(*call.context(), shape.grid);
  }
  Launch launch;
  result = result == kSuccess ? PrepareLaunch(call.context(), function, shape.grid, shape.block,
                                              arguments, &launch)
                              : result;
  if (result != kSuccess) {
    return result;
  }
  GraphObject* graph = CapturingGraph(shape.stream);
  return graph != nullptr ? CaptureLaunch(graph, launch) : RunLaunch(call.context(), launch);
}

}  // namespace

Result PrepareLaunch(const ContextObject* context, Function function, const uint32_t (&grid)[3],
                     const uint32_t (&block)[3], void* const* arguments, Launch* launch) {
  if (!IsGridGood(grid, block)) {
    return kInvalidValue;
  }
  const ModuleObject* module = ModuleOf(function);
  if (module == nullptr || module->context != context) {
    return kInvalidHandle;
  }
  const auto* kernel = reinterpret_cast<const ptx::Function*>(function);
  if (kernel->parameter_count > 0 && arguments == nullptr) {
    return kInvalidValue;
  }
  *launch = {.kernel = kernel,
             .grid = {grid[0], grid[1], grid[2]},
             .block = {block[0], block[1], block[2]},
             .parameters = {}};
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    memcpy(launch->parameters + kernel->parameter_offsets[i], arguments[i],
           kernel->parameter_sizes[i]);
  }
  return kSuccess;
}

Result RunLaunch(ContextObject* context, const Launch& launch) {
  const ModuleObject* module =
      ModuleOf(reinterpret_cast<Function>(const_cast<ptx::Function*>(launch.kernel)));
  if (module == nullptr || module->context != context) {
    return kInvalidHandle;
  }
  // The calls after a launch report that it went wrong, as from a GPU that runs meanwhile.
  context->failure =
      ResultOf(ptx::Run({.module = &module->code,
                         .function = launch.kernel,
                         .parameters = launch.parameters,
                         .grid = {launch.grid[0], launch.grid[1], launch.grid[2]},
                         .block = {launch.block[0], launch.block[1], launch.block[2]},
                         .resolve = &ResolveFor,
                         .memory = context,
                         .instruction_limit = kInstructionLimit}));
  if (context->failure != kSuccess) {
    ReportMpsFault();
  }
  return kSuccess;
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::Function;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::LaunchConfig;
using kgpu::cuda_api::Stream;

KGPU_CUDA cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                         Stream stream, void** arguments, void** extra) {
  return kgpu::simcuda::Start(
      "cuLaunchKernel", function,
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, false, stream}, arguments, extra);
}
KGPU_CUDA cuLaunchKernel_ptsz(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, Stream, void**, void**) KGPU_CUDA_ALIAS(cuLaunchKernel);

// Attributes are hints and orders of streams, of which nothing is left here.
KGPU_CUDA cuLaunchKernelEx(const LaunchConfig* config, Function function, void** arguments,
                           void** extra) {
  if (config == nullptr) {
    return kInvalidValue;
  }
  return kgpu::simcuda::Start("cuLaunchKernelEx", function,
                              {{config->grid[0], config->grid[1], config->grid[2]},
                               {config->block[0], config->block[1], config->block[2]},
                               false,
                               config->stream},
                              arguments, extra);
}
KGPU_CUDA cuLaunchKernelEx_ptsz(const LaunchConfig*, Function, void**, void**)
    KGPU_CUDA_ALIAS(cuLaunchKernelEx);

KGPU_CUDA cuLaunchCooperativeKernel(Function function, unsigned grid_x, unsigned grid_y,
                                    unsigned grid_z, unsigned block_x, unsigned block_y,
                                    unsigned block_z, unsigned, Stream stream, void** arguments) {
  return kgpu::simcuda::Start("cuLaunchCooperativeKernel", function,
                              {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, true, stream},
                              arguments, nullptr);
}
KGPU_CUDA cuLaunchCooperativeKernel_ptsz(Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned, Stream, void**)
    KGPU_CUDA_ALIAS(cuLaunchCooperativeKernel);

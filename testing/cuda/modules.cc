// PTX becomes a module, a kernel of it runs.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"
#include "testing/cuda/ptx_run.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::kSuccess;

// PTX 6.0 came with CUDA 9.0, each later CUDA brought one or more of its own; the newest we know
// is enough of a limit.
constexpr uint32_t kNewestPtx = 89;
// Minutes of this interpreter: a kernel that needs more will not end by itself.
constexpr uint64_t kInstructionLimit = uint64_t{1} << 33;

// Where the caller wants to read what the compiler said.
struct JitLog {
  char* text = nullptr;
  size_t size = 0;
};

JitLog ErrorLogOf(unsigned count, const cuda_api::JitOption* options, void* const* values) {
  JitLog log;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == cuda_api::kJitErrorLogBuffer) {
      log.text = static_cast<char*>(values[i]);
    } else if (options[i] == cuda_api::kJitErrorLogBufferSize) {
      log.size = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
    }
  }
  return log;
}

void Say(const JitLog& log, const char* text) {
  if (log.text != nullptr && log.size > 0) {
    (void)snprintf(log.text, log.size, "ptxas application ptx input, %s", text);
  }
}

// Whether the GPU can run what was parsed.
Result CheckTarget(const ContextObject& context, const ptx::Module& code, const JitLog& log) {
  char text[96];
  uint32_t capability = 0;
  const Result read = ReadGpu(context.device, [&](const sim::SimGpu& gpu) {
    capability = gpu.cc_major * 10 + gpu.cc_minor;
  });
  if (read != kSuccess) {
    return read;
  }
  if (code.version > kNewestPtx) {
    (void)snprintf(text, sizeof(text), "line 1: PTX %u.%u is newer than this driver",
                   code.version / 10, code.version % 10);
    Say(log, text);
    return cuda_api::kUnsupportedPtxVersion;
  }
  if (code.target > capability) {
    (void)snprintf(text, sizeof(text), "line 1: sm_%u is more than this GPU's sm_%u", code.target,
                   capability);
    Say(log, text);
    return cuda_api::kNoBinaryForGpu;
  }
  return kSuccess;
}

Result Compile(const ContextObject& context, const char* image, ModuleObject& made,
               const JitLog& log) {
  char error[128];
  if (!ptx::Parse(image, strlen(image), &made.code, error, sizeof(error))) {
    Say(log, error);
    return cuda_api::kInvalidPtx;
  }
  return CheckTarget(context, made.code, log);
}

Result Load(cuda_api::Module* module, const void* image, const JitLog& log) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuModuleLoadDataEx", &context);
  if (entered != kSuccess || module == nullptr || image == nullptr) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  auto* made = static_cast<ModuleObject*>(calloc(1, sizeof(ModuleObject)));
  if (made == nullptr) {
    return cuda_api::kOutOfMemory;
  }
  const Result compiled = Compile(*context, static_cast<const char*>(image), *made, log);
  if (compiled != kSuccess) {
    free(made);
    return compiled;
  }
  const Lock lock;
  made->context = context;
  made->next = State().modules;
  State().modules = made;
  *module = reinterpret_cast<cuda_api::Module>(made);
  return kSuccess;
}

// With the lock held: the module that `handle` is, or that has the kernel at `handle`.
ModuleObject* FindModule(const void* handle, bool by_kernel) {
  const auto wanted = reinterpret_cast<uintptr_t>(handle);
  for (ModuleObject* at = State().modules; at != nullptr; at = at->next) {
    const auto first = reinterpret_cast<uintptr_t>(&at->code.functions[0]);
    const uintptr_t offset = wanted - first;
    const bool is_kernel = wanted >= first && offset % sizeof(ptx::Function) == 0 &&
                           offset / sizeof(ptx::Function) < at->code.function_count;
    if (by_kernel ? is_kernel : static_cast<const void*>(at) == handle) {
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

Result Start(const ptx::Function* kernel, const uint32_t (&grid)[3], const uint32_t (&block)[3],
             void* const* arguments) {
  ContextObject* context = nullptr;
  const Result entered = EnterContext("cuLaunchKernel", &context);
  if (entered != kSuccess || !IsGridGood(grid, block)) {
    return entered != kSuccess ? entered : kInvalidValue;
  }
  const Lock lock;
  const ModuleObject* module = FindModule(kernel, true);
  if (module == nullptr || module->context != context) {
    return cuda_api::kInvalidHandle;
  }
  if (kernel->parameter_count > 0 && arguments == nullptr) {
    return kInvalidValue;
  }
  uint8_t parameters[ptx::kMaxParameters * 8] = {};
  for (uint32_t i = 0; i < kernel->parameter_count; ++i) {
    memcpy(parameters + kernel->parameter_offsets[i], arguments[i], kernel->parameter_sizes[i]);
  }
  // The calls after a launch report that it went wrong, as from a GPU that runs meanwhile.
  context->failure = ResultOf(ptx::Run({.module = &module->code,
                                        .function = kernel,
                                        .parameters = parameters,
                                        .grid = {grid[0], grid[1], grid[2]},
                                        .block = {block[0], block[1], block[2]},
                                        .resolve = &ResolveFor,
                                        .memory = context,
                                        .instruction_limit = kInstructionLimit}));
  return kSuccess;
}

// With the lock held.
void Remove(ModuleObject** at) {
  ModuleObject* module = *at;
  *at = module->next;
  free(module);
}

}  // namespace

void ReleaseModules(const ContextObject* context) {
  for (ModuleObject** at = &State().modules; *at != nullptr;) {
    if ((*at)->context == context) {
      Remove(at);
    } else {
      at = &(*at)->next;
    }
  }
}

}  // namespace kgpu::simcuda

using kgpu::cuda_api::Function;
using kgpu::cuda_api::kInvalidHandle;
using kgpu::cuda_api::kInvalidValue;
using kgpu::cuda_api::kSuccess;
using kgpu::cuda_api::Module;
using kgpu::cuda_api::Result;
using kgpu::simcuda::ModuleObject;
using kgpu::simcuda::State;

KGPU_CUDA cuModuleLoadDataEx(Module* module, const void* image, unsigned count,
                             kgpu::cuda_api::JitOption* options, void** values) {
  return kgpu::simcuda::Load(module, image, kgpu::simcuda::ErrorLogOf(count, options, values));
}

KGPU_CUDA cuModuleLoadData(Module* module, const void* image) {
  return kgpu::simcuda::Load(module, image, {});
}

KGPU_CUDA cuModuleUnload(Module module) {
  const kgpu::simcuda::Lock lock;
  for (ModuleObject** at = &State().modules; *at != nullptr; at = &(*at)->next) {
    if (reinterpret_cast<Module>(*at) == module) {
      kgpu::simcuda::Remove(at);
      return kSuccess;
    }
  }
  return kInvalidHandle;
}

KGPU_CUDA cuModuleGetFunction(Function* function, Module module, const char* name) {
  const kgpu::simcuda::Lock lock;
  const ModuleObject* found = kgpu::simcuda::FindModule(module, false);
  if (found == nullptr || function == nullptr || name == nullptr) {
    return found == nullptr ? kInvalidHandle : kInvalidValue;
  }
  const kgpu::ptx::Function* kernel = kgpu::ptx::FindFunction(found->code, name);
  *function = reinterpret_cast<Function>(const_cast<kgpu::ptx::Function*>(kernel));
  return kernel == nullptr ? kgpu::cuda_api::kNotFound : kSuccess;
}

// There is no shared memory in the subset; `extra` is another way to pass arguments.
KGPU_CUDA cuLaunchKernel(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                         unsigned block_x, unsigned block_y, unsigned block_z, unsigned,
                         kgpu::cuda_api::Stream, void** arguments, void** extra) {
  if (extra != nullptr) {
    return kInvalidValue;
  }
  return kgpu::simcuda::Start(reinterpret_cast<const kgpu::ptx::Function*>(function),
                              {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, arguments);
}

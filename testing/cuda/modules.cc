// PTX becomes a module.
#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

using cuda_api::kInvalidValue;
using cuda_api::kSuccess;

// PTX 6.0 came with CUDA 9.0, each later CUDA brought one or more of its own; the newest we know
// is enough of a limit.
constexpr uint32_t kNewestPtx = 89;

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

// With the lock held.
ModuleObject* FindModule(cuda_api::Module handle) {
  ModuleObject* at = State().modules;
  while (at != nullptr && reinterpret_cast<cuda_api::Module>(at) != handle) {
    at = at->next;
  }
  return at;
}

// With the lock held.
void Unload(ModuleObject** at) {
  ModuleObject* module = *at;
  *at = module->next;
  free(module);
}

}  // namespace

void ReleaseModules(const ContextObject* context) {
  for (ModuleObject** at = &State().modules; *at != nullptr;) {
    if ((*at)->context == context) {
      Unload(at);
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
      kgpu::simcuda::Unload(at);
      return kSuccess;
    }
  }
  return kInvalidHandle;
}

KGPU_CUDA cuModuleGetFunction(Function* function, Module module, const char* name) {
  const kgpu::simcuda::Lock lock;
  const ModuleObject* found = kgpu::simcuda::FindModule(module);
  if (found == nullptr || function == nullptr || name == nullptr) {
    return found == nullptr ? kInvalidHandle : kInvalidValue;
  }
  const kgpu::ptx::Function* kernel = kgpu::ptx::FindFunction(found->code, name);
  *function = reinterpret_cast<Function>(const_cast<kgpu::ptx::Function*>(kernel));
  return kernel == nullptr ? kgpu::cuda_api::kNotFound : kSuccess;
}

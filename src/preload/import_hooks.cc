// Memory of other processes and other APIs. A process pays for what it opens, unless a live process
// of the same container offers it, and so pays already. It then claims it: when the offer ends, the
// ledger charges the claims.
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

// A handle that is opened again leads to the same address.
bool CountAgain(cu::DevicePointer pointer) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return false;
  }
  const Guard guard(process->lock);
  Record* found = process->records.Find(Kind::kOpened, pointer);
  if (found != nullptr) {
    ++found->uses;
  }
  return found != nullptr;
}

Result OpenHandle(HookId id, cu::DevicePointer* pointer, const cu::IpcMemoryHandle& handle,
                  unsigned flags) {
  const int account = CurrentAccount();
  if (account == kRefused) {
    return Charge(account, 0);
  }
  const Result result = CallReal<cu::IpcOpenMemHandleFn>(id, pointer, handle, flags);
  if (result != cu::kSuccess || account == kUnlimited || CountAgain(*pointer)) {
    return result;
  }
  const Result charged = AddOpened(account, *pointer, NameOf(&handle, sizeof(handle)));
  if (charged != cu::kSuccess) {
    (void)KGPU_CALL_REAL(IpcCloseMemHandleFn, cuIpcCloseMemHandle, *pointer);
    *pointer = 0;
  }
  return charged;
}

Result CloseHandle(cu::DevicePointer pointer) {
  const auto call = [&] {
    return KGPU_CALL_REAL(IpcCloseMemHandleFn, cuIpcCloseMemHandle, pointer);
  };
  Process* process = CurrentProcess();
  bool is_last = true;
  if (process != nullptr) {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kOpened, pointer);
    is_last = found == nullptr || found->uses <= 1;
    if (!is_last) {
      --found->uses;
    }
  }
  return is_last ? Free(Kind::kOpened, pointer, call) : call();
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuIpcGetMemHandle(cu::IpcMemoryHandle* handle, cu::DevicePointer pointer) {
  const Result result = KGPU_CALL_REAL(IpcGetMemHandleFn, cuIpcGetMemHandle, handle, pointer);
  if (result == cu::kSuccess) {
    OfferMemory(Kind::kLinear, pointer, NameOf(handle, sizeof(*handle)));
  }
  return result;
}
KGPU_STAND_IN cuIpcOpenMemHandle(cu::DevicePointer* pointer, cu::IpcMemoryHandle handle,
                                 unsigned flags) {
  return OpenHandle(k_cuIpcOpenMemHandle, pointer, handle, flags);
}
KGPU_STAND_IN cuIpcOpenMemHandle_v2(cu::DevicePointer* pointer, cu::IpcMemoryHandle handle,
                                    unsigned flags) {
  return OpenHandle(k_cuIpcOpenMemHandle_v2, pointer, handle, flags);
}
KGPU_STAND_IN cuIpcCloseMemHandle(cu::DevicePointer pointer) {
  return CloseHandle(pointer);
}

// The whole of it, whatever part is mapped.
KGPU_STAND_IN cuImportExternalMemory(cu::ExternalMemory* memory,
                                     const cu::ExternalMemoryDescription* description) {
  const uint64_t size = description == nullptr ? 0 : description->size;
  return Allocate(CurrentAccount(), Kind::kExternal, size, CurrentContext(), [&](uint64_t* key) {
    const Result result =
        KGPU_CALL_REAL(ImportExternalMemoryFn, cuImportExternalMemory, memory, description);
    *key = result == cu::kSuccess ? reinterpret_cast<uint64_t>(*memory) : 0;
    return result;
  });
}
KGPU_STAND_IN cuDestroyExternalMemory(cu::ExternalMemory memory) {
  return Free(Kind::kExternal, reinterpret_cast<uint64_t>(memory), [&] {
    return KGPU_CALL_REAL(DestroyExternalMemoryFn, cuDestroyExternalMemory, memory);
  });
}

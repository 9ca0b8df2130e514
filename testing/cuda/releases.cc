// Gives memory back: of one range, and of all that a context has.
#include "testing/cuda/library.h"
#include "testing/cuda/ranges.h"

namespace kgpu::simcuda {

void FreeRange(Range* range) {
  switch (range->kind) {
    case RangeKind::kLinear:
    case RangeKind::kManaged:
    case RangeKind::kHost:
      Remove(&range->context->heap, range->device, range->block);
      break;
    case RangeKind::kPool:
    case RangeKind::kPoolImport:
      FreePoolBlock(*range);
      break;
    case RangeKind::kIpc:
    case RangeKind::kExternal:
      UnmapMemory(range->block.bytes, range->block.size);
      Detach(range->memory);
      break;
    case RangeKind::kMapped:
      UnmapPhysical(*range);
      break;
    case RangeKind::kGraph:
      FreeGraphMemory(*range);
      break;
    case RangeKind::kRegistered:
      break;
  }
  RemoveRange(range);
}

void ReleaseMemory(ContextObject* context) {
  // From the end: what comes after the one that is removed moves.
  for (uint32_t i = Ranges().count; i > 0; --i) {
    if (Ranges().items[i - 1]->context == context) {
      FreeRange(Ranges().items[i - 1]);
    }
  }
}

void* Resolve(const ContextObject* context, uint64_t address, size_t size) {
  const Range* range = FindRange(address);
  if (context == nullptr || range == nullptr || size > range->size - (address - range->start)) {
    return nullptr;
  }
  bool may_use = true;
  switch (range->kind) {
    case RangeKind::kLinear:
    case RangeKind::kIpc:
    case RangeKind::kExternal:
      may_use = range->context == context;
      break;
    case RangeKind::kMapped:
      may_use = ((range->access >> context->ordinal) & 1) != 0;
      break;
    case RangeKind::kPool:
    case RangeKind::kPoolImport:
      may_use = ((PoolAccess(*range->pool) >> context->ordinal) & 1) != 0;
      break;
    default:
      break;
  }
  return may_use ? reinterpret_cast<void*>(address) : nullptr;
}

}  // namespace kgpu::simcuda

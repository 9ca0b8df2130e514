// Memory without an address of its own, and the addresses it is mapped at.
#include <unistd.h>

#include "src/preload/file_tag.h"
#include "src/preload/hook.h"
#include "src/preload/system.h"

namespace cu = kgpu::cuda_api;

// A record of such memory: `uses` counts the handles of this process, `extent` its mappings. The
// driver frees it when there is neither. `is_mine` is 0 for what another process has made. `owner`
// is the name under which it is offered, or claimed.
namespace kgpu::preload {
namespace {

constexpr size_t kFabricHandleSize = 64;  // of CUmemFabricHandle

int AccountOfLocation(const cu::Location& location) {
  if (location.type == cu::kLocationDevice) {
    return AccountOf(location.id);
  }
  const int account = CurrentAccount();
  return account < 0 || IsPinnedCounted(account) ? account : kUnlimited;
}

// Ends the offer or the claim.
void EndName(const Record& record) {
  Account* ledger = record.owner == 0 ? nullptr : LedgerOf(static_cast<int>(record.device));
  if (ledger != nullptr && record.is_mine != 0) {
    ledger->Withdraw(record.owner);
  } else if (ledger != nullptr) {
    ledger->Unclaim(record.owner);
  }
}

// Counts a use or mapping less, before the driver does: as soon as it has freed the memory, the
// handle may be that of something new. A record that has neither any more gets a key of its own,
// with the handle in `extent`. Returns the key. With the lock held.
uint64_t Leave(Process* process, uint64_t handle, bool is_mapping) {
  Record* found =
      handle >= Records::kFirstOrphan ? nullptr : process->records.Find(Kind::kPhysical, handle);
  if (found == nullptr) {
    return handle;
  }
  if (is_mapping) {
    found->extent -= found->extent > 0 ? 1 : 0;
  } else {
    found->uses -= found->uses > 0 ? 1 : 0;
  }
  if (found->uses > 0 || found->extent > 0) {
    return handle;
  }
  Record orphan{};
  (void)process->records.Take(Kind::kPhysical, handle, &orphan);
  orphan.extent = handle;
  orphan.key = Records::kFirstOrphan + process->orphans++;
  (void)process->records.Add(orphan);  // in the place of the other
  return orphan.key;
}

// The driver has freed what has the key of an orphan, and nothing else.
void EndOrphan(Process* process, uint64_t key) {
  Record record{};
  {
    const Guard guard(process->lock);
    if (key < Records::kFirstOrphan || !process->records.Take(Kind::kPhysical, key, &record)) {
      return;
    }
  }
  EndName(record);
  GiveBack(static_cast<int>(record.device), record.size);
}

// The driver has not: the record has its handle again, which is returned. With the lock held.
uint64_t Restore(Process* process, uint64_t key) {
  Record record{};
  if (key < Records::kFirstOrphan || !process->records.Take(Kind::kPhysical, key, &record)) {
    return key;
  }
  record.key = record.extent;
  record.extent = 0;
  (void)process->records.Add(record);
  return record.key;
}

Result Release(cu::AllocationHandle handle) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return KGPU_CALL_REAL(MemReleaseFn, cuMemRelease, handle);
  }
  uint64_t key = 0;
  {
    const Guard guard(process->lock);
    key = Leave(process, handle, false);
  }
  const Result result = KGPU_CALL_REAL(MemReleaseFn, cuMemRelease, handle);
  if (result == cu::kSuccess) {
    EndOrphan(process, key);
    return result;
  }
  const Guard guard(process->lock);
  Record* found = process->records.Find(Kind::kPhysical, Restore(process, key));
  if (found != nullptr) {
    ++found->uses;
  }
  return result;
}

void Retain(uint64_t handle) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return;
  }
  const Guard guard(process->lock);
  Record* found = process->records.Find(Kind::kPhysical, handle);
  if (found != nullptr) {
    ++found->uses;
  }
}

Result Create(cu::AllocationHandle* handle, size_t size, const cu::AllocationProperties* properties,
              uint64_t flags) {
  const int account = properties == nullptr ? kUnlimited : AccountOfLocation(properties->location);
  return Allocate(account, Kind::kPhysical, size, 0, [&](uint64_t* key) {
    const Result result = KGPU_CALL_REAL(MemCreateFn, cuMemCreate, handle, size, properties, flags);
    *key = result == cu::kSuccess ? *handle : 0;
    return result;
  });
}

// Of memory of other processes that came without a tag, the size is known when it is mapped.
Result ChargeImported(uint64_t handle, uint64_t end) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return cu::kOutOfMemory;
  }
  int account = kUnlimited;
  uint64_t missing = 0;
  {
    const Guard guard(process->lock);
    const Record* found = process->records.Find(Kind::kPhysical, handle);
    if (found != nullptr && found->is_mine == 0 && found->owner == 0 && found->size < end) {
      account = static_cast<int>(found->device);
      missing = end - found->size;
    }
  }
  const Result charged = Charge(account, missing);
  if (charged == cu::kSuccess && missing > 0) {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kPhysical, handle);
    if (found != nullptr) {
      found->size += missing;
    }
  }
  return charged;
}

Result Map(cu::DevicePointer pointer, size_t size, size_t offset, cu::AllocationHandle handle,
           uint64_t flags) {
  Result result = ChargeImported(handle, Plus(size, offset));
  if (result != cu::kSuccess) {
    return result;
  }
  result = KGPU_CALL_REAL(MemMapFn, cuMemMap, pointer, size, offset, handle, flags);
  if (result != cu::kSuccess) {
    return result;
  }
  Process* process = CurrentProcess();
  const Guard guard(process->lock);
  Record* found = process->records.Find(Kind::kPhysical, handle);
  if (found != nullptr) {
    ++found->extent;
    // Without memory for the record, the handle stays charged until the process ends.
    (void)process->records.Add({.kind = Kind::kMapping,
                                .device = found->device,
                                .key = pointer,
                                .size = 0,
                                .owner = handle,
                                .extent = size,
                                .uses = 1,
                                .is_mine = 1});
  }
  return result;
}

// The mapping at `*pointer`, which goes on to the next one's; null at the end. With the lock held;
// valid until a record is added or taken.
Record* NextMapping(Process* process, cu::DevicePointer* pointer, cu::DevicePointer end) {
  Record* mapping = *pointer < end ? process->records.Find(Kind::kMapping, *pointer) : nullptr;
  if (mapping == nullptr || mapping->extent == 0) {
    return nullptr;
  }
  *pointer = Plus(*pointer, mapping->extent);
  return mapping;
}

// Brings the mapping's record to `owner`.
void SetOwner(Process* process, cu::DevicePointer pointer, uint64_t owner) {
  Record* mapping = process->records.Find(Kind::kMapping, pointer);
  if (mapping != nullptr) {
    mapping->owner = owner;
  }
}

// Calls `visit(mapping)` with a copy of each mapping of the range, with the lock held.
template <typename Visit>
void ForEachMapping(Process* process, cu::DevicePointer pointer, size_t size, Visit&& visit) {
  const cu::DevicePointer end = Plus(pointer, size);
  const Guard guard(process->lock);
  while (const Record* mapping = NextMapping(process, &pointer, end)) {
    visit(Record{*mapping});
  }
}

// The driver has unmapped the range.
void EndMappings(Process* process, cu::DevicePointer pointer, size_t size) {
  const cu::DevicePointer end = Plus(pointer, size);
  for (;;) {
    Record mapping{};
    {
      const Guard guard(process->lock);
      const Record* found = NextMapping(process, &pointer, end);
      if (found == nullptr) {
        return;
      }
      (void)process->records.Take(Kind::kMapping, found->key, &mapping);
    }
    EndOrphan(process, mapping.owner);
  }
}

// The driver has not.
void RestoreMappings(Process* process, cu::DevicePointer pointer, size_t size) {
  ForEachMapping(process, pointer, size, [&](const Record& mapping) {
    SetOwner(process, mapping.key, Restore(process, mapping.owner));
  });
  ForEachMapping(process, pointer, size, [&](const Record& mapping) {
    Record* found = process->records.Find(Kind::kPhysical, mapping.owner);
    if (found != nullptr) {
      ++found->extent;
    }
  });
}

Result Unmap(cu::DevicePointer pointer, size_t size) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return KGPU_CALL_REAL(MemUnmapFn, cuMemUnmap, pointer, size);
  }
  ForEachMapping(process, pointer, size, [&](const Record& mapping) {
    SetOwner(process, mapping.key, Leave(process, mapping.owner, true));
  });
  const Result result = KGPU_CALL_REAL(MemUnmapFn, cuMemUnmap, pointer, size);
  if (result == cu::kSuccess) {
    EndMappings(process, pointer, size);
  } else {
    RestoreMappings(process, pointer, size);
  }
  return result;
}

// A name that no other memory has.
uint64_t NewName(Process* process) {
  const uint64_t parts[] = {process->orphans++, Nanoseconds(), DayNanoseconds(),
                            static_cast<uint64_t>(getpid()), reinterpret_cast<uint64_t>(process)};
  return MakeTagName(NameOf(parts, sizeof(parts)));
}

// Fabric handles are names by themselves; files get one by a tag.
void Export(cu::AllocationHandle handle, const void* shareable, cu::HandleType type) {
  Process* process = CurrentProcess();
  const bool is_file = type == cu::kHandlePosixFileDescriptor;
  if (process == nullptr || (!is_file && type != cu::kHandleFabric)) {
    return;
  }
  FileTag tag{};
  bool is_new = false;
  int account = kUnlimited;
  {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kPhysical, handle);
    if (found == nullptr || found->is_mine == 0) {
      return;  // who imports it is charged
    }
    account = static_cast<int>(found->device);
    is_new = found->owner == 0;
    if (is_new) {
      found->owner = is_file ? NewName(process) : NameOf(shareable, kFabricHandleSize);
    }
    tag = {.name = found->owner, .size = found->size};
  }
  Account* ledger = is_new ? LedgerOf(account) : nullptr;
  if (ledger != nullptr) {
    ledger->Offer(tag.name, tag.size);
    if (!HasRecord(Kind::kPhysical, handle, tag.name, &Record::owner)) {
      ledger->Withdraw(tag.name);  // another thread has released it meanwhile
    }
  }
  if (is_file) {
    const KeepErrno keep;
    (void)TagFile(*static_cast<const int*>(shareable), tag);
  }
}

FileTag TagOf(const void* from, cu::HandleType type) {
  const KeepErrno keep;
  FileTag tag{};
  if (type == cu::kHandlePosixFileDescriptor) {
    const auto descriptor = static_cast<int>(reinterpret_cast<intptr_t>(from));
    return ReadFileTag(descriptor, &tag) ? tag : FileTag{};
  }
  tag.name = type == cu::kHandleFabric ? NameOf(from, kFabricHandleSize) : 0;
  return tag;
}

// Charges memory that another process has made, unless a live one of this container offers it.
Result AddImported(uint64_t handle, int account, const FileTag& tag) {
  Account* ledger = tag.name == 0 ? nullptr : LedgerOf(account);
  const bool is_claimed = ledger != nullptr && ledger->Claim(tag.name);
  const Record record{.kind = Kind::kPhysical,
                      .device = static_cast<uint32_t>(account),
                      .key = handle,
                      .size = is_claimed ? 0 : tag.size,
                      .owner = is_claimed ? tag.name : 0,
                      .extent = 0,
                      .uses = 1,
                      .is_mine = 0};
  Result result = Begin(account, record.size);
  if (result == cu::kSuccess && Remember(record)) {
    return result;
  }
  if (result == cu::kSuccess) {
    GiveBack(account, record.size);
    result = cu::kOutOfMemory;
  }
  EndName(record);
  return result;
}

Result Import(cu::AllocationHandle* handle, void* from, cu::HandleType type) {
  const Result result = KGPU_CALL_REAL(MemImportFromShareableHandleFn,
                                       cuMemImportFromShareableHandle, handle, from, type);
  if (result != cu::kSuccess) {
    return result;
  }
  auto* get = Helper<cu::MemGetAllocationPropertiesFn>(kMemGetAllocationProperties);
  cu::AllocationProperties properties{};
  const bool has_place = get != nullptr && get(&properties, *handle) == cu::kSuccess;
  const int account = has_place ? AccountOfLocation(properties.location) : CurrentAccount();
  if (account == kUnlimited) {
    return result;
  }
  Process* process = CurrentProcess();
  if (process != nullptr) {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kPhysical, *handle);
    if (found != nullptr) {  // our own, or imported before
      ++found->uses;
      return result;
    }
  }
  const Result added =
      account < 0 ? Charge(account, 0) : AddImported(*handle, account, TagOf(from, type));
  if (added != cu::kSuccess) {
    (void)KGPU_CALL_REAL(MemReleaseFn, cuMemRelease, *handle);
    *handle = 0;
  }
  return added;
}

// CUarrayMapInfo: an array that is mapped piece by piece.
struct ArrayMapInfo {
  uint32_t resource_type;
  uint64_t resource;
  uint32_t subresource_type;
  uint64_t subresource[4];
  uint32_t operation;  // 1: map
  uint32_t handle_type;
  uint64_t handle;
  uint64_t offset;
  uint32_t device_mask;
  uint32_t flags;
  uint32_t reserved[2];
};
static_assert(sizeof(ArrayMapInfo) == 96);

// Nothing says when the last piece of a handle is unmapped: it is charged until the process ends.
Result MapArray(HookId id, ArrayMapInfo* infos, unsigned count, cu::Stream stream) {
  using MapArrayFn = Result(ArrayMapInfo * infos, unsigned count, cu::Stream stream);
  const Result result = CallReal<MapArrayFn>(id, infos, count, stream);
  Process* process = result == cu::kSuccess ? CurrentProcess() : nullptr;
  for (unsigned at = 0; process != nullptr && at < count; ++at) {
    const Guard guard(process->lock);
    Record* found = process->records.Find(Kind::kPhysical, infos[at].handle);
    if (infos[at].operation == 1 && found != nullptr) {
      ++found->extent;
    }
  }
  return result;
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuMemCreate(cu::AllocationHandle* handle, size_t size,
                          const cu::AllocationProperties* properties, uint64_t flags) {
  return Create(handle, size, properties, flags);
}
KGPU_STAND_IN cuMemRelease(cu::AllocationHandle handle) {
  return Release(handle);
}
KGPU_STAND_IN cuMemMap(cu::DevicePointer pointer, size_t size, size_t offset,
                       cu::AllocationHandle handle, uint64_t flags) {
  return Map(pointer, size, offset, handle, flags);
}
KGPU_STAND_IN cuMemUnmap(cu::DevicePointer pointer, size_t size) {
  return Unmap(pointer, size);
}
KGPU_STAND_IN cuMemMapArrayAsync(ArrayMapInfo* infos, unsigned count, cu::Stream stream) {
  return MapArray(k_cuMemMapArrayAsync, infos, count, stream);
}
KGPU_STAND_IN cuMemMapArrayAsync_ptsz(ArrayMapInfo* infos, unsigned count, cu::Stream stream) {
  return MapArray(k_cuMemMapArrayAsync_ptsz, infos, count, stream);
}
KGPU_STAND_IN cuMemExportToShareableHandle(void* shareable, cu::AllocationHandle handle,
                                           cu::HandleType type, uint64_t flags) {
  const Result result = KGPU_CALL_REAL(MemExportToShareableHandleFn, cuMemExportToShareableHandle,
                                       shareable, handle, type, flags);
  if (result == cu::kSuccess) {
    Export(handle, shareable, type);
  }
  return result;
}
KGPU_STAND_IN cuMemImportFromShareableHandle(cu::AllocationHandle* handle, void* from,
                                             cu::HandleType type) {
  return Import(handle, from, type);
}
KGPU_STAND_IN cuMemRetainAllocationHandle(cu::AllocationHandle* handle, void* pointer) {
  const Result result =
      KGPU_CALL_REAL(MemRetainAllocationHandleFn, cuMemRetainAllocationHandle, handle, pointer);
  if (result == cu::kSuccess) {
    Retain(*handle);
  }
  return result;
}

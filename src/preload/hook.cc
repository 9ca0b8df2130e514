#include "src/preload/hook.h"

namespace kgpu::preload {

namespace cu = cuda_api;

Result Begin(int account, uint64_t bytes) {
  if (CurrentProcess() == nullptr) {
    return cu::kOutOfMemory;
  }
  Result charged = ChargeFirstContext(account);
  if (charged == cu::kSuccess) {
    charged = Charge(account, bytes);
  }
  if (charged == cu::kOutOfMemory && account >= 0) {
    // Pools may hold memory that nobody uses.
    TrimPools(account);
    charged = Charge(account, bytes);
  }
  return charged;
}

void End(const Record& record, Result result) {
  if (result != cu::kSuccess) {
    GiveBack(static_cast<int>(record.device), record.size);
    return;
  }
  // Without memory for a record, it stays charged until the process ends: the safe side.
  (void)Remember(record);
}

bool TakeRecord(Kind kind, uint64_t key, Record* record) {
  return TakeFirst({kind, kind}, key, record);
}

bool TakeFirst(const KindPair& kinds, uint64_t key, Record* record) {
  Process* process = key == 0 ? nullptr : CurrentProcess();
  if (process == nullptr) {
    return false;
  }
  const Guard guard(process->lock);
  return process->records.Take(kinds.first, key, record) ||
         (kinds.second != kinds.first && process->records.Take(kinds.second, key, record));
}

void PutBack(const Record& record) {
  (void)Remember(record);
}

bool HasRecord(Kind kind, uint64_t key, uint64_t name, uint64_t Record::* place) {
  Process* process = CurrentProcess();
  const Guard guard(process->lock);
  const Record* found = process->records.Find(kind, key);
  return found != nullptr && found->*place == name;
}

void OfferMemory(Kind kind, uint64_t pointer, uint64_t name) {
  Process* process = CurrentProcess();
  if (process == nullptr) {
    return;
  }
  const uint64_t size = SizeAt(pointer);
  uint64_t before = 0;
  int account = kUnlimited;
  {
    const Guard guard(process->lock);
    Record* found = process->records.Find(kind, pointer);
    if (found == nullptr || found->extent == name) {
      return;  // inside an allocation, or not ours: whoever opens it is charged; or offered already
    }
    before = found->extent;
    found->extent = name;
    account = static_cast<int>(found->device);
  }
  Account* ledger = LedgerOf(account);
  if (ledger != nullptr) {
    ledger->Offer(name, size);
    if (!HasRecord(kind, pointer, name, &Record::extent)) {
      ledger->Withdraw(name);  // another thread has freed it meanwhile
    }
    if (before != 0) {
      ledger->Withdraw(before);
    }
  }
}

Result AddOpened(int account, uint64_t pointer, uint64_t name) {
  if (account == kUnlimited) {
    return cu::kSuccess;
  }
  Account* ledger = LedgerOf(account);
  const bool is_claimed = ledger != nullptr && ledger->Claim(name);
  const uint64_t bytes = is_claimed ? 0 : SizeAt(pointer);
  const Result begun = Begin(account, bytes);
  if (begun != cu::kSuccess) {
    if (is_claimed) {
      ledger->Unclaim(name);
    }
    return begun;
  }
  End({.kind = Kind::kOpened,
       .device = static_cast<uint32_t>(account),
       .key = pointer,
       .size = bytes,
       .owner = CurrentContext(),
       .extent = is_claimed ? name : 0,
       .uses = 1,
       .is_mine = 1},
      cu::kSuccess);
  return cu::kSuccess;
}

namespace {

// Whether `extent` of the record is the name of what others were offered, or what we claim.
bool HasName(const Record& record) {
  const bool may_have =
      record.kind == Kind::kLinear || record.kind == Kind::kPooled || record.kind == Kind::kOpened;
  return may_have && record.extent != 0;
}

}  // namespace

void Settle(const Record& record) {
  Account* ledger = HasName(record) ? LedgerOf(static_cast<int>(record.device)) : nullptr;
  if (ledger != nullptr && record.kind == Kind::kOpened) {
    ledger->Unclaim(record.extent);
  } else if (ledger != nullptr) {
    ledger->Withdraw(record.extent);
  }
  GiveBack(static_cast<int>(record.device), record.size);
}

bool Remember(const Record& record) {
  Process* process = CurrentProcess();
  const Guard guard(process->lock);
  return process->records.Add(record);
}

namespace {

// Whether the record goes with the context.
bool BelongsTo(const Record& record, uint64_t context) {
  switch (record.kind) {
    case Kind::kLinear:
    case Kind::kHost:
    case Kind::kArray:
    case Kind::kOpened:
    case Kind::kExternal:
    case Kind::kReserve:
      return record.owner == context;
    default:
      return false;
  }
}

// Settles memory of the context that other processes were offered, or have offered.
void SettleNamed(Process* process, uint64_t context) {
  constexpr uint32_t kBatch = 32;
  Record named[kBatch];
  uint32_t count = 0;
  do {
    count = 0;
    {
      const Guard guard(process->lock);
      process->records.RemoveIf([&](const Record& record) {
        const bool is_meant = count < kBatch && HasName(record) && BelongsTo(record, context);
        if (is_meant) {
          named[count++] = record;
        }
        return is_meant;
      });
    }
    for (uint32_t at = 0; at < count; ++at) {
      Settle(named[at]);
    }
  } while (count == kBatch);
}

}  // namespace

void ForgetContext(uint64_t context) {
  Process* process = CurrentProcess();
  if (process == nullptr || context == 0) {
    return;
  }
  SettleNamed(process, context);
  uint64_t bytes[kMaxSlots] = {};
  {
    const Guard guard(process->lock);
    process->records.RemoveIf([&](const Record& record) {
      const bool is_its = BelongsTo(record, context);
      bytes[record.device] += is_its ? record.size : 0;
      return is_its;
    });
  }
  for (uint32_t account = 0; account < kMaxSlots; ++account) {
    GiveBack(static_cast<int>(account), bytes[account]);
  }
}

void Adjust(int account, uint64_t before, uint64_t after) {
  after > before ? ChargeAnyway(account, after - before) : GiveBack(account, before - after);
}

uint64_t NameOf(const void* bytes, size_t size) {
  uint64_t name = 0xcbf29ce484222325;
  for (size_t at = 0; at < size; ++at) {
    name = (name ^ static_cast<const unsigned char*>(bytes)[at]) * 0x100000001b3;
  }
  return name | 1;
}

uint64_t SizeAt(uint64_t pointer) {
  auto* get = Helper<cu::MemGetAddressRangeFn>(kMemGetAddressRange);
  cu::DevicePointer base = 0;
  size_t size = 0;
  return get != nullptr && get(&base, &size, pointer) == cu::kSuccess ? size : 0;
}

uint64_t Times(uint64_t one, uint64_t other) {
  uint64_t product = 0;
  return __builtin_mul_overflow(one, other, &product) ? UINT64_MAX : product;
}

uint64_t Plus(uint64_t one, uint64_t other) {
  uint64_t sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? UINT64_MAX : sum;
}

uint64_t RoundUp(uint64_t value, uint64_t step) {
  const uint64_t sum = Plus(value, step - 1);
  return sum == UINT64_MAX ? sum : sum / step * step;
}

}  // namespace kgpu::preload

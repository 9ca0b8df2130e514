// What all stand-ins share: charge, call the driver, remember; or call the driver, give back.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "src/gpu/cuda_abi/functions.h"
#include "src/preload/driver.h"
#include "src/preload/records.h"
#include "src/preload/share.h"

// A function that takes the place of the driver's. Its result is the driver's, or kOutOfMemory over
// the limit, kNotPermitted without limits that can be relied on.
#define KGPU_STAND_IN extern "C" __attribute__((visibility("default"))) kgpu::cuda_api::Result

// Calls the real function `name` of type `Fn`, or returns from the stand-in if there is none.
#define KGPU_CALL_REAL(Fn, name, ...) \
  kgpu::preload::CallReal<kgpu::cuda_api::Fn>(kgpu::preload::k_##name, ##__VA_ARGS__)

namespace kgpu::preload {

template <typename Fn, typename... Args>
Result CallReal(HookId id, Args... args) {
  Fn* function = Real<Fn>(id);
  return function == nullptr ? cuda_api::kNotInitialized : function(args...);
}

// Charges `bytes`; kSuccess when the driver may be called.
Result Begin(int account, uint64_t bytes);
// Afterwards: remembers the record if the driver's `result` is a success, else gives back.
void End(const Record& record, Result result);

// `call(uint64_t* key)` is the driver's part of an allocation.
template <typename Call>
Result Allocate(int account, Kind kind, uint64_t bytes, uint64_t owner, Call&& call) {
  uint64_t key = 0;
  if (account == kUnlimited) {
    return call(&key);
  }
  const Result begun = Begin(account, bytes);
  if (begun != cuda_api::kSuccess) {
    return begun;
  }
  const Result result = call(&key);
  End({.kind = kind,
       .device = static_cast<uint32_t>(account),
       .key = key,
       .size = bytes,
       .owner = owner,
       .extent = 0,
       .uses = 1,
       .is_mine = 1},
      result);
  return result;
}

// Removes the record, if there is one, until it is clear whether the driver frees the memory.
bool TakeRecord(Kind kind, uint64_t key, Record* record);
// The same for one of two kinds.
struct KindPair {
  Kind first;
  Kind second;
};
bool TakeFirst(const KindPair& kinds, uint64_t key, Record* record);
void PutBack(const Record& record);  // it does not
void Settle(const Record& record);   // it does: gives back

// `call()` is the driver's part.
template <typename Call>
Result Free(Kind kind, uint64_t key, Call&& call) {
  Record record{};
  const bool is_ours = TakeRecord(kind, key, &record);
  const Result result = call();
  if (is_ours) {
    result == cuda_api::kSuccess ? Settle(record) : PutBack(record);
  }
  return result;
}

// Offers the memory at `pointer`, which has a record of `kind`, to other processes: they do not pay
// for it as long as we do. Settle withdraws the offer.
void OfferMemory(Kind kind, uint64_t pointer, uint64_t name);

// Whether there is a record of that kind whose `place` has the name.
bool HasRecord(Kind kind, uint64_t key, uint64_t name, uint64_t Record::* place);

// Another process's memory was opened at `pointer`; `name` is what its maker offers it under. It is
// claimed if a live process of this container offers it, and so pays, else charged. After an error
// the caller closes it.
Result AddOpened(int account, uint64_t pointer, uint64_t name);

// Adds a record that is charged already; false without memory for it.
bool Remember(const Record& record);
// Forgets everything that belonged to a context, and gives it back.
void ForgetContext(uint64_t context);

// Rounds up; the largest number if that is too large.
uint64_t RoundUp(uint64_t value, uint64_t step);
// Products and sums that stop at the largest number, which is over every limit.
uint64_t Times(uint64_t one, uint64_t other);
uint64_t Plus(uint64_t one, uint64_t other);

// Brings the ledger from `before` to `after` bytes, even over the limit.
void Adjust(int account, uint64_t before, uint64_t after);
// A name for an offer to other processes, never 0.
uint64_t NameOf(const void* bytes, size_t size);
// Bytes of the allocation that `pointer` is in; 0 if the driver does not say.
uint64_t SizeAt(uint64_t pointer);

// Memory of pools may have gone back to the driver: the next call of Refresh looks.
void NotePoolChange();
// Brings what pools and graphs are charged in line with what they hold. Does nothing without a
// change.
void RefreshPools();
// The same at once, with unused memory returned to the driver first.
void TrimPools(int account);

}  // namespace kgpu::preload

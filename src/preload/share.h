// What this process may use, and what it has been charged: the state behind all stand-ins.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"
#include "src/preload/account.h"
#include "src/preload/gates.h"
#include "src/preload/limits.h"
#include "src/preload/lock.h"
#include "src/preload/records.h"
#include "src/preload/slot_names.h"

namespace kgpu::preload {

using cuda_api::Result;

inline constexpr uint32_t kMaxOrdinals = 64;

// Index of an account instead of one.
inline constexpr int kUnlimited = -1;  // a GPU that this container has by other means than a slot
inline constexpr int kRefused = -2;    // the limits cannot be read: nothing may be allocated

// One GPU of the container's slots. Several slots of one GPU add up; the first one's ledger counts.
struct DeviceLimit {
  Limits limits;
  char slot[kMaxSlotName];  // its folder
  bool is_ledger_reported;
};

// Of a process; a fork starts a new one.
struct Process {
  uint32_t is_used;
  int32_t pid;
  Mutex lock;  // guards what follows, except the accounts, which have their ledgers' locks
  Records records;
  Mutex opening;
  Account accounts[kMaxSlots];
  int32_t accounts_of[kMaxOrdinals];    // of CUDA's devices: index + 3, 0 before it is looked up
  uint32_t contexts[kMaxSlots];         // that are charged
  uint64_t primary[kMaxOrdinals];       // the primary context while it is charged
  uint64_t graph_memory[kMaxOrdinals];  // bytes that graphs are charged for
  bool has_found_context[kMaxSlots];    // charged by ChargeFirstContext
  uint64_t orphans;                     // see Records::kFirstOrphan
  bool has_pool_changes;                // memory may have gone back to the driver
  bool has_graph_memory;                // some graph allocates
  GateState gates[kMaxSlots];           // each has its own lock
};

// Null when there is no memory for it.
Process* CurrentProcess();

// How many limits there are, and whether they can be relied on; read once, a problem is reported.
uint32_t LimitCount();
DeviceLimit& LimitOf(int account);
bool MayCallUnknown();
// Reports, once, a function or table of the driver that we do not know; returns whether it may be
// used all the same.
bool MayUseUnknown(const char* what, const char* name);
// The account of a GPU or MIG device by its UUID's text; kUnlimited or kRefused.
int AccountOfUuid(const char* uuid);

// The account that CUDA's device, or that of the current context, is charged to. Without a context
// it is the first one: the driver will refuse the call, or takes its device from a stream.
int AccountOf(cuda_api::Device device);
int CurrentAccount();
// The CUDA device of the current context, -1 without one.
cuda_api::Device CurrentDevice();
// The current context as a number, 0 without one.
uint64_t CurrentContext();

// Charges, and says why it may not be: kOutOfMemory over the limit, kNotPermitted with broken
// limits or ledger. Nothing is done for kUnlimited.
Result Charge(int account, uint64_t bytes);
void ChargeAnyway(int account, uint64_t bytes);
void GiveBack(int account, uint64_t bytes);
// Bytes that the container uses of it.
uint64_t UsedOf(int account);
// The open ledger, or null.
Account* LedgerOf(int account);

// Charges the cost of a context, if this process has none on the device yet: contexts can be made
// in ways that we do not know.
Result ChargeFirstContext(int account);
// Whether such a charge was made and not yet taken for a context that we have learnt of since.
bool TakeFoundContext(int account);
Result ChargeContext(int account);
void GiveBackContext(int account);

// Whether memory of the host counts on this account.
bool IsPinnedCounted(int account);

}  // namespace kgpu::preload

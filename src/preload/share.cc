#include "src/preload/share.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "src/gpu/cuda_abi/functions.h"
#include "src/preload/driver.h"
#include "src/preload/system.h"
#include "src/preload/text.h"

#ifndef KGPU_SHARE_SLOTS
#error "KGPU_SHARE_SLOTS names the folder of the slots"
#endif

namespace kgpu::preload {
namespace {

namespace cu = cuda_api;

enum ConfigurationState : uint32_t { kNotRead = 0, kReading = 1, kRead = 2 };

// Read once: the files are mounted read-only for the life of the container.
struct Configuration {
  uint32_t state;
  uint32_t count;
  bool is_broken;
  bool may_call_unknown;
  DeviceLimit devices[kMaxSlots];
};

Configuration& TheConfiguration() {
  static constinit Configuration configuration{};
  return configuration;
}

constexpr int kMaxWaits = 5000;  // of a millisecond

struct ProcessState {
  Process* process;
  bool has_no_wipe;  // Linux before 4.14: a fork is noticed by the process's number
};

ProcessState& TheProcess() {
  static constinit ProcessState state{};
  return state;
}

Line SlotPath(const char* slot, const char* name) {
  Line path;
  path.Add(KGPU_SHARE_SLOTS "/").Add(slot).Add("/").Add(name);
  return path;
}

// Why a ledger is out of reach, with the fix.
const char* CauseOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "it is missing: the agent mounts it with the slot";
    case EACCES:
    case EPERM:
      return "its mode, owner or label refuses this user: the agent sets them within a minute";
    case EROFS:
      return "it is mounted read-only: the agent mounts it writable";
    case EMFILE:
      return "this process has no descriptor left: raise ulimit -n";
    case ENFILE:
      return "the machine has no descriptor left: raise fs.file-max";
    case ENOMEM:
    case EAGAIN:
      return "this process has no address space left: raise ulimit -v or -l";
    case ENOSPC:
    case EDQUOT:
      return "its disk is full";
    case EFBIG:
      return "files of this process may not be that long: raise ulimit -f";
    case ELOOP:
    case EISDIR:
    case ENXIO:
      return "it is not a file: start the container again, so that the agent's is mounted";
    default:
      return "see errno(3)";
  }
}

DeviceLimit* FindLimit(Configuration* configuration, const char* device) {
  for (uint32_t at = 0; at < configuration->count; ++at) {
    if (Equal(configuration->devices[at].limits.device, device)) {
      return &configuration->devices[at];
    }
  }
  return nullptr;
}

void AddLimits(Configuration* configuration, const Limits& limits, const char* slot) {
  configuration->may_call_unknown =
      (configuration->count == 0 || configuration->may_call_unknown) && limits.may_call_unknown;
  DeviceLimit* known = FindLimit(configuration, limits.device);
  if (known != nullptr) {
    known->limits.memory += limits.memory;
    known->limits.is_pinned_counted |= limits.is_pinned_counted;
    known->limits.compute += limits.compute;
    return;
  }
  DeviceLimit& added = configuration->devices[configuration->count++];
  added.limits = limits;
  for (size_t at = 0; at <= Length(slot); ++at) {
    added.slot[at] = slot[at];
  }
}

// `error`: the errno, 0 if there is none.
Line Explained(const char* path, const char* problem, int error) {
  Line line;
  line.Add(path).Add(": ").Add(problem);
  if (error != 0) {
    line.Add(" (errno ").Add(static_cast<uint64_t>(error)).Add("): ").Add(CauseOf(error));
  }
  return line.Add("; no GPU memory is allocated");
}

void Break(Configuration* configuration, const char* path, const char* problem, int error) {
  configuration->is_broken = true;
  Explained(path, problem, error).Say();
}

void ReadConfiguration(Configuration* configuration) {
  static char text[kMaxLimitsSize + 1];
  static char names[kMaxSlots][kMaxSlotName];
  const int count = ListSlots(KGPU_SHARE_SLOTS, names);
  if (count <= 0 || count > static_cast<int>(kMaxSlots)) {
    Break(configuration, KGPU_SHARE_SLOTS,
          count > 0    ? "has more than 32 slots"
          : count == 0 ? "has no slot: the agent mounts it with them"
                       : "cannot be read",
          count < 0 ? errno : 0);
    return;
  }
  for (int slot = 0; slot < count; ++slot) {
    const Line path = SlotPath(names[slot], "limits");
    const int64_t size = ReadFile(path.text(), text, sizeof(text));
    const int error = size < 0 ? errno : 0;
    Limits limits;
    const char* problem =
        size < 0 ? "cannot be read" : ParseLimits(text, static_cast<size_t>(size), &limits);
    if (problem != nullptr) {
      Break(configuration, path.text(), problem, error);
      return;
    }
    AddLimits(configuration, limits, names[slot]);
  }
  for (uint32_t at = 0; at < configuration->count; ++at) {
    const DeviceLimit& limit = configuration->devices[at];
    if (limit.limits.compute > 0) {
      AddGate(static_cast<int>(at), limit.limits.compute < 100 ? limit.limits.compute : 100,
              SlotPath(limit.slot, "gate").text());
    }
  }
}

Configuration& GetConfiguration() {
  Configuration& it = TheConfiguration();
  if (__atomic_load_n(&it.state, __ATOMIC_ACQUIRE) == kRead) {
    return it;
  }
  uint32_t seen = kNotRead;
  if (__atomic_compare_exchange_n(&it.state, &seen, kReading, false, __ATOMIC_ACQUIRE,
                                  __ATOMIC_ACQUIRE)) {
    ReadConfiguration(&it);
    __atomic_store_n(&it.state, kRead, __ATOMIC_RELEASE);
  }
  // The child of a fork in the middle of this waits for nobody, and may allocate nothing.
  for (int waits = 0; __atomic_load_n(&it.state, __ATOMIC_ACQUIRE) != kRead; ++waits) {
    FutexWait(&it.state, kReading, 1, false);
    if (waits == kMaxWaits) {
      __atomic_store_n(&it.is_broken, true, __ATOMIC_RELAXED);
      __atomic_store_n(&it.state, kRead, __ATOMIC_RELEASE);
    }
  }
  return it;
}

int32_t Pid() {
  return static_cast<int32_t>(syscall(SYS_getpid));
}

Process* MakeProcess() {
  auto* made = static_cast<Process*>(MapMemory(sizeof(Process), true));
  if (made == nullptr) {
    made = static_cast<Process*>(MapMemory(sizeof(Process), false));
    __atomic_store_n(&TheProcess().has_no_wipe, true, __ATOMIC_RELAXED);
  }
  Process* seen = nullptr;
  if (made != nullptr && !__atomic_compare_exchange_n(&TheProcess().process, &seen, made, false,
                                                      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    UnmapMemory(made, sizeof(Process));
    return seen;
  }
  return made;
}

// The letters of a UUID after "GPU-" or "MIG-".
void PrintUuid(const cu::Uuid& uuid, char* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int at = 0; at < 16; ++at) {
    if (at == 4 || at == 6 || at == 8 || at == 10) {
      *text++ = '-';
    }
    *text++ = kDigits[uuid.bytes[at] >> 4];
    *text++ = kDigits[uuid.bytes[at] & 15];
  }
  *text = '\0';
}

const char* AfterPrefix(const char* uuid) {
  return StartsWith(uuid, "GPU-") || StartsWith(uuid, "MIG-") ? uuid + 4 : uuid;
}

// v2 tells MIG devices from their GPU.
int LookUp(cu::Device device, bool* is_final) {
  auto* get = Helper<cu::DeviceGetUuidFn>(kDeviceGetUuidV2);
  get = get != nullptr ? get : Helper<cu::DeviceGetUuidFn>(kDeviceGetUuid);
  cu::Uuid uuid{};
  if (get == nullptr) {
    return kRefused;
  }
  const Result result = get(&uuid, device);
  if (result != cu::kSuccess) {
    // The driver will refuse whatever the caller asks for next.
    const bool is_harmless = result == cu::kNotInitialized || result == cu::kDeinitialized ||
                             result == cu::kInvalidDevice;
    *is_final = !is_harmless;
    return is_harmless && LimitCount() > 0 ? kUnlimited : kRefused;
  }
  char text[40];
  PrintUuid(uuid, text);
  return AccountOfUuid(text);
}

}  // namespace

Process* CurrentProcess() {
  Process* process = __atomic_load_n(&TheProcess().process, __ATOMIC_ACQUIRE);
  if (process == nullptr) {
    process = MakeProcess();
  }
  if (process != nullptr && __atomic_load_n(&TheProcess().has_no_wipe, __ATOMIC_RELAXED)) {
    const int32_t pid = Pid();
    if (process->pid != 0 && process->pid != pid) {
      process = static_cast<Process*>(MapMemory(sizeof(Process), false));
      __atomic_store_n(&TheProcess().process, process, __ATOMIC_RELEASE);
    }
    if (process != nullptr) {
      process->pid = pid;
    }
  }
  return process;
}

uint32_t LimitCount() {
  const Configuration& configuration = GetConfiguration();
  return configuration.is_broken ? 0 : configuration.count;
}

DeviceLimit& LimitOf(int account) {
  return TheConfiguration().devices[account];
}

bool MayCallUnknown() {
  const Configuration& configuration = GetConfiguration();
  return !configuration.is_broken && configuration.may_call_unknown;
}

bool MayUseUnknown(const char* what, const char* name) {
  static bool said;
  const bool may_call = MayCallUnknown();
  SayOnce(&said, Line().Add(what).Add(" ").Add(name).Add(
                     may_call ? " is unknown: what it allocates is not counted; update kgpu"
                              : " is unknown and refused: update kgpu, or have the limits say "
                                "\"unknown flag\""));
  return may_call;
}

int AccountOfUuid(const char* uuid) {
  Configuration& configuration = GetConfiguration();
  if (configuration.is_broken || configuration.count == 0) {
    return kRefused;
  }
  for (uint32_t at = 0; at < configuration.count; ++at) {
    if (Equal(AfterPrefix(configuration.devices[at].limits.device), AfterPrefix(uuid))) {
      return static_cast<int>(at);
    }
  }
  static bool said;
  SayOnce(&said, Line().Add("GPU ").Add(uuid).Add(" has no slot in this container: not limited"));
  return kUnlimited;
}

int AccountOf(cu::Device device) {
  Process* process = CurrentProcess();
  if (process == nullptr || device < 0 || device >= static_cast<int>(kMaxOrdinals)) {
    return kRefused;
  }
  int32_t found = __atomic_load_n(&process->accounts_of[device], __ATOMIC_RELAXED);
  if (found == 0) {
    bool is_final = true;
    found = LookUp(device, &is_final) + 3;
    __atomic_store_n(&process->accounts_of[device], is_final ? found : 0, __ATOMIC_RELAXED);
  }
  return found - 3;
}

cu::Device CurrentDevice() {
  auto* get = Helper<cu::CtxGetDeviceFn>(kCtxGetDevice);
  cu::Device device = -1;
  return get != nullptr && get(&device) == cu::kSuccess ? device : -1;
}

int CurrentAccount() {
  const cu::Device device = CurrentDevice();
  if (device < 0) {
    return LimitCount() == 0 ? kRefused : 0;
  }
  return AccountOf(device);
}

uint64_t CurrentContext() {
  auto* get = Helper<cu::CtxGetCurrentFn>(kCtxGetCurrent);
  cu::Context context = nullptr;
  return get != nullptr && get(&context) == cu::kSuccess ? reinterpret_cast<uint64_t>(context) : 0;
}

Account* LedgerOf(int account) {
  Process* process = CurrentProcess();
  if (process == nullptr || account < 0) {
    return nullptr;
  }
  Account& found = process->accounts[account];
  if (found.is_open()) {
    return &found;
  }
  const KeepErrno keep;
  const Guard guard(process->opening);
  if (found.is_open()) {
    return &found;
  }
  DeviceLimit& limit = LimitOf(account);
  const Line path = SlotPath(limit.slot, "ledger");
  int error = 0;
  const char* problem = found.Open(path.text(), limit.limits.memory, &error);
  if (problem != nullptr) {
    SayOnce(&limit.is_ledger_reported, Explained(path.text(), problem, error));
    return nullptr;
  }
  return &found;
}

Result Charge(int account, uint64_t bytes) {
  if (account == kUnlimited || (bytes == 0 && account != kRefused)) {
    return cu::kSuccess;
  }
  Account* ledger = LedgerOf(account);
  if (ledger == nullptr) {
    return cu::kNotPermitted;
  }
  switch (ledger->Charge(bytes)) {
    case Account::kCharged:
      return cu::kSuccess;
    case Account::kOverLimit:
      return cu::kOutOfMemory;
    case Account::kBroken:
      break;
  }
  return cu::kNotPermitted;
}

void ChargeAnyway(int account, uint64_t bytes) {
  Account* ledger = bytes == 0 ? nullptr : LedgerOf(account);
  if (ledger != nullptr) {
    ledger->ChargeAnyway(bytes);
  }
}

void GiveBack(int account, uint64_t bytes) {
  Account* ledger = bytes == 0 ? nullptr : LedgerOf(account);
  if (ledger != nullptr) {
    ledger->GiveBack(bytes);
  }
}

uint64_t UsedOf(int account) {
  Account* ledger = LedgerOf(account);
  return ledger == nullptr ? LimitOf(account).limits.memory : ledger->Used();
}

Result ChargeContext(int account) {
  const Result charged =
      account >= 0 ? Charge(account, LimitOf(account).limits.context) : Charge(account, 0);
  if (charged == cu::kSuccess && account >= 0) {
    __atomic_fetch_add(&CurrentProcess()->contexts[account], 1, __ATOMIC_RELAXED);
  }
  return charged;
}

Result ChargeFirstContext(int account) {
  const bool has_none =
      account >= 0 && __atomic_load_n(&CurrentProcess()->contexts[account], __ATOMIC_RELAXED) == 0;
  if (!has_none) {
    return cu::kSuccess;
  }
  const Result charged = ChargeContext(account);
  if (charged == cu::kSuccess) {
    __atomic_store_n(&CurrentProcess()->has_found_context[account], true, __ATOMIC_RELAXED);
  }
  return charged;
}

bool TakeFoundContext(int account) {
  return account >= 0 && __atomic_exchange_n(&CurrentProcess()->has_found_context[account], false,
                                             __ATOMIC_RELAXED);
}

void GiveBackContext(int account) {
  if (account < 0) {
    return;
  }
  uint32_t* contexts = &CurrentProcess()->contexts[account];
  uint32_t seen = __atomic_load_n(contexts, __ATOMIC_RELAXED);
  while (seen > 0 && !__atomic_compare_exchange_n(contexts, &seen, seen - 1, false,
                                                  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
  if (seen > 0) {
    GiveBack(account, LimitOf(account).limits.context);
  }
}

bool IsPinnedCounted(int account) {
  return account >= 0 && LimitOf(account).limits.is_pinned_counted;
}

}  // namespace kgpu::preload

// Events: sets of registrations, and waiting for what happens to registered GPUs.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "testing/driver/libnvidia_ml/call.h"
#include "testing/driver/protocol.h"

namespace kgpu::sim {

using nvml::EventSet;
using nvml::kErrorNotSupported;
using nvml::kErrorTimeout;
using nvml::kErrorUnknown;
using nvml::kSuccess;

namespace {

// The object to which clients hold a pointer.
struct Registrations {
  uint64_t magic;
  pthread_mutex_t mutex;         // guards all below; not held while waiting
  int socket;                    // of its own, so that several threads can wait on several sets
  uint64_t cursor;               // sequence of the last event looked at
  uint64_t types[kMaxGpus];      // registered nvmlEventType* bits of the GPU in each slot
  uint64_t since[kMaxGpus];      // events up to this sequence are older than the registration
  bool lost_reported[kMaxGpus];  // the loss of the GPU has been returned
};

constexpr uint64_t kMagic = 0x7465737465766b67ULL;
constexpr int kLookAgainMs = 1000;  // should word of a change get lost

class SetLock {
 public:
  explicit SetLock(Registrations* set) : set_(set) { pthread_mutex_lock(&set_->mutex); }
  ~SetLock() { pthread_mutex_unlock(&set_->mutex); }
  SetLock(const SetLock&) = delete;
  SetLock& operator=(const SetLock&) = delete;

 private:
  Registrations* set_;
};

// The set behind a handle, or null if the handle is not one of ours.
Registrations* FromHandle(EventSet handle) {
  auto* set = reinterpret_cast<Registrations*>(handle);
  return set != nullptr && set->magic == kMagic ? set : nullptr;
}

}  // namespace

KGPU_NVML nvmlEventSetCreate(EventSet* set) {
  char root[PATH_MAX];
  Return result = SystemCall("nvmlEventSetCreate", set != nullptr,
                             [&](const Session& session, const SimState&) {
                               memcpy(root, session.root, sizeof(root));
                               return kSuccess;
                             });
  if (result != kSuccess) {
    return result;
  }
  auto* created = static_cast<Registrations*>(calloc(1, sizeof(Registrations)));
  if (created == nullptr) {
    return nvml::kErrorMemory;
  }
  created->socket = Connect(root, nullptr);
  if (created->socket < 0) {
    free(created);
    return kErrorUnknown;
  }
  created->magic = kMagic;
  pthread_mutex_init(&created->mutex, nullptr);
  *set = reinterpret_cast<EventSet>(created);
  return kSuccess;
}

KGPU_NVML nvmlEventSetFree(EventSet handle) {
  Registrations* set = FromHandle(handle);
  Return result = SystemCall("nvmlEventSetFree", set != nullptr,
                             [](const Session&, const SimState&) { return kSuccess; });
  if (set == nullptr) {
    return result;
  }
  set->magic = 0;
  close(set->socket);
  pthread_mutex_destroy(&set->mutex);
  free(set);
  return kSuccess;
}

KGPU_NVML nvmlDeviceGetSupportedEventTypes(Device device, uint64_t* types) {
  return GetValue("nvmlDeviceGetSupportedEventTypes", device, types,
                  [](const SimGpu& gpu) { return gpu.supported_events; });
}

namespace {

// Tells the server what to wake this set for: all that any of its GPUs is registered for.
bool Subscribe(Registrations* set) {
  SubscribePayload wanted{};
  for (uint32_t slot = 0; slot < kMaxGpus; ++slot) {
    if (set->types[slot] != 0) {
      wanted.gpu_mask |= uint64_t{1} << slot;
      wanted.event_types |= set->types[slot];
    }
  }
  return SendFrame(set->socket, kSubscribe, &wanted, sizeof(wanted));
}

}  // namespace

// Registering again adds types, as with the real library.
KGPU_NVML nvmlDeviceRegisterEvents(Device device, uint64_t types, EventSet handle) {
  Registrations* set = FromHandle(handle);
  Target target;
  Return result = CheckArguments(set != nullptr, device, target);
  if (result != kSuccess) {
    return result;
  }
  uint64_t newest = 0;
  result =
      SlotCall("nvmlDeviceRegisterEvents", target.slot, [&](const Session&, const SimState& state) {
        uint64_t supported = state.gpus[target.slot].supported_events;
        bool is_supported = supported != kUnsupported64 && (types & ~supported) == 0;
        if (target.is_mig || !is_supported) {
          return kErrorNotSupported;
        }
        newest = state.event_count;
        return kSuccess;
      });
  if (result != kSuccess || types == 0) {
    return result;
  }
  SetLock lock(set);
  bool is_first = true;
  for (uint64_t registered : set->types) {
    is_first = is_first && registered == 0;
  }
  if (is_first) {
    set->cursor = newest;
  }
  if (set->types[target.slot] == 0) {
    set->since[target.slot] = newest;
  }
  set->types[target.slot] |= types;
  return Subscribe(set) ? kSuccess : kErrorUnknown;
}

namespace {

bool IsWanted(Registrations* set, const SimEvent& event) {
  return event.gpu < kMaxGpus && (set->types[event.gpu] & event.type) != 0 &&
         event.sequence > set->since[event.gpu];
}

// The oldest event that the set wants. Events that fell out of the ring are lost, as in a driver
// whose queue overflows. With the set's lock held; nothing changes but `cursor` and `event`.
bool NextEvent(Registrations* set, const SimState& state, uint64_t& cursor, SimEvent& event) {
  uint64_t newest = state.event_count;
  cursor = set->cursor;
  if (newest > kMaxEvents && cursor < newest - kMaxEvents) {
    cursor = newest - kMaxEvents;
  }
  while (cursor < newest) {
    event = state.events[cursor % kMaxEvents];
    ++cursor;
    if (IsWanted(set, event)) {
      return true;
    }
  }
  return false;
}

// A registered GPU is gone and the caller does not know yet: reported once for each loss.
bool IsNewlyLost(Registrations* set, const SimState& state, bool (&reported)[kMaxGpus]) {
  bool is_event = false;
  for (uint32_t slot = 0; slot < kMaxGpus; ++slot) {
    reported[slot] = false;
    if (set->types[slot] == 0) {
      continue;
    }
    reported[slot] = state.gpus[slot].is_lost != 0 || state.gpus[slot].is_present == 0;
    is_event = is_event || (reported[slot] && !set->lost_reported[slot]);
  }
  return is_event;
}

struct Look {
  bool has_event = false;
  SimEvent event{};
};

// One look at the state: an event, a loss, or kErrorTimeout for nothing yet.
Return LookOnce(Registrations* set, Look& look) {
  SessionRef session;
  if (!session) {
    return nvml::kErrorUninitialized;
  }
  SetLock lock(set);
  uint64_t cursor = 0;
  bool reported[kMaxGpus];
  Return result = ReadState(*session->shared.state, [&](const SimState& state) {
    Return checked = CheckDriver(*session, state);
    if (checked != kSuccess) {
      return checked;
    }
    look.has_event = NextEvent(set, state, cursor, look.event);
    if (look.has_event) {
      memcpy(reported, set->lost_reported, sizeof(reported));
      return kSuccess;
    }
    return IsNewlyLost(set, state, reported) ? nvml::kErrorGpuIsLost : kErrorTimeout;
  });
  if (result == kSuccess || result == kErrorTimeout || result == nvml::kErrorGpuIsLost) {
    set->cursor = cursor;
    memcpy(set->lost_reported, reported, sizeof(reported));
  }
  return result;
}

uint64_t MonotonicMs() {
  timespec now{};
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1'000'000;
}

// Sleeps until the server says something, at most `limit_ms`. False: the server is gone.
bool WaitForServer(int socket, uint64_t limit_ms) {
  pollfd wait{.fd = socket, .events = POLLIN, .revents = 0};
  int slice = limit_ms < kLookAgainMs ? static_cast<int>(limit_ms) : kLookAgainMs;
  int ready = poll(&wait, 1, slice);
  return ready <= 0 || !Drain(socket);
}

Return WaitForEvent(Registrations* set, uint32_t timeout_ms, SimEvent& event) {
  Return result = SystemCall("nvmlEventSetWait", set != nullptr,
                             [](const Session&, const SimState&) { return kSuccess; });
  if (result != kSuccess) {
    return result;
  }
  uint64_t start = MonotonicMs();
  for (;;) {
    Look look;
    result = LookOnce(set, look);
    event = look.event;
    if (result != kErrorTimeout) {
      return result;
    }
    uint64_t passed = MonotonicMs() - start;
    if (passed >= timeout_ms) {
      return kErrorTimeout;
    }
    if (!WaitForServer(set->socket, timeout_ms - passed)) {
      return kErrorUnknown;
    }
  }
}

}  // namespace

KGPU_NVML nvmlEventSetWait_v2(EventSet handle, nvml::EventData* data, uint32_t timeout_ms) {
  SimEvent event{};
  Return result = WaitForEvent(data != nullptr ? FromHandle(handle) : nullptr, timeout_ms, event);
  if (result == kSuccess && data != nullptr) {
    *data = {.device = GpuHandle(event.gpu),
             .event_type = event.type,
             .event_data = event.data,
             .gpu_instance_id = event.gpu_instance,
             .compute_instance_id = event.compute_instance};
  }
  return result;
}

KGPU_NVML nvmlEventSetWait(EventSet handle, nvml::EventDataV1* data, uint32_t timeout_ms) {
  SimEvent event{};
  Return result = WaitForEvent(data != nullptr ? FromHandle(handle) : nullptr, timeout_ms, event);
  if (result == kSuccess && data != nullptr) {
    *data = {.device = GpuHandle(event.gpu), .event_type = event.type, .event_data = event.data};
  }
  return result;
}

}  // namespace kgpu::sim

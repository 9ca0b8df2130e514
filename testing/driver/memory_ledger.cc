#include "testing/driver/memory_ledger.h"

#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace kgpu::sim {
namespace {

const SimMigProfile* ProfileOf(const SimMig& mig, uint32_t gpu_instance) {
  if (gpu_instance >= kMaxGpuInstances || mig.instances[gpu_instance].exists == 0) {
    return nullptr;
  }
  const uint32_t id = mig.instances[gpu_instance].profile_id;
  const SimMigProfile* end = mig.profiles + std::min(mig.profile_count, kMaxMigProfiles);
  const SimMigProfile* found = std::find_if(
      mig.profiles, end, [&](const SimMigProfile& profile) { return profile.id == id; });
  return found == end ? nullptr : found;
}

bool HasPlace(const SimState& state, uint32_t slot, uint32_t incarnation, uint32_t gpu_instance) {
  if (slot >= std::min(state.gpu_count, kMaxGpus)) {
    return false;
  }
  const SimGpu& gpu = state.gpus[slot];
  if (gpu.is_present == 0 || gpu.incarnation != incarnation) {
    return false;
  }
  const bool is_mig = gpu.mig.is_capable != 0 && gpu.mig.mode != 0;
  return is_mig ? ProfileOf(gpu.mig, gpu_instance) != nullptr : gpu_instance == kUnsupported;
}

// Handles of an earlier server must not fit; nothing more depends on it.
uint64_t RandomKey() {
  uint64_t key = 0;
  return getrandom(&key, sizeof(key), GRND_NONBLOCK) == sizeof(key) ? key : 0;
}

// Sparse: costs what somebody writes to it. A process that gets the descriptor from another one
// knows the object by its name.
UniqueFd MakeMemory(uint64_t id, uint64_t key, uint64_t bytes) {
  const std::string name = fmt::format("kgpu-sim-memory-{}-{}", id, key);
  UniqueFd fd(memfd_create(name.c_str(), MFD_CLOEXEC));
  if (fd.is_valid() && ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    fd = UniqueFd();
  }
  return fd;
}

SimProcess NewEntry(pid_t pid, uint32_t gpu_instance, uint32_t compute_instance,
                    std::string_view name) {
  SimProcess entry = {};
  entry.pid = static_cast<uint32_t>(pid);
  entry.kind = kCompute;
  entry.gpu_instance = gpu_instance;
  entry.compute_instance = compute_instance;
  entry.is_client = 1;
  std::ranges::copy(name.substr(0, sizeof(entry.name) - 1), entry.name);
  return entry;
}

}  // namespace

MemorySpace SpaceOf(const SimGpu& gpu, uint32_t gpu_instance) {
  const bool is_whole = gpu_instance == kUnsupported;
  const SimMigProfile* profile = is_whole ? nullptr : ProfileOf(gpu.mig, gpu_instance);
  MemorySpace space;
  uint64_t used = 0;
  if (is_whole) {
    space.total = gpu.memory_total;
    used = gpu.memory_used + gpu.memory_reserved;
  } else if (profile != nullptr) {
    space.total = profile->memory_mib << 20;
  }
  for (const SimProcess& process : gpu.processes) {
    const bool is_here = is_whole || process.gpu_instance == gpu_instance;
    used += process.pid != 0 && is_here ? process.used_bytes : 0;
  }
  space.free = used < space.total ? space.total - used : 0;
  return space;
}

MemoryLedger::Place MemoryLedger::PlaceOf(const MemoryRequest& request) {
  return {.slot = request.slot,
          .incarnation = request.incarnation,
          .gpu_instance = request.gpu_instance,
          .compute_instance = request.compute_instance};
}

MemoryReply MemoryLedger::Apply(SimState& state, int client, pid_t pid,
                                const MemoryRequest& request, int& fd) {
  fd = -1;
  MemoryReply reply = {};
  reply.number = request.number;
  const Use use = {.client = client, .pid = pid, .place = PlaceOf(request), .bytes = request.bytes};
  MemoryResult result = kMemoryInvalid;
  switch (request.operation) {
    case kCharge:
      result = Charge(state, use);
      break;
    case kRefund:
      result = Refund(state, use);
      break;
    case kMakeObject:
    case kMoveToObject:
      result = MakeObject(state, use, request.operation == kMoveToObject, reply, fd);
      break;
    case kAttach:
      result = Attach(state, use, request, reply, fd);
      break;
    case kDetach:
      result = Detach(state, client, request.object);
      break;
    case kAskSpace:
      result = AskSpace(state, use.place, reply);
      break;
    default:
      break;
  }
  reply.result = result;
  return reply;
}

MemoryLedger::Use* MemoryLedger::FindUse(const Use& like) {
  const auto found = std::ranges::find_if(
      uses_, [&](const Use& use) { return use.client == like.client && use.place == like.place; });
  return found == uses_.end() ? nullptr : &*found;
}

MemoryResult MemoryLedger::AskSpace(const SimState& state, const Place& place, MemoryReply& reply) {
  if (!HasPlace(state, place.slot, place.incarnation, place.gpu_instance)) {
    return kMemoryNoGpu;
  }
  const MemorySpace space = SpaceOf(state.gpus[place.slot], place.gpu_instance);
  reply.free = space.free;
  reply.total = space.total;
  return kMemoryDone;
}

bool MemoryLedger::Has(int client) const {
  const auto is_holder = [&](const Holder& holder) { return holder.client == client; };
  return std::ranges::any_of(uses_, [&](const Use& use) { return use.client == client; }) ||
         std::ranges::any_of(objects_, [&](const Object& object) {
           return std::ranges::any_of(object.holders, is_holder);
         });
}

MemoryResult MemoryLedger::Charge(SimState& state, const Use& wanted) {
  const Place& place = wanted.place;
  if (!HasPlace(state, place.slot, place.incarnation, place.gpu_instance)) {
    return kMemoryNoGpu;
  }
  if (wanted.bytes > SpaceOf(state.gpus[place.slot], place.gpu_instance).free) {
    return kMemoryExhausted;
  }
  Use* use = FindUse(wanted);
  if (use != nullptr) {
    use->bytes += wanted.bytes;
  } else {
    uses_.push_back(wanted);
  }
  if (ShowEntry(state, wanted.pid, place)) {
    return kMemoryDone;
  }
  (void)Refund(state, wanted);
  return kMemoryExhausted;
}

MemoryResult MemoryLedger::Refund(SimState& state, const Use& returned) {
  Use* use = FindUse(returned);
  if (use == nullptr || returned.bytes > use->bytes) {
    return kMemoryInvalid;
  }
  use->bytes -= returned.bytes;
  if (use->bytes == 0) {
    uses_.erase(uses_.begin() + (use - uses_.data()));
  }
  (void)ShowEntry(state, returned.pid, returned.place);
  return kMemoryDone;
}

MemoryResult MemoryLedger::MakeObject(SimState& state, const Use& wanted, bool is_charged,
                                      MemoryReply& reply, int& fd) {
  if (objects_.size() >= kMaxObjects) {
    return kMemoryTooMany;
  }
  if (!is_charged) {
    if (const MemoryResult result = Charge(state, wanted); result != kMemoryDone) {
      return result;
    }
  }
  const uint64_t id = last_object_ + 1;
  const uint64_t key = RandomKey();
  UniqueFd memory = MakeMemory(id, key, wanted.bytes);
  Use* use = FindUse(wanted);
  if (!memory.is_valid() || use == nullptr || use->bytes < wanted.bytes || wanted.bytes == 0) {
    if (!is_charged) {
      (void)Refund(state, wanted);
    }
    return memory.is_valid() ? kMemoryInvalid : kMemoryTooMany;
  }
  last_object_ = id;
  fd = memory.get();
  objects_.push_back({.id = id,
                      .key = key,
                      .place = wanted.place,
                      .bytes = wanted.bytes,
                      .fd = std::move(memory),
                      .holders = {{.client = wanted.client,
                                   .pid = wanted.pid,
                                   .compute_instance = wanted.place.compute_instance}}});
  // After the object is there: the process uses the same bytes as before.
  (void)Refund(state, wanted);
  reply.object = id;
  reply.key = key;
  reply.bytes = wanted.bytes;
  return kMemoryDone;
}

MemoryResult MemoryLedger::Attach(SimState& state, const Use& user, const MemoryRequest& request,
                                  MemoryReply& reply, int& fd) {
  const auto found = std::ranges::find(objects_, request.object, &Object::id);
  if (found == objects_.end() || found->key != request.key) {
    return kMemoryNoObject;
  }
  if (!HasPlace(state, found->place.slot, found->place.incarnation, found->place.gpu_instance)) {
    return kMemoryNoGpu;
  }
  found->holders.push_back(
      {.client = user.client, .pid = user.pid, .compute_instance = user.place.compute_instance});
  reply.slot = found->place.slot;
  reply.incarnation = found->place.incarnation;
  reply.gpu_instance = found->place.gpu_instance;
  reply.object = found->id;
  reply.key = found->key;
  reply.bytes = found->bytes;
  fd = found->fd.get();
  return kMemoryDone;
}

MemoryResult MemoryLedger::Detach(SimState& state, int client, uint64_t id) {
  const auto found = std::ranges::find(objects_, id, &Object::id);
  if (found == objects_.end()) {
    return kMemoryNoObject;
  }
  const auto holder = std::ranges::find(found->holders, client, &Holder::client);
  if (holder == found->holders.end()) {
    return kMemoryNoObject;
  }
  const std::vector<Holder> before = found->holders;
  const Place place = found->place;
  found->holders.erase(holder);
  if (found->holders.empty()) {
    objects_.erase(found);
  }
  ShowHolders(state, place, before);
  return kMemoryDone;
}

void MemoryLedger::Drop(SimState& state, int client) {
  std::vector<Use> gone;
  std::erase_if(uses_, [&](const Use& use) {
    if (use.client == client) {
      gone.push_back(use);
    }
    return use.client == client;
  });
  std::vector<std::pair<Place, std::vector<Holder>>> left;
  for (Object& object : objects_) {
    const std::vector<Holder> before = object.holders;
    if (std::erase_if(object.holders,
                      [&](const Holder& holder) { return holder.client == client; }) > 0) {
      left.emplace_back(object.place, before);
    }
  }
  std::erase_if(objects_, [](const Object& object) { return object.holders.empty(); });
  for (const Use& use : gone) {
    (void)ShowEntry(state, use.pid, use.place);
  }
  for (const auto& [place, holders] : left) {
    ShowHolders(state, place, holders);
  }
}

void MemoryLedger::ShowHolders(SimState& state, const Place& place,
                               const std::vector<Holder>& holders) {
  for (const Holder& holder : holders) {
    Place at = place;
    at.compute_instance = holder.compute_instance;
    (void)ShowEntry(state, holder.pid, at);
  }
}

uint64_t MemoryLedger::BytesOf(pid_t pid, const Place& place) const {
  uint64_t bytes = 0;
  for (const Use& use : uses_) {
    bytes += use.pid == pid && use.place == place ? use.bytes : 0;
  }
  for (const Object& object : objects_) {
    Place at = object.place;
    at.compute_instance = object.holders.front().compute_instance;
    bytes += object.holders.front().pid == pid && at == place ? object.bytes : 0;
  }
  return bytes;
}

SimProcess* MemoryLedger::FindEntry(SimGpu& gpu, pid_t pid, const Place& place) {
  return std::ranges::find_if(gpu.processes, [&](const SimProcess& process) {
    return process.is_client != 0 && process.pid == static_cast<uint32_t>(pid) &&
           process.gpu_instance == place.gpu_instance &&
           process.compute_instance == place.compute_instance;
  });
}

bool MemoryLedger::ShowEntry(SimState& state, pid_t pid, const Place& place) {
  if (place.slot >= kMaxGpus || state.gpus[place.slot].incarnation != place.incarnation) {
    return true;  // of a GPU that has been removed: nobody counts it
  }
  const uint64_t bytes = BytesOf(pid, place);
  SimProcess(&list)[kMaxProcesses] = state.gpus[place.slot].processes;
  SimProcess* entry = FindEntry(state.gpus[place.slot], pid, place);
  const bool is_new = entry == std::end(list);
  if (is_new) {
    entry = std::ranges::find(list, 0U, &SimProcess::pid);
  }
  if (is_new && (bytes == 0 || entry == std::end(list))) {
    return bytes == 0;
  }
  if (bytes == 0) {
    *entry = SimProcess{};
  } else if (is_new) {
    *entry = NewEntry(pid, place.gpu_instance, place.compute_instance, options_.name_of(pid));
  }
  entry->used_bytes = bytes;
  options_.on_entry(place.slot, static_cast<uint32_t>(entry - list));
  if (is_new || bytes == 0) {
    options_.on_processes();
  }
  return true;
}

void MemoryLedger::Show(SimState& state) {
  for (uint32_t slot = 0; slot < std::min(state.gpu_count, kMaxGpus); ++slot) {
    for (SimProcess& process : state.gpus[slot].processes) {
      const Place place = {.slot = slot,
                           .incarnation = state.gpus[slot].incarnation,
                           .gpu_instance = process.gpu_instance,
                           .compute_instance = process.compute_instance};
      if (process.is_client != 0 && BytesOf(static_cast<pid_t>(process.pid), place) == 0) {
        process = SimProcess{};
      }
    }
  }
  for (const Use& use : uses_) {
    (void)ShowEntry(state, use.pid, use.place);
  }
  for (const Object& object : objects_) {
    ShowHolders(state, object.place, object.holders);
  }
}

}  // namespace kgpu::sim

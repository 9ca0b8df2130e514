#include "src/node/claims/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::claims {
namespace {

using dra::AllocatedDevice;
using dra::Allocation;
using dra::CardOffer;
using dra::Checkpoint;
using dra::Offer;
using dra::PreparedClaim;
using dra::PreparedDevice;

// Capacities of a device that claims share.
constexpr char kShares[] = "shares";
constexpr char kMemory[] = "memory";

struct Found {
  const CardOffer* card = nullptr;
  const Offer* offer = nullptr;
};

std::optional<Found> FindOffer(std::span<const CardOffer> cards, std::string_view name) {
  for (const CardOffer& card : cards) {
    const auto found = std::ranges::find(card.offers, name, &Offer::name);
    if (found != card.offers.end()) {
      return Found{.card = &card, .offer = &*found};
    }
  }
  return std::nullopt;
}

// The consumed amount of a capacity, whether or not its name has the driver's domain.
const std::string* ConsumedOf(const AllocatedDevice& device, std::string_view capacity) {
  for (const auto& [name, amount] : device.consumed) {
    if (name == capacity || name == fmt::format("{}/{}", dra::kDriverName, capacity)) {
      return &amount;
    }
  }
  return nullptr;
}

// How many slots a claim gets: by shares, or by memory of which each slot has an equal part.
StatusOr<size_t> CountOf(const AllocatedDevice& device, const Offer& offer) {
  const std::string* shares = ConsumedOf(device, kShares);
  if (shares != nullptr) {
    const auto count = ParseUint(*shares);
    if (!count || *count == 0) {
      return InvalidArgument("{}: consumed shares {} must be a whole number from 1", device.device,
                             *shares);
    }
    return static_cast<size_t>(*count);
  }
  const std::string* memory = ConsumedOf(device, kMemory);
  if (memory == nullptr || !offer.slot_memory) {
    return 1;
  }
  ASSIGN_OR_RETURN(const Bytes wanted, ParseQuantity(*memory));
  const uint64_t each = offer.slot_memory->count;
  return static_cast<size_t>(std::max<uint64_t>((wanted.count + each - 1) / each, 1));
}

// The limit of the device by its UUID, by its place among the claim's devices, or the one for all.
Bytes MpsMemoryOf(const dra::MpsParameters& mps, const std::string& uuid, size_t index) {
  for (const std::string& name : {uuid, std::to_string(index)}) {
    if (const auto limit = mps.memory_of.find(name); limit != mps.memory_of.end()) {
      return limit->second;
    }
  }
  return mps.memory.value_or(Bytes{});
}

// How the claim's own containers share the device. `index`: among the claim's devices.
Status SetSharing(const AllocatedDevice& device, const Offer& offer, size_t index,
                  PreparedDevice& prepared) {
  const auto& mps = device.parameters.mps;
  const dra::TimeSlice slice = device.parameters.time_slice.value_or(dra::TimeSlice::kDefault);
  if (!mps && slice == dra::TimeSlice::kDefault) {
    return OkStatus();
  }
  const std::string_view what = mps ? "MPS" : "a time slice of its own";
  if (device.is_admin) {
    return InvalidArgument(
        "{}: admin access changes no device: remove {} from the parameters of request {}",
        device.device, what, device.request);
  }
  if (!offer.slots.empty()) {
    return InvalidArgument(
        "{}: other claims share it as its pool says, so this claim cannot set {}: remove sharing "
        "from the parameters, or use a pool of whole GPUs",
        device.device, what);
  }
  if (!offer.is_gpu && !mps) {
    return InvalidArgument(
        "{}: a MIG device has no time slices: remove sharing from the parameters, or claim a whole "
        "GPU",
        device.device);
  }
  prepared.time_slice = slice;
  if (mps) {
    prepared.mps = dra::MpsLimits{.threads = mps->threads.value_or(100),
                                  .memory = MpsMemoryOf(*mps, offer.device_uuid, index)};
  }
  return OkStatus();
}

// The devices and slots of all claims on this node but one.
class Taken {
 public:
  Taken(const Checkpoint& checkpoint, std::string_view without) {
    for (const auto& [uid, claim] : checkpoint.claims) {
      for (const PreparedDevice& device :
           uid == without ? std::vector<PreparedDevice>() : claim.devices) {
        slots_.insert(device.slots.begin(), device.slots.end());
        const std::string holder =
            claim.name.empty() ? "" : fmt::format("{}/{}", claim.space, claim.name);
        if (device.made) {
          made_.emplace(device.device, device.device_uuid);
          parts_.emplace(device.made->gpu, holder);
          whole_.emplace(device.device, holder);
        } else if (!device.is_admin) {
          (device.slots.empty() ? whole_ : shared_).emplace(device.device_uuid, holder);
        }
      }
    }
  }

  Status TakeWhole(const Offer& offer, bool is_admin) {
    if (is_admin) {
      return OkStatus();
    }
    for (const Holders* holders : {&whole_, &shared_, &parts_}) {
      RETURN_IF_ERROR(CheckNotIn(*holders, offer.device_uuid, offer));
    }
    whole_.emplace(offer.device_uuid, "this one");
    return OkStatus();
  }

  // A MIG device that is made for the claim. Others that overlap it are found where it is made.
  Status TakePlace(const std::string& gpu, const Offer& offer) {
    RETURN_IF_ERROR(CheckNotIn(whole_, gpu, offer));
    RETURN_IF_ERROR(CheckNotIn(whole_, offer.name, offer));
    whole_.emplace(offer.name, "this one");
    parts_.emplace(gpu, "this one");
    return OkStatus();
  }

  // The UUID of a MIG device that another claim has; empty: there is none yet.
  std::string MadeFor(const std::string& device) const {
    const auto made = made_.find(device);
    return made == made_.end() ? "" : made->second;
  }

  StatusOr<std::vector<std::string>> TakeSlots(const Offer& offer, size_t count) {
    RETURN_IF_ERROR(CheckNotIn(whole_, offer.device_uuid, offer));
    std::vector<std::string> free;
    for (const std::string& slot : offer.slots) {
      if (free.size() < count && !slots_.contains(slot)) {
        free.push_back(slot);
      }
    }
    if (free.size() < count) {
      return ResourceExhausted(
          "{} has {} of {} free shares, {} are needed: wait until other "
          "claims' pods have ended",
          offer.name, free.size(), offer.slots.size(), count);
    }
    slots_.insert(free.begin(), free.end());
    return free;
  }

 private:
  using Holders = std::map<std::string, std::string>;  // device → claim; empty: nobody's

  static Status CheckNotIn(const Holders& holders, const std::string& device, const Offer& offer) {
    const auto holder = holders.find(device);
    if (holder == holders.end()) {
      return OkStatus();
    }
    return holder->second.empty()
               ? Unavailable("{}: a MIG device that is no claim's is being removed: try again",
                             offer.name)
               : FailedPrecondition(
                     "{} is prepared for claim {}: it is free once that claim's pods have ended",
                     offer.name, holder->second);
  }

  std::set<std::string> slots_;
  Holders whole_;                            // by UUID; devices that are made, by name
  Holders shared_;                           // by UUID
  Holders parts_;                            // by the UUID of the GPU
  std::map<std::string, std::string> made_;  // UUIDs by name
};

// Sets the rest of a device that does not exist yet.
Status ChooseMade(const Found& found, unsigned start, Taken& taken, PreparedDevice& prepared) {
  const Offer& offer = *found.offer;
  if (prepared.is_admin) {
    prepared.device_uuid = taken.MadeFor(offer.name);
    return prepared.device_uuid.empty()
               ? FailedPrecondition(
                     "{} does not exist now: admin access is to what other claims have", offer.name)
               : OkStatus();
  }
  const std::string gpu = found.card->gpu.str();
  RETURN_IF_ERROR(taken.TakePlace(gpu, offer));
  prepared.made = dra::MadeInstance{.gpu = gpu, .profile = offer.profile, .start = start};
  return OkStatus();
}

StatusOr<PreparedDevice> Choose(const AllocatedDevice& device, const Found& found, size_t index,
                                Taken& taken) {
  const Offer& offer = *found.offer;
  PreparedDevice prepared{.request = device.request,
                          .pool = device.pool,
                          .device = device.device,
                          .share_id = device.share_id,
                          .device_uuid = offer.device_uuid,
                          .is_admin = device.is_admin};
  RETURN_IF_ERROR(SetSharing(device, offer, index, prepared));
  if (offer.placement) {
    RETURN_IF_ERROR(ChooseMade(found, offer.placement->start, taken, prepared));
    return prepared;
  }
  if (offer.slots.empty()) {
    RETURN_IF_ERROR(taken.TakeWhole(offer, device.is_admin));
    return prepared;
  }
  if (device.is_admin) {
    return prepared;  // beside all shares, without one of its own
  }
  ASSIGN_OR_RETURN(const size_t count, CountOf(device, offer));
  ASSIGN_OR_RETURN(prepared.slots, taken.TakeSlots(offer, count));
  return prepared;
}

// A program reaches the daemon of one device.
Status CheckMps(const PreparedClaim& claim) {
  std::set<std::string_view> requests;
  for (const PreparedDevice& device : claim.devices) {
    if (device.mps && !requests.insert(device.request).second) {
      return InvalidArgument(
          "request {} has several devices with MPS, and a program reaches the MPS daemon of one: "
          "use a request for each",
          device.request);
    }
  }
  return OkStatus();
}

}  // namespace

std::string CdiNameOf(std::string_view uid, std::string_view device, unsigned number) {
  const std::string name = fmt::format("{}={}-{}", kClaimKind, uid, device);
  return number == 1 ? name : fmt::format("{}-{}", name, number);
}

StatusOr<PreparedClaim> ChooseDevices(const Allocation& allocation,
                                      std::span<const CardOffer> cards, const Checkpoint& taken,
                                      std::string_view pool) {
  PreparedClaim claim{.space = allocation.space, .name = allocation.name};
  Taken others(taken, allocation.uid);
  std::map<std::string, unsigned> numbers;
  for (const AllocatedDevice& device : allocation.devices) {
    const auto found = device.pool == pool ? FindOffer(cards, device.device) : std::nullopt;
    if (!found) {
      return NotFound(
          "pool {} of this node has no device {} any more: delete the pod, so that "
          "the scheduler chooses again",
          device.pool, device.device);
    }
    ASSIGN_OR_RETURN(PreparedDevice prepared, Choose(device, *found, claim.devices.size(), others));
    prepared.cdi_ids = {CdiNameOf(allocation.uid, device.device, ++numbers[device.device])};
    claim.devices.push_back(std::move(prepared));
  }
  RETURN_IF_ERROR(CheckMps(claim));
  return claim;
}

}  // namespace kgpu::claims

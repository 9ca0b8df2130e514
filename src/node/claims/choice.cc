#include "src/node/claims/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
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

const Offer* FindOffer(std::span<const CardOffer> cards, std::string_view name) {
  for (const CardOffer& card : cards) {
    const auto found = std::ranges::find(card.offers, name, &Offer::name);
    if (found != card.offers.end()) {
      return &*found;
    }
  }
  return nullptr;
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

Status CheckParameters(const AllocatedDevice& device) {
  if (device.parameters.mps) {
    return InvalidArgument(
        "{}: the claim asks for the sharing strategy MPS, which its pool does not have: use a "
        "device of a pool with share.by: mps, or remove sharing from the parameters",
        device.device);
  }
  if (device.parameters.time_slice.value_or(dra::TimeSlice::kDefault) != dra::TimeSlice::kDefault) {
    return InvalidArgument(
        "{}: the claim asks for a time slice of its own, which kgpu cannot set: use the interval "
        "Default",
        device.device);
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
        if (!device.is_admin) {
          (device.slots.empty() ? whole_ : shared_)
              .emplace(device.device_uuid, fmt::format("{}/{}", claim.space, claim.name));
        }
      }
    }
  }

  Status TakeWhole(const Offer& offer, bool is_admin) {
    if (is_admin) {
      return OkStatus();
    }
    RETURN_IF_ERROR(CheckNotIn(whole_, offer));
    RETURN_IF_ERROR(CheckNotIn(shared_, offer));
    whole_.emplace(offer.device_uuid, "this one");
    return OkStatus();
  }

  StatusOr<std::vector<std::string>> TakeSlots(const Offer& offer, size_t count) {
    RETURN_IF_ERROR(CheckNotIn(whole_, offer));
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
  using Holders = std::map<std::string, std::string>;  // device → claim

  static Status CheckNotIn(const Holders& holders, const Offer& offer) {
    const auto holder = holders.find(offer.device_uuid);
    return holder == holders.end()
               ? OkStatus()
               : FailedPrecondition(
                     "{} is prepared for claim {}: it is free once that claim's pods have ended",
                     offer.name, holder->second);
  }

  std::set<std::string> slots_;
  Holders whole_;
  Holders shared_;
};

StatusOr<PreparedDevice> Choose(const AllocatedDevice& device, const Offer& offer, Taken& taken) {
  PreparedDevice prepared{.request = device.request,
                          .pool = device.pool,
                          .device = device.device,
                          .share_id = device.share_id,
                          .device_uuid = offer.device_uuid,
                          .is_admin = device.is_admin};
  RETURN_IF_ERROR(CheckParameters(device));
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
    const Offer* offer = device.pool == pool ? FindOffer(cards, device.device) : nullptr;
    if (offer == nullptr) {
      return NotFound(
          "pool {} of this node has no device {} any more: delete the pod, so that "
          "the scheduler chooses again",
          device.pool, device.device);
    }
    ASSIGN_OR_RETURN(PreparedDevice prepared, Choose(device, *offer, others));
    prepared.cdi_ids = {CdiNameOf(allocation.uid, device.device, ++numbers[device.device])};
    claim.devices.push_back(std::move(prepared));
  }
  return claim;
}

}  // namespace kgpu::claims

#include "src/node/claims/claim_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/node/claims/choice.h"
#include "src/node/sharing/mps/mps.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::claims {
namespace {

using dra::PreparedClaim;
using dra::PreparedDevice;

constexpr std::string_view kFileFront = "kgpu-claim-";
constexpr std::string_view kFileEnd = ".json";

const pools::Resource* PoolOf(const PreparedDevice& device, const SpecFacts& facts) {
  for (const dra::CardOffer& card : facts.cards) {
    const auto offer = std::ranges::find(card.offers, device.device, &dra::Offer::name);
    if (offer != card.offers.end()) {
      const auto pool = std::ranges::find(facts.resources, offer->resource, &pools::Resource::name);
      return pool == facts.resources.end() ? nullptr : &*pool;
    }
  }
  return nullptr;
}

// The limits of all slots that the claim has of one pool.
class PoolAccess {
 public:
  explicit PoolAccess(const pools::Resource& pool) : pool_(pool) {}

  void Add(const PreparedDevice& device) {
    for (const pools::Slot& slot : pool_.slots) {
      if (std::ranges::find(device.slots, slot.id) != device.slots.end()) {
        parts_.push_back({slot.id, slot.device_uuid, pools::LimitsOf(slot)});
      }
    }
  }

  StatusOr<sharing::Access> Take(const sharing::Places& places) const {
    if (parts_.empty()) {
      return sharing::Access();
    }
    if (const Status status = pool_.share.by->CheckRequest(parts_, pool_.share); !status.ok()) {
      return InvalidArgument("{}: {}", pool_.name, Message(status));
    }
    RETURN_IF_ERROR(CheckMultiple());
    return pool_.share.by->AccessTo(parts_, pool_.share, places);
  }

 private:
  Status CheckMultiple() const {
    std::set<std::string_view> devices;
    for (const sharing::SlotPart& part : parts_) {
      devices.insert(part.device_uuid);
    }
    const bool is_refused =
        pool_.share.multiple == sharing::MultipleSlots::kRefuse && parts_.size() > 1;
    const bool is_heaped =
        pool_.share.multiple == sharing::MultipleSlots::kSpread && parts_.size() > devices.size();
    return is_refused || is_heaped
               ? InvalidArgument(
                     "{}: the claim has {} shares of {} devices, which share.multiple of its pool "
                     "does not allow: request fewer, or change share.multiple",
                     pool_.name, parts_.size(), devices.size())
               : OkStatus();
  }

  const pools::Resource& pool_;
  std::vector<sharing::SlotPart> parts_;
};

void Add(const sharing::Access& access, cdi::ContainerEdits& edits) {
  for (const auto& [name, value] : access.envs) {
    edits.env.push_back(fmt::format("{}={}", name, value));
  }
  for (const sharing::Mount& mount : access.mounts) {
    cdi::Mount& added = edits.mounts.emplace_back();
    added.host_path = mount.host_path;
    added.container_path = mount.container_path;
    added.options = {mount.is_read_only ? "ro" : "rw", "nosuid", "nodev", "bind"};
  }
}

}  // namespace

StatusOr<cdi::Spec> SpecOf(const PreparedClaim& claim, const SpecFacts& facts) {
  cdi::Spec spec = inject::ToSpec(*facts.plan, kClaimKind);
  const std::vector<cdi::Device> all = std::exchange(spec.devices, {});
  std::map<std::string, PoolAccess> pools;
  for (const PreparedDevice& device : claim.devices) {
    const pools::Resource* pool = PoolOf(device, facts);
    const auto planned = std::ranges::find(all, device.device_uuid, &cdi::Device::name);
    if (pool == nullptr) {
      return NotFound("{} is no device of this node any more", device.device);
    }
    if (planned == all.end()) {
      return Unavailable(
          "{} cannot be given to a container: `kgpu cdi generate --dry-run` names "
          "the missing device node",
          device.device);
    }
    pools.try_emplace(pool->name, *pool).first->second.Add(device);
    cdi::Device& added = spec.devices.emplace_back(*planned);
    const std::string& name = device.cdi_ids.front();
    added.name = name.substr(name.find('=') + 1);
    if (device.mps) {
      Add(sharing::MpsAccessTo(device.device_uuid, device.mps->threads, device.mps->memory,
                               facts.places),
          added.edits);
    }
  }
  for (const auto& [name, pool] : pools) {
    ASSIGN_OR_RETURN(const sharing::Access access, pool.Take(facts.places));
    for (cdi::Device& device : spec.devices) {
      Add(access, device.edits);
    }
  }
  spec.version = cdi::MinimumVersion(spec);
  return spec;
}

std::string SpecFileOf(std::string_view uid) {
  return fmt::format("{}{}{}", kFileFront, uid, kFileEnd);
}

std::string_view UidOfSpecFile(std::string_view file) {
  if (!file.starts_with(kFileFront) || !file.ends_with(kFileEnd) ||
      file.size() <= kFileFront.size() + kFileEnd.size()) {
    return "";
  }
  file.remove_prefix(kFileFront.size());
  file.remove_suffix(kFileEnd.size());
  return file;
}

}  // namespace kgpu::claims

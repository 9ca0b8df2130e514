#include "src/node/plugin/preferred.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "src/node/sharing/kind.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::plugin {
namespace {

using pools::Slot;

bool IsMigDevice(const Slot& slot) {
  return slot.device_uuid != slot.gpu.str();
}

// Numbers things from 0 on in the order they are first seen.
template <typename T>
class Numbers {
 public:
  size_t Of(const T& thing) { return numbers_.emplace(thing, numbers_.size()).first->second; }

 private:
  std::map<T, size_t> numbers_;
};

LinkTable LinksOf(const pools::Resource& resource, const device::Snapshot& snapshot) {
  std::vector<const device::Gpu*> cards;
  cards.reserve(resource.slots.size());
  for (const Slot& slot : resource.slots) {
    cards.push_back(snapshot.FindGpu(slot.gpu));
  }
  return LinkTable(cards);
}

// Units are devices, or with `by_card` cards.
std::vector<SlotPlace> PlacesOf(const pools::Resource& resource, bool by_card) {
  Numbers<std::string_view> units;
  Numbers<std::string_view> cards;
  Numbers<std::optional<unsigned>> nodes;
  std::vector<SlotPlace> places;
  places.reserve(resource.slots.size());
  for (const Slot& slot : resource.slots) {
    const std::string& card = slot.gpu.str();
    places.push_back({.unit = units.Of(by_card ? card : slot.device_uuid),
                      .card = cards.Of(card),
                      .numa = nodes.Of(slot.numa_node)});
  }
  return places;
}

}  // namespace

PreferredPolicy::PreferredPolicy(const pools::Resource& resource, const device::Snapshot& snapshot,
                                 config::SharedPolicy shared)
    : resource_(resource.name),
      shared_(shared),
      is_of_one_device_(resource.share.by->traits().is_of_one_device) {
  ids_.reserve(resource.slots.size());
  for (const Slot& slot : resource.slots) {
    slots_.emplace(ids_.emplace_back(slot.id), slots_.size());
  }
  if (sharing::IsShared(resource.share)) {
    kind_ = Kind::kShared;
    places_ = PlacesOf(resource, false);
  } else if (std::ranges::any_of(resource.slots, &IsMigDevice)) {
    kind_ = Kind::kMigDevices;
    places_ = PlacesOf(resource, true);
  } else {
    links_ = LinksOf(resource, snapshot);
  }
}

StatusOr<std::vector<size_t>> PreferredPolicy::Find(const std::vector<std::string>& ids,
                                                    std::string_view field) const {
  std::vector<size_t> found;
  found.reserve(ids.size());
  for (const std::string& id : ids) {
    const auto slot = slots_.find(id);
    if (slot == slots_.end()) {
      return InvalidArgument("{}: \"{}\" is not a device of {}: use IDs of the newest device list",
                             field, Printable(id), resource_);
    }
    found.push_back(slot->second);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

StatusOr<SlotRequest> PreferredPolicy::Understand(const std::vector<std::string>& available,
                                                  const std::vector<std::string>& must_include,
                                                  size_t size) const {
  SlotRequest request;
  ASSIGN_OR_RETURN(request.available, Find(available, "available_deviceIDs"));
  ASSIGN_OR_RETURN(request.must_include, Find(must_include, "must_include_deviceIDs"));
  std::vector<size_t> missing;
  std::ranges::set_difference(request.must_include, request.available, std::back_inserter(missing));
  if (!missing.empty()) {
    return InvalidArgument(
        "must_include_deviceIDs: \"{}\" is not in available_deviceIDs: add it there",
        ids_[missing.front()]);
  }
  request.size = size;
  if (size < 1 || size < request.must_include.size() || size > request.available.size()) {
    return InvalidArgument(
        "allocation_size: {} of {} must be at least 1 and the number of must_include_deviceIDs "
        "({}), and at most that of available_deviceIDs ({})",
        size, resource_, request.must_include.size(), request.available.size());
  }
  return request;
}

std::vector<size_t> PreferredPolicy::Pick(const SlotRequest& request) const {
  switch (kind_) {
    case Kind::kWholeGpus:
      return BestSet(links_, request);
    case Kind::kMigDevices:
      return SpreadSlots(places_, request, Spread::kFill);
    case Kind::kShared:
      break;
  }
  // Slots of two devices would be refused.
  const bool is_on_one = is_of_one_device_ && request.size > 1;
  return SpreadSlots(
      places_, request,
      is_on_one || shared_ == config::SharedPolicy::kPacked ? Spread::kTogether : Spread::kApart);
}

StatusOr<std::vector<std::string>> PreferredPolicy::Choose(
    const std::vector<std::string>& available, const std::vector<std::string>& must_include,
    size_t size) const {
  ASSIGN_OR_RETURN(const SlotRequest request, Understand(available, must_include, size));
  std::vector<std::string> chosen;
  chosen.reserve(request.size);
  for (const size_t slot : Pick(request)) {
    chosen.push_back(ids_[slot]);
  }
  return chosen;
}

}  // namespace kgpu::plugin

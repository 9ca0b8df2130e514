// Which devices of a resource a container should get: the answer to the kubelet's
// GetPreferredAllocation. Computed once per snapshot and resource, then only read: a call walks no
// topology. docs/how-it-works/preferred-allocation.md says what is preferred and why.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/best_set.h"
#include "src/node/plugin/link_table.h"
#include "src/node/plugin/slot_request.h"
#include "src/node/plugin/slot_spread.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// Thread: any, once constructed.
class PreferredPolicy {
 public:
  // Keeps no reference to its arguments. `shared` is for slots of shared devices.
  PreferredPolicy(const pools::Resource& resource, const device::Snapshot& snapshot,
                  config::SharedPolicy shared);
  PreferredPolicy(const PreferredPolicy&) = delete;
  PreferredPolicy& operator=(const PreferredPolicy&) = delete;

  // `size` slots of `available`, including all of `must_include`, in the resource's order. The
  // order of the arguments and repeated ids do not matter.
  //  - whole GPUs: those best linked with each other; among equals those that leave the other
  //    available ones best linked, so that a single one comes from a group already broken up
  //  - MIG devices: on cards in use already
  //  - shared devices: spread over cards, or packed on few
  // Errors: InvalidArgument (an id that the resource does not have, must_include not in available,
  // size less than 1, than must_include, or more than available).
  StatusOr<std::vector<std::string>> Choose(const std::vector<std::string>& available,
                                            const std::vector<std::string>& must_include,
                                            size_t size) const;

 private:
  enum class Kind { kWholeGpus, kMigDevices, kShared };

  StatusOr<SlotRequest> Understand(const std::vector<std::string>& available,
                                   const std::vector<std::string>& must_include, size_t size) const;
  // Numbers of the slots with these ids, ascending, without duplicates.
  StatusOr<std::vector<size_t>> Find(const std::vector<std::string>& ids,
                                     std::string_view field) const;

  std::vector<size_t> Pick(const SlotRequest& request) const;

  std::string resource_;
  config::SharedPolicy shared_;
  bool is_of_one_device_;  // all slots of a container
  Kind kind_ = Kind::kWholeGpus;
  std::vector<std::string> ids_;
  std::unordered_map<std::string_view, size_t> slots_;  // by id; views into ids_
  LinkTable links_;                                     // for kWholeGpus: a slot is a card
  std::vector<SlotPlace> places_;                       // for the others
};

}  // namespace kgpu::plugin

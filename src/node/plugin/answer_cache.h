// All answers that Allocate can give for one resource, as a pure function of the ids.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "src/container/inject/plan.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/plugin/answer.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/kind.h"
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// How containers get their devices, resolved: never kAuto.
struct Delivery {
  std::set<config::DeviceListStrategy> strategies;
  config::DeviceIdStrategy device_ids = config::DeviceIdStrategy::kUuid;
  std::string cdi_kind = "kgpu.dev/gpu";
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string reason;  // why it was chosen, for people

  // Whether answers contain parts of the driver, which must first be found on the host. NVIDIA's
  // runtime only needs names, and finds the parts itself.
  bool NeedsDriverFiles() const;
  // Whether answers name devices of our CDI specs.
  bool NeedsSpecs() const;
  bool operator==(const Delivery&) const = default;
};

// Immutable; used by any thread.
class AnswerCache {
 public:
  // `plan` has the driver's parts (inject/plan.h); it may be null if `delivery` only needs names
  // (CDI, environment). `places` is where the files of shared devices are.
  AnswerCache(const pools::Resource& resource, const device::Snapshot& snapshot,
              std::shared_ptr<const inject::InjectionPlan> plan, Delivery delivery,
              sharing::Places places = {});

  // The answer for the slots `ids`, in any order; equal sets of ids give equal answers. Errors:
  // InvalidArgument (no ids, an id that the resource does not have, or several slots, or several of
  // one device, although the pool refuses that), Unavailable (the device is unhealthy or has no
  // node: says why).
  StatusOr<Answer> For(std::span<const std::string> ids) const;

 private:
  struct Entry {
    size_t order = 0;  // position of the slot in its resource
    std::string device_uuid;
    std::string index;  // "3", "3:0": NVIDIA_VISIBLE_DEVICES by index
    device::Health health;
    const inject::PlannedDevice* planned = nullptr;  // into plan_; null: has no node
    bool is_split = false;                           // a whole GPU in MIG mode
    sharing::SlotPart part{};
  };

  bool Uses(config::DeviceListStrategy strategy) const {
    return delivery_.strategies.contains(strategy);
  }
  bool NeedsNodes() const;
  // The slots in their order.
  StatusOr<std::vector<const Entry*>> Slots(std::span<const std::string> ids) const;
  Status CheckMultiple(const std::vector<const Entry*>& slots) const;
  static std::vector<sharing::SlotPart> PartsOf(const std::vector<const Entry*>& slots);
  void AddCdi(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddVisible(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddNodes(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddMounts(Answer& answer) const;
  void AddAccess(const std::vector<const Entry*>& slots, Answer& answer) const;

  std::string resource_;
  sharing::Share share_;
  std::shared_ptr<const inject::InjectionPlan> plan_;
  Delivery delivery_;
  sharing::Places places_;
  std::map<std::string, Entry, std::less<>> entries_;  // by slot id
};

}  // namespace kgpu::plugin

// Every answer that Allocate can give for one resource, as a pure function of the ids.
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
#include "src/platform/base/status.h"

namespace kgpu::plugin {

// How containers get their devices, decided: never kAuto.
struct Delivery {
  std::set<config::DeviceListStrategy> strategies;
  config::DeviceIdStrategy device_ids = config::DeviceIdStrategy::kUuid;
  std::string cdi_kind = "kgpu.dev/gpu";
  std::string cdi_annotation_prefix = "cdi.k8s.io/";
  std::string reason;  // why these, for people

  // Whether the answers have parts of the driver, which must be found on the host for that. Names
  // are enough for NVIDIA's runtime, which finds the parts itself.
  bool NeedsDriverFiles() const;
  bool operator==(const Delivery&) const = default;
};

// Immutable; asked from any thread.
class AnswerCache {
 public:
  // `plan` is what the driver's parts give (inject/plan.h); it may be null where `delivery` needs
  // no more than names (CDI, environment).
  AnswerCache(const pools::Resource& resource, const device::Snapshot& snapshot,
              std::shared_ptr<const inject::InjectionPlan> plan, Delivery delivery);

  // For the slots `ids`, in any order; equal sets of ids give equal answers. Errors:
  // InvalidArgument (an id that the resource does not have, none at all, or more than one slot
  // where the pool refuses it), Unavailable (the device is unhealthy or has no node: says why).
  StatusOr<Answer> For(std::span<const std::string> ids) const;

 private:
  struct Entry {
    size_t order = 0;  // place of the slot in its resource
    std::string device_uuid;
    std::string index;  // "3", "3:0": NVIDIA_VISIBLE_DEVICES by index
    device::Health health;
    const inject::PlannedDevice* planned = nullptr;  // into plan_; null: has no node
    bool is_split = false;                           // a whole GPU in MIG mode
  };

  bool Uses(config::DeviceListStrategy strategy) const {
    return delivery_.strategies.contains(strategy);
  }
  bool NeedsNodes() const;
  StatusOr<std::vector<const Entry*>> Devices(std::span<const std::string> ids) const;
  void AddCdi(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddVisible(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddNodes(const std::vector<const Entry*>& devices, Answer& answer) const;
  void AddMounts(Answer& answer) const;

  std::string resource_;
  config::Share share_;
  std::shared_ptr<const inject::InjectionPlan> plan_;
  Delivery delivery_;
  std::map<std::string, Entry, std::less<>> entries_;  // by slot id
};

}  // namespace kgpu::plugin

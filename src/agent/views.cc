#include "src/agent/views.h"

#include <utility>

#include "src/node/plugin/delivery.h"
#include "src/node/plugin/preferred.h"
#include "src/platform/base/log.h"

namespace kgpu::agent {
namespace {

std::vector<plugin::Advertised> DevicesOf(const pools::Resource& resource) {
  std::vector<plugin::Advertised> devices;
  devices.reserve(resource.slots.size());
  for (const pools::Slot& slot : resource.slots) {
    devices.push_back({slot.id, slot.health.is_healthy, slot.numa_node});
  }
  return devices;
}

plugin::Preference PreferenceOf(const pools::Resource& resource, const device::Snapshot& snapshot,
                                config::SharedPolicy policy) {
  auto preferred = std::make_shared<const plugin::PreferredPolicy>(resource, snapshot, policy);
  return
      [preferred = std::move(preferred)](
          const std::vector<std::string>& available, const std::vector<std::string>& must_include,
          size_t size) { return preferred->Choose(available, must_include, size); };
}

// Without slices where their files are not written.
sharing::Places PlacesIn(const Answering& answering) {
  const bool has_slices = answering.slices && answering.slices->ok();
  return {.slices = has_slices ? (*answering.slices)->folder : "",
          .mps = answering.mps.folder,
          .shared_memory = answering.mps.shared_memory};
}

// A container without its limit would be one without any: it gets nothing then.
void AddAnswers(const pools::Resource& resource, const device::Snapshot& snapshot,
                const Answering& answering, plugin::ResourceView& view) {
  const bool has_slices = sharing::LimitsMemory(resource.share);
  if (const Status obstacle = answering.Obstacle(); !obstacle.ok()) {
    view.obstacle = obstacle;
  } else if (has_slices && answering.slices && !answering.slices->ok()) {
    view.obstacle = answering.slices->status();
  } else if (answering.injection && answering.delivery && (!has_slices || answering.slices)) {
    view.answers = std::make_shared<const plugin::AnswerCache>(
        resource, snapshot, answering.injection->plan, *answering.delivery, PlacesIn(answering));
    view.prepare = has_slices ? answering.renew_slices : nullptr;
  }
}

}  // namespace

Status Answering::Obstacle() const {
  const bool needs_files = !delivery || delivery->NeedsDriverFiles();
  if (injection && needs_files && !injection->plan_status.ok()) {
    return injection->plan_status;
  }
  return injection && delivery && delivery->NeedsSpecs() ? injection->cdi : OkStatus();
}

StatusOr<sharing::Places> PlacesOf(const Answering& answering, bool needs_slices) {
  if (!needs_slices) {
    return PlacesIn(answering);
  }
  if (!answering.slices) {
    return Unavailable("the files of shared devices are not written yet: try again");
  }
  if (!answering.slices->ok()) {
    return answering.slices->status();
  }
  return PlacesIn(answering);
}

std::string CdiObstacle(const Answering& answering) {
  if (!answering.delivery || answering.delivery->NeedsSpecs()) {
    return "";
  }
  return fmt::format("claims need CDI, and the container runtime does not use it: {}",
                     answering.delivery->reason);
}

void MarkObstacle(const Status& obstacle, pools::Assignment& shown) {
  for (pools::Resource& resource : shown.resources) {
    for (pools::Slot& slot : resource.slots) {
      if (!obstacle.ok() && slot.health.is_healthy) {
        slot.health = {.is_healthy = false,
                       .reason = kInjectionReason,
                       .message = std::string(Message(obstacle))};
      }
    }
  }
}

void UpdateDelivery(const config::PluginConfig& config, const StatusOr<cri::RuntimeFacts>& runtime,
                    const std::string& cdi_folder, Answering& answering) {
  plugin::Delivery delivery =
      plugin::DecideDelivery(config, runtime, answering.injection->cdi, cdi_folder);
  if (answering.delivery != delivery) {
    KGPU_LOG(kInfo, "device injection chosen", {"by", plugin::ToString(delivery.strategies)},
             {"reason", delivery.reason});
    answering.delivery = std::move(delivery);
  }
}

std::vector<plugin::ResourceViewPtr> MakeViews(const pools::Assignment& assignment,
                                               const device::SnapshotPtr& snapshot,
                                               const config::NodeConfig& config,
                                               const Answering& answering) {
  std::vector<plugin::ResourceViewPtr> views;
  for (const pools::Resource& resource : assignment.resources) {
    if (resource.slots.empty() || resource.by_claims) {
      continue;
    }
    auto view = std::make_shared<plugin::ResourceView>();
    view->resource = resource.name;
    view->devices = DevicesOf(resource);
    view->preference = PreferenceOf(resource, *snapshot, config.plugin.shared_policy);
    AddAnswers(resource, *snapshot, answering, *view);
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace kgpu::agent

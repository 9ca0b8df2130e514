#include "testing/kubelet/dra_plugins.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::kubelet {

DraPlugins::DraPlugins(const ClientSetting& setting, const Constants& constants, Events events)
    : setting_(setting), constants_(constants), events_(std::move(events)) {
}

DraPlugins::~DraPlugins() {
  for (const auto& [driver, timer] : countdowns_) {
    setting_.loop.CancelTimer(timer);
  }
}

StatusOr<std::string> DraPlugins::ChooseService(const std::vector<std::string>& versions) {
  if (versions.empty()) {
    return InvalidArgument("empty list of supported gRPC services (aka supported versions)");
  }
  const auto known = std::ranges::find_if(
      versions, [](const std::string& name) { return name == kDraV1 || name == kDraV1beta1; });
  if (known == versions.end()) {
    return InvalidArgument("none of the plugin's services [{}] is known: {}, {}",
                           fmt::join(versions, " "), kDraV1, kDraV1beta1);
  }
  return *known;
}

Status DraPlugins::Register(const std::string& driver, const std::string& endpoint,
                            const std::vector<std::string>& versions) {
  ASSIGN_OR_RETURN(std::string service, ChooseService(versions));
  Instances& instances = drivers_[driver];
  if (std::ranges::any_of(instances, [&endpoint](const auto& plugin) {
        return plugin->identity().endpoint == endpoint;
      })) {
    return AlreadyExists("endpoint {} already registered for DRA driver plugin {}", endpoint,
                         driver);
  }
  DraPlugin::Events events{
      .on_connection = [this, driver] { Sync(driver); },
      .on_health = [this, driver](const auto& reports) { events_.on_health(driver, reports); },
      .on_health_end = [this, driver] { events_.on_health_end(driver); }};
  instances.push_back(std::make_unique<DraPlugin>(
      setting_, constants_,
      DraPlugin::Identity{.driver = driver, .endpoint = endpoint, .service = std::move(service)},
      std::move(events)));
  KGPU_LOG(kInfo, "DRA plugin registered", {"driver", driver}, {"endpoint", endpoint});
  instances.back()->Start();
  Sync(driver);
  return OkStatus();
}

void DraPlugins::Deregister(const std::string& driver, const std::string& endpoint) {
  std::erase_if(drivers_[driver], [&endpoint](const auto& plugin) {
    return plugin->identity().endpoint == endpoint;
  });
  // Its stream has been cut with the connection; its end finds nobody.
  events_.on_health_end(driver);
  if (drivers_[driver].empty()) {
    drivers_.erase(driver);
  }
  Sync(driver);
}

StatusOr<DraPlugin*> DraPlugins::Find(const std::string& driver) const {
  const auto found = drivers_.find(driver);
  if (found == drivers_.end()) {
    return NotFound("DRA driver {} is not registered", driver);
  }
  const Instances& instances = found->second;
  const auto connected = std::find_if(instances.rbegin(), instances.rend(),
                                      [](const auto& plugin) { return plugin->is_connected(); });
  return connected == instances.rend() ? instances.back().get() : connected->get();
}

std::vector<DraPluginStatus> DraPlugins::plugins() const {
  std::vector<DraPluginStatus> plugins;
  for (const auto& [driver, instances] : drivers_) {
    for (const auto& plugin : instances) {
      plugins.push_back({plugin->identity(), plugin->is_connected()});
    }
  }
  return plugins;
}

void DraPlugins::Sync(const std::string& driver) {
  const auto found = drivers_.find(driver);
  const bool is_usable =
      found != drivers_.end() &&
      std::ranges::any_of(found->second, [](const auto& plugin) { return plugin->is_connected(); });
  const auto countdown = countdowns_.find(driver);
  if (is_usable && countdown != countdowns_.end()) {
    setting_.loop.CancelTimer(countdown->second);
    countdowns_.erase(countdown);
  } else if (!is_usable && countdown == countdowns_.end()) {
    countdowns_[driver] = setting_.loop.After(constants_.wipe_delay, [this, driver] {
      countdowns_.erase(driver);
      events_.on_gone(driver);
    });
  }
  events_.on_change();
}

bool DraPlugins::Cut(const std::string& driver) {
  bool is_any = false;
  for (const auto& [name, instances] : drivers_) {
    for (const auto& plugin : instances) {
      is_any |= (driver.empty() || driver == name) && plugin->Cut();
    }
  }
  return is_any;
}

bool DraPlugins::DropStreams(const std::string& driver) {
  bool is_any = false;
  for (const auto& [name, instances] : drivers_) {
    for (const auto& plugin : instances) {
      is_any |= (driver.empty() || driver == name) && plugin->DropStream();
    }
  }
  return is_any;
}

}  // namespace kgpu::kubelet

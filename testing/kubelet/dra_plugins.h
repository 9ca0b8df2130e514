// The registered DRA plugins: several instances of a driver may overlap.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/kubelet/constants.h"
#include "testing/kubelet/dra_api.h"
#include "testing/kubelet/dra_plugin.h"

namespace kgpu::kubelet {

struct DraPluginStatus {
  DraPlugin::Identity identity;
  bool is_connected = false;
};

// Lives on the loop's thread.
class DraPlugins {
 public:
  struct Events {
    std::function<void(const std::string& driver, const std::vector<HealthReport>&)> on_health;
    std::function<void(const std::string& driver)> on_health_end;
    // No instance of the driver has been connected for the time that the kubelet waits.
    std::function<void(const std::string& driver)> on_gone;
    std::function<void()> on_change;
  };

  // `constants` must outlive this.
  DraPlugins(const ClientSetting& setting, const Constants& constants, Events events);
  ~DraPlugins();
  DraPlugins(const DraPlugins&) = delete;
  DraPlugins& operator=(const DraPlugins&) = delete;

  // The first of `versions` that the kubelet knows. Errors: InvalidArgument.
  static StatusOr<std::string> ChooseService(const std::vector<std::string>& versions);

  // Connects in the background. Errors: AlreadyExists (this endpoint), those of ChooseService.
  Status Register(const std::string& driver, const std::string& endpoint,
                  const std::vector<std::string>& versions);
  void Deregister(const std::string& driver, const std::string& endpoint);

  // The instance that was registered last, of those that are connected if any is. Never null;
  // valid until the next event. Errors: NotFound.
  StatusOr<DraPlugin*> Find(const std::string& driver) const;
  // By driver, in the order of registration.
  std::vector<DraPluginStatus> plugins() const;

  // Faults: of all instances of `driver`, or of all drivers if it is empty.
  bool Cut(const std::string& driver);
  bool DropStreams(const std::string& driver);

 private:
  using Instances = std::vector<std::unique_ptr<DraPlugin>>;
  // Starts or stops the countdown to on_gone.
  void Sync(const std::string& driver);

  ClientSetting setting_;
  const Constants& constants_;
  Events events_;
  std::map<std::string, Instances> drivers_;
  std::map<std::string, TimerId> countdowns_;
};

}  // namespace kgpu::kubelet

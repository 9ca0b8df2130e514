#include "src/node/plugin/device_plugin.h"

#include <set>
#include <utility>

#include "src/node/plugin/kubelet.h"
#include "src/platform/base/log.h"
#include "src/platform/base/ticks.h"

namespace kgpu::plugin {
namespace {

// Folders are watched; this is for what no watch reports: a kubelet root made late, a lost event.
constexpr std::chrono::milliseconds kTick{2000};
constexpr std::chrono::milliseconds kTickWithoutWatch{1000};
// For the empty list to reach the kubelet before the socket goes.
constexpr std::chrono::milliseconds kFarewell{200};

}  // namespace

DevicePlugin::DevicePlugin(EventLoop& loop, config::Registration registration,
                           EndpointOptions options, std::function<void()> changed)
    : loop_(loop),
      registration_(registration),
      options_(std::move(options)),
      changed_(std::move(changed)) {
  WatchFolders();
  Tick();
}

DevicePlugin::~DevicePlugin() {
  for (auto& [resource, leaving] : leaving_) {
    loop_.CancelTimer(leaving.second);
  }
}

void DevicePlugin::WatchFolders() {
  const KubeletPaths paths(options_.kubelet_dir);
  auto watch = sys::FolderWatch::Create(loop_,
                                        registration_ == config::Registration::kKubeletSocket
                                            ? paths.device_plugins
                                            : paths.plugins_registry,
                                        [this] { Look(); });
  if (watch.ok()) {
    watch_ = *std::move(watch);
  }
}

void DevicePlugin::StopWatching() {
  if (watch_) {
    watch_->StopWatching();
  }
}

void DevicePlugin::Tick() {
  tick_.Arm(UntilNextTick(loop_.clock(), watch_ ? kTick : kTickWithoutWatch), [this] {
    if (!watch_) {
      WatchFolders();
    }
    Look();
    Tick();
  });
}

void DevicePlugin::Look() {
  for (const auto& [resource, endpoint] : endpoints_) {
    endpoint->Look();
  }
}

StatusOr<std::unique_ptr<Endpoint>> DevicePlugin::MakeEndpoint(const std::string& resource) {
  const auto make = registration_ == config::Registration::kKubeletSocket ? MakeSocketEndpoint
                                                                          : MakeWatcherEndpoint;
  return make(loop_, resource, options_, changed_);
}

void DevicePlugin::Prepare(const std::string& resource) {
  if (auto made = MakeEndpoint(resource); made.ok()) {
    prepared_[resource] = *std::move(made);
  }
}

Endpoint* DevicePlugin::Obtain(const std::string& resource) {
  if (const auto found = endpoints_.find(resource); found != endpoints_.end()) {
    return found->second.get();
  }
  std::unique_ptr<Endpoint> endpoint;
  if (const auto leaving = leaving_.find(resource); leaving != leaving_.end()) {
    loop_.CancelTimer(leaving->second.second);
    endpoint = std::move(leaving->second.first);
    leaving_.erase(leaving);
  } else if (auto prepared = prepared_.extract(resource)) {
    endpoint = std::move(prepared.mapped());
  } else {
    auto made = MakeEndpoint(resource);
    if (!made.ok()) {
      KGPU_LOG(kError, "resource not served", {"resource", resource},
               {"reason", Message(made.status())});
      return nullptr;
    }
    endpoint = *std::move(made);
  }
  return endpoints_.emplace(resource, std::move(endpoint)).first->second.get();
}

void DevicePlugin::Show(const std::vector<ResourceViewPtr>& views) {
  std::set<std::string> shown;
  for (const ResourceViewPtr& view : views) {
    shown.insert(view->resource);
  }
  // First what goes: a device must never be in two resources.
  std::vector<std::string> gone;
  for (const auto& [resource, endpoint] : endpoints_) {
    if (!shown.contains(resource)) {
      gone.push_back(resource);
    }
  }
  for (const std::string& resource : gone) {
    Withdraw(resource);
  }
  for (const ResourceViewPtr& view : views) {
    if (Endpoint* endpoint = Obtain(view->resource)) {
      endpoint->SetView(view);
    }
  }
  prepared_.clear();
  changed_();
}

void DevicePlugin::Withdraw(const std::string& resource) {
  auto found = endpoints_.extract(resource);
  auto empty = std::make_shared<ResourceView>();
  empty->resource = resource;
  found.mapped()->SetView(std::move(empty));
  KGPU_LOG(kInfo, "resource withdrawn", {"resource", resource});
  const TimerId timer = loop_.After(kFarewell, [this, resource] { leaving_.erase(resource); });
  leaving_.emplace(resource, std::pair(std::move(found.mapped()), timer));
}

std::vector<EndpointStatus> DevicePlugin::status() const {
  std::vector<EndpointStatus> list;
  list.reserve(endpoints_.size());
  for (const auto& [resource, endpoint] : endpoints_) {
    list.push_back(endpoint->status());
  }
  return list;
}

}  // namespace kgpu::plugin

#include "testing/kubelet/plugin_watcher.h"

#include <algorithm>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "testing/kubelet/dialer.h"
#include "testing/kubelet/resource_name.h"

namespace kgpu::kubelet {
namespace {

constexpr const char* kDevicePlugin = "DevicePlugin";
constexpr const char* kDraPlugin = "DRAPlugin";

Status Check(const PluginInfo& info) {
  if (info.type == kDraPlugin) {
    return DraPlugins::ChooseService(info.versions).status();
  }
  if (info.type != kDevicePlugin) {
    return InvalidArgument("no handler for plugins of type \"{}\"", info.type);
  }
  if (std::ranges::find(info.versions, kApiVersion) == info.versions.end()) {
    return InvalidArgument("version \"{}\" is not among those the plugin supports", kApiVersion);
  }
  if (!IsExtendedResourceName(info.name)) {
    return InvalidArgument("resource name \"{}\" is invalid", info.name);
  }
  return OkStatus();
}

}  // namespace

// One try to register the plugin behind a socket.
struct PluginWatcher::Attempt {
  std::string path;
  uint64_t generation = 0;
  PluginInfo info;
  std::unique_ptr<Dialer> dialer;
  std::unique_ptr<RegistrationClient> client;
};

StatusOr<std::unique_ptr<PluginWatcher>> PluginWatcher::Start(const Setting& setting,
                                                              const std::string& folder) {
  std::unique_ptr<PluginWatcher> watcher(new PluginWatcher(setting));
  FolderWatch::Handlers handlers;
  handlers.on_socket = [raw = watcher.get()](const std::string& path) {
    raw->wanted_[path] = raw->next_generation_++;
  };
  handlers.on_removed = [raw = watcher.get()](const std::string& path) {
    raw->wanted_.erase(path);
  };
  ASSIGN_OR_RETURN(watcher->watch_,
                   FolderWatch::Create(setting.client.loop, folder, std::move(handlers)));
  watcher->Tick();
  return watcher;
}

PluginWatcher::~PluginWatcher() {
  setting_.client.loop.CancelTimer(timer_);
}

std::vector<WatchedPlugin> PluginWatcher::plugins() const {
  std::vector<WatchedPlugin> plugins;
  for (const auto& [path, actual] : actual_) {
    plugins.push_back({path, actual.info});
  }
  return plugins;
}

void PluginWatcher::Tick() {
  EventLoop& loop = setting_.client.loop;
  timer_ = loop.After(setting_.constants.reconcile_period, [this] { Tick(); });
  if (setting_.faults.Take(kWatcherPoint)) {
    return;
  }
  std::vector<std::string> gone;
  for (const auto& [path, actual] : actual_) {
    const auto wanted = wanted_.find(path);
    if ((wanted == wanted_.end() || wanted->second != actual.generation) &&
        !attempts_.contains(path)) {
      gone.push_back(path);
    }
  }
  for (const std::string& path : gone) {
    Deregister(path);
  }
  for (const auto& [path, generation] : wanted_) {
    const auto back_off = back_offs_.find(path);
    const bool is_time =
        back_off == back_offs_.end() || back_off->second.retry_at <= loop.clock().Now();
    // A plugin that was deregistered just now is registered again at the next tick.
    if (is_time && !actual_.contains(path) && !attempts_.contains(path) &&
        std::ranges::find(gone, path) == gone.end()) {
      Begin(path, generation);
    }
  }
}

void PluginWatcher::Deregister(const std::string& path) {
  const PluginInfo info = actual_.at(path).info;
  actual_.erase(path);
  KGPU_LOG(kInfo, "plugin deregistered", {"socket", path}, {"name", info.name});
  if (info.type == kDevicePlugin) {
    // By name: another plugin of the same resource goes with it.
    setting_.plugins.Disconnect(info.name);
  } else {
    setting_.dra.Deregister(info.name, info.endpoint);
  }
  setting_.on_change();
}

void PluginWatcher::Begin(const std::string& path, uint64_t generation) {
  auto attempt = std::make_shared<Attempt>();
  attempt->path = path;
  attempt->generation = generation;
  attempts_[path] = attempt;
  attempt->dialer = std::make_unique<Dialer>(
      setting_.client.loop, path, setting_.constants.dial_limit, setting_.constants.dial_retry,
      [this, weak = std::weak_ptr(attempt)](StatusOr<UniqueFd> fd) {
        OnDialled(weak.lock(), std::move(fd));
      });
}

void PluginWatcher::OnDialled(const AttemptPtr& attempt, StatusOr<UniqueFd> fd) {
  attempt->dialer.reset();
  if (!fd.ok()) {
    End(attempt, Annotate(fd.status(), "dial"));
    return;
  }
  attempt->client =
      std::make_unique<RegistrationClient>(setting_.client, *std::move(fd), attempt->path);
  attempt->client->GetInfo(setting_.constants.get_info_limit,
                           lifeline_.Guard([this, attempt](const StatusOr<PluginInfo>& info) {
                             const Status lost = Lost(kGetInfoPoint);
                             OnInfo(attempt, lost.ok() ? info : lost);
                           }));
}

// The error of a fault at `point`, where a plugin has answered.
Status PluginWatcher::Lost(const char* point) {
  const std::optional<Fault> fault = setting_.faults.Take(point);
  return fault ? Unavailable("{}", fault->text) : OkStatus();
}

void PluginWatcher::OnInfo(const AttemptPtr& attempt, const StatusOr<PluginInfo>& info) {
  if (!info.ok()) {
    End(attempt, Annotate(info.status(), "GetInfo"));
    return;
  }
  attempt->info = *info;
  if (attempt->info.endpoint.empty()) {
    attempt->info.endpoint = attempt->path;
  }
  if (const Status status = Check(*info); !status.ok()) {
    Refuse(attempt, fmt::format("plugin validation failed: {}", Message(status)));
    return;
  }
  if (attempt->info.type != kDevicePlugin) {
    OnConnected(attempt, setting_.dra.Register(attempt->info.name, attempt->info.endpoint,
                                               attempt->info.versions));
    return;
  }
  setting_.plugins.Connect(
      attempt->info.name, attempt->info.endpoint,
      lifeline_.Guard([this, attempt](const Status& status) { OnConnected(attempt, status); }));
}

void PluginWatcher::OnConnected(const AttemptPtr& attempt, const Status& status) {
  if (!status.ok()) {
    Refuse(attempt, fmt::format("plugin registration failed: {}", Message(status)));
    return;
  }
  actual_[attempt->path] = {attempt->generation, attempt->info};
  attempt->client->NotifyRegistrationStatus(
      "", setting_.constants.notify_limit, lifeline_.Guard([this, attempt](const Status& sent) {
        const Status lost = Lost(kNotifyPoint);
        const Status& answer = lost.ok() ? sent : lost;
        if (!answer.ok() && actual_.contains(attempt->path)) {
          Deregister(attempt->path);
        }
        End(attempt, Annotate(answer, "NotifyRegistrationStatus"));
      }));
}

void PluginWatcher::Refuse(const AttemptPtr& attempt, const std::string& text) {
  attempt->client->NotifyRegistrationStatus(text, setting_.constants.notify_limit,
                                            lifeline_.Guard([this, attempt, text](const Status&) {
                                              End(attempt, Internal("{}", text));
                                            }));
}

void PluginWatcher::End(const AttemptPtr& attempt, const Status& status) {
  attempts_.erase(attempt->path);
  // The connection to the registration socket is for one attempt only.
  attempt->client.reset();
  setting_.on_change();
  if (status.ok()) {
    back_offs_.erase(attempt->path);
    return;
  }
  KGPU_LOG(kInfo, "plugin not registered", {"socket", attempt->path}, {"reason", Message(status)});
  // Names that come and go must not fill the memory.
  if (constexpr size_t kMostPaths = 256; back_offs_.size() > kMostPaths) {
    std::erase_if(back_offs_, [this](const auto& entry) { return !wanted_.contains(entry.first); });
  }
  BackOff& back_off = back_offs_[attempt->path];
  back_off.wait = back_off.wait.count() == 0
                      ? setting_.constants.retry_first
                      : std::min(back_off.wait * 2, setting_.constants.retry_longest);
  back_off.retry_at = setting_.client.loop.clock().Now() + back_off.wait;
}

}  // namespace kgpu::kubelet

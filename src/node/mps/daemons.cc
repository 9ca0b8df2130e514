#include "src/node/mps/daemons.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "src/node/mps/daemon_files.h"
#include "src/platform/base/log.h"

namespace kgpu::mps {
namespace {

namespace fs = std::filesystem;

// While a device that is not wanted any more may still be in use: often at first, and then for as
// long as somebody has it, which may be days.
constexpr std::chrono::seconds kLookSoon{1};
constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::seconds kLookLater{10};
// Folders of earlier agents that are looked at.
constexpr size_t kMostLeftovers = 128;

device::Health Unhealthy(const Daemon& daemon) {
  return {.is_healthy = false,
          .reason = daemon.state() == DaemonState::kFaulted ? "MpsFault" : kNotReadyReason,
          .message = daemon.problem()};
}

// `adds_up`: one container may have this slot and those before.
void Raise(Settings& settings, const pools::Slot& slot, bool adds_up) {
  constexpr unsigned kAllThreads = 100;
  const Bytes memory = slot.memory.value_or(Bytes{});
  settings.threads = adds_up ? std::min(settings.threads + slot.threads, kAllThreads)
                             : std::max(settings.threads, slot.threads);
  settings.memory =
      adds_up ? Bytes{settings.memory.count + memory.count} : std::max(settings.memory, memory);
}

// Whether an agent has made the folder of a device, and nobody else can write to it.
bool IsOurFolder(const fs::path& path) {
  struct stat info = {};
  return device::GpuUuid::Parse(path.filename().string()).ok() && lstat(path.c_str(), &info) == 0 &&
         S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// A daemon of an earlier agent is believed to work until it is known: a restart is no fault.
bool IsUsable(DaemonState state) {
  return state == DaemonState::kReady || state == DaemonState::kChecking;
}

bool MayHavePrograms(DaemonState state) {
  return IsUsable(state) || state == DaemonState::kFaulted;
}

// What a daemon that died while no agent watched has left. The record stays until they have ended:
// it tells whose they are.
void EndLeft(const std::string& folder) {
  const std::vector<LastingProcess> left = FindLeft(folder);
  for (const LastingProcess& process : left) {
    const Status status = process.Kill();
    KGPU_LOG(kInfo, "MPS server without a daemon ended", {"folder", folder}, {"pid", process.pid()},
             {"problem", Message(status)});
  }
  if (left.empty()) {
    RemoveRecord(folder);
  }
}

}  // namespace

std::map<std::string, Settings> SettingsOf(const pools::Assignment& assignment,
                                           bool serves_all_users) {
  std::map<std::string, Settings> devices;
  for (const pools::Resource& resource : assignment.resources) {
    std::map<std::string, Settings> of_resource;
    const bool adds_up = resource.share.multiple == sharing::MultipleSlots::kAllow;
    for (const pools::Slot& slot : resource.slots) {
      if (slot.threads == 0 || slot.health.reason == pools::kMigChangeReason) {
        continue;
      }
      const auto [entry, is_new] = of_resource.try_emplace(slot.device_uuid);
      if (is_new) {
        entry->second.threads = 0;
      }
      Raise(entry->second, slot, adds_up);
    }
    for (const auto& [device, settings] : of_resource) {
      const auto [entry, is_new] = devices.try_emplace(device, settings);
      entry->second.threads = std::max(entry->second.threads, settings.threads);
      entry->second.memory = std::max(entry->second.memory, settings.memory);
      entry->second.serves_all_users = serves_all_users;
    }
  }
  return devices;
}

Daemons::Daemons(EventLoop& loop, Options options, Actions actions)
    : loop_(loop), options_(std::move(options)), actions_(std::move(actions)) {
}

Daemons::~Daemons() = default;

void Daemons::Set(const std::map<std::string, Settings>& wanted) {
  FindLeftovers();
  for (const auto& [device, settings] : wanted) {
    Entry& entry = entries_[device];
    entry.wanted = settings;
    if (!entry.daemon) {
      Start(device, entry, settings);
    }
    if (entry.daemon->settings() == settings) {
      entry.since.reset();
    } else if (!entry.since) {
      entry.since = loop_.clock().Now();
    }
  }
  for (auto& [device, entry] : entries_) {
    if (!wanted.contains(device) && !entry.since) {
      entry.wanted.reset();
      entry.since = loop_.clock().Now();
    }
  }
  UpdateAfter(std::chrono::nanoseconds(0));
}

// Of devices that were shared by MPS before the agent started, perhaps with other settings, and
// perhaps no longer.
void Daemons::FindLeftovers() {
  if (std::exchange(has_looked_, true)) {
    return;
  }
  std::error_code error;
  for (fs::directory_iterator entry(options_.folder, error), end;
       !error && entry != end && entries_.size() < kMostLeftovers; entry.increment(error)) {
    if (!IsOurFolder(entry->path())) {
      continue;
    }
    const std::string device = entry->path().filename().string();
    if (const std::optional<Found> found = FindByRecord(entry->path().string())) {
      Start(device, entries_[device], found->settings);
    } else {
      EndLeft(entry->path().string());
    }
  }
}

void Daemons::Start(const std::string& device, Entry& entry, const Settings& settings) {
  entry.daemon = std::make_unique<Daemon>(
      loop_,
      Daemon::Options{.device_uuid = device,
                      .folder = fmt::format("{}/{}", options_.folder, device),
                      .cgroup = options_.cgroup,
                      .has_selinux = options_.has_selinux,
                      .find_program = options_.find_program,
                      .prepare = options_.prepare},
      settings,
      Daemon::Actions{
          .changed =
              [this] {
                UpdateAfter(std::chrono::nanoseconds(0));
                actions_.changed();
              },
          .happened = [this, device](DaemonEvent event) { actions_.happened(device, event); }});
}

// Later: a daemon must not be destroyed by its own report.
void Daemons::UpdateAfter(std::chrono::nanoseconds delay) {
  if (!update_timer_.is_armed()) {
    update_timer_.Arm(delay, [this] { Update(); });
  }
}

void Daemons::Update() {
  for (auto& [device, entry] : entries_) {
    const bool has_ended = entry.daemon && entry.daemon->state() == DaemonState::kStopped;
    if (has_ended) {
      entry.daemon.reset();
    }
    if (!entry.wanted) {
      EndIdle(device, entry);
    } else if (!entry.daemon) {
      entry.since.reset();
      Start(device, entry, *entry.wanted);
    } else if (entry.daemon->settings() != *entry.wanted) {
      EndIdle(device, entry);
    }
  }
  const size_t ended = std::erase_if(
      entries_, [](const auto& entry) { return !entry.second.wanted && !entry.second.daemon; });
  if (ended > 0 || !std::exchange(has_tidied_, true)) {
    Tidy();
  }
  LookAgain();
}

// While daemons that must end may still be in use.
void Daemons::LookAgain() {
  std::optional<SteadyTime> last;  // when the newest of those that end was wanted
  for (const auto& [device, entry] : entries_) {
    last = entry.since ? std::max(last, entry.since) : last;
  }
  if (last && !timer_.is_armed()) {
    const bool is_new = loop_.clock().Now() - *last < kPatience;
    timer_.Arm(is_new ? kLookSoon : kLookLater, [this] {
      actions_.look_at_pods();
      Update();
    });
  }
}

// What killed programs have left is nobody's once there is no server.
void Daemons::Tidy() {
  if (!entries_.empty() || options_.shared_memory.empty()) {
    return;
  }
  const Status status = EmptyFolder(options_.shared_memory);
  if (status.code() == StatusCode::kResourceExhausted) {
    has_tidied_ = false;
    UpdateAfter(kLookSoon);  // the rest; not all at once, which would hold the loop up
  } else if (!status.ok()) {
    KGPU_LOG(kWarning, "shared memory of MPS not emptied", {"folder", options_.shared_memory},
             {"problem", Message(status)});
  }
}

// A device that is in no pool any more, or has other settings, keeps its daemon until the last pod
// with it has ended.
void Daemons::EndIdle(const std::string& device, Entry& entry) {
  if (!entry.daemon) {
    return;
  }
  const bool is_idle = entry.wanted && !MayHavePrograms(entry.daemon->state());
  if (is_idle || actions_.obstacle(device, entry.since.value_or(SteadyTime())).empty()) {
    entry.daemon->Stop();
  }
}

// It counts as not offered from the moment that other settings are wanted, so that its last user
// can be awaited.
device::Health Daemons::HealthOf(const Entry& entry) {
  if (!entry.daemon) {
    return {};
  }
  if (!IsUsable(entry.daemon->state())) {
    return Unhealthy(*entry.daemon);
  }
  if (entry.wanted && entry.daemon->settings() != *entry.wanted) {
    return {.is_healthy = false,
            .reason = kNotReadyReason,
            .message = "its MPS daemon gets other limits once nobody uses it"};
  }
  return {};
}

device::Health Daemons::HealthOf(const std::string& device) const {
  const auto entry = entries_.find(device);
  if (entry == entries_.end() || !entry->second.daemon) {
    return {.is_healthy = false,
            .reason = kNotReadyReason,
            .message = "its MPS daemon is not started yet"};
  }
  return HealthOf(entry->second);
}

bool Daemons::End(const std::string& device) {
  const auto entry = entries_.find(device);
  if (entry == entries_.end()) {
    return true;
  }
  if (!entry->second.wanted && entry->second.daemon) {
    entry->second.daemon->Stop();
  }
  return false;
}

void Daemons::UpdateHealth(pools::Assignment& assignment) const {
  for (pools::Resource& resource : assignment.resources) {
    for (pools::Slot& slot : resource.slots) {
      const auto entry = slot.threads == 0 ? entries_.end() : entries_.find(slot.device_uuid);
      if (slot.health.is_healthy && entry != entries_.end()) {
        slot.health = HealthOf(entry->second);
      }
    }
  }
}

std::vector<std::string> Daemons::problems() const {
  std::vector<std::string> problems;
  for (const auto& [device, entry] : entries_) {
    if (entry.wanted && entry.daemon) {
      const std::string& problem = entry.daemon->problem();
      const std::string text = problem.empty() ? HealthOf(entry).message : problem;
      if (!text.empty()) {
        problems.push_back(fmt::format("{}: {}", device, text));
      }
    }
  }
  return problems;
}

}  // namespace kgpu::mps

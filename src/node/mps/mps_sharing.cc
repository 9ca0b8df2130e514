#include "src/node/mps/mps_sharing.h"

#include <fmt/format.h>

#include <set>
#include <tuple>
#include <utility>

#include "src/node/mps/daemon_files.h"
#include "src/node/mps/find_program.h"
#include "src/node/pods/obstacle.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/selinux.h"

namespace kgpu::mps {
namespace {

struct MpsEventText {
  std::string_view reason;
  std::string_view what;    // has happened
  std::string_view effect;  // on programs
};

MpsEventText TextOf(mps::DaemonEvent event) {
  switch (event) {
    case mps::DaemonEvent::kEnded:
      return {.reason = "MPSDaemonEnded",
              .what = "its MPS daemon has ended, and is started again",
              .effect = "programs that were using it have lost it: restart them"};
    case mps::DaemonEvent::kHung:
      return {.reason = "MPSDaemonHung",
              .what = "its MPS daemon did not answer, and is replaced",
              .effect = "programs that were using it have lost it: restart them"};
    case mps::DaemonEvent::kFaulted:
      return {.reason = "MPSFault",
              .what =
                  "a fault of one program has ended the work of all programs on it; the driver "
                  "does not say which",
              .effect =
                  "no program can start on it until all that were using it have ended: "
                  "restart them"};
  }
  return {};
}

kube::Event EventAbout(std::string_view device, mps::DaemonEvent event,
                       kube::ObjectReference regarding) {
  const MpsEventText text = TextOf(event);
  return {.is_warning = true,
          .reason = std::string(text.reason),
          .action = "Supervising",
          .note = fmt::format("{}: {}; {}", device, text.what, text.effect),
          .regarding = std::move(regarding),
          .subject = std::string(device)};
}

// Devices that were held back until nobody used them, and are now shown as something else.
std::set<std::string> ReleasedOf(const std::map<std::string, Settings>& before,
                                 const std::map<std::string, Settings>& held,
                                 const pools::Assignment& fresh) {
  std::set<std::string> released;
  for (const pools::Resource& resource : fresh.resources) {
    for (const pools::Slot& slot : resource.slots) {
      if (before.contains(slot.device_uuid) && !held.contains(slot.device_uuid)) {
        released.insert(slot.device_uuid);
      }
    }
  }
  return released;
}

// Prepares the folder that containers get as their /dev/shm: before each start of a daemon, since
// root in any of them can change its owner and its mode.
Status PrepareSharedMemory(const MpsSharingOptions& options) {
  if (!options.shared_memory_problem.empty()) {
    return FailedPrecondition("{}", options.shared_memory_problem);
  }
  const std::string& shared = options.own_shared_memory;
  if (shared.empty()) {
    return OkStatus();
  }
  constexpr mode_t kForAll = 01777;
  RETURN_IF_ERROR(mps::OwnFolder(shared, kForAll));
  return options.has_selinux ? sys::LabelForContainers(shared) : OkStatus();
}

}  // namespace

std::vector<kube::Event> MpsEvents(std::string_view device, mps::DaemonEvent event,
                                   const pods::PodMap& pods, const std::string& node_name) {
  std::vector<kube::Event> events;
  if (!node_name.empty()) {
    events.push_back(
        EventAbout(device, event, {.api_version = "v1", .kind = "Node", .name = node_name}));
  }
  std::set<std::tuple<std::string, std::string, std::string>> told;
  for (const pods::Container& user : pods::UsersOf(pods, device)) {
    if (told.emplace(user.pod_namespace, user.pod, user.pod_uid).second) {
      events.push_back(EventAbout(device, event,
                                  {.api_version = "v1",
                                   .kind = "Pod",
                                   .space = user.pod_namespace,
                                   .name = user.pod,
                                   .uid = user.pod_uid}));
    }
  }
  return events;
}

MpsSharing::MpsSharing(EventLoop& loop, const host::DriverRoot& root, MpsSharingOptions options,
                       node::Effects& effects)
    : options_(std::move(options)),
      effects_(effects),
      daemons_(loop,
               {.folder = options_.folder,
                .cgroup = options_.cgroup,
                .has_selinux = options_.has_selinux,
                .shared_memory = options_.own_shared_memory,
                .find_program =
                    [this, &root] {
                      return mps::FindControlProgram(root.driver, options_.folder + "/lib");
                    },
                .prepare = [this] { return PrepareSharedMemory(options_); }},
               {.obstacle =
                    [this](const std::string& device, SteadyTime since) {
                      const node::NodeState state = effects_.now();
                      return pods::PodObstacleTo(device, since,
                                                 {.pods = *state.pods, .list = state.pod_list});
                    },
                .look_at_pods = [this] { effects_.LookAtPods(); },
                .changed = [this] { effects_.AssignAgain(); },
                .happened = [this](const std::string& device,
                                   mps::DaemonEvent event) { OnHappened(device, event); }}) {
}

void MpsSharing::Assign(const node::NodeState& state, node::Draft& draft) {
  // While the driver is silent, nothing is known about devices: their daemons stay.
  const device::Driver& driver = state.snapshot->driver;
  if (driver.state == device::DriverState::kReady) {
    serves_all_users_ = mps::ServesAllUsers(driver.version);
    std::map<std::string, mps::Settings> held = mps::SettingsOf(draft.held, serves_all_users_);
    const std::set<std::string> released = ReleasedOf(held_, held, draft.fresh);
    held_ = held;
    assigned_ = std::move(held);
    assigned_.merge(mps::SettingsOf(draft.fresh, serves_all_users_));
    SetWanted();
    EndUnused(released);
  }
  MarkHealth(draft.fresh);
}

void MpsSharing::SetClaimed(std::map<std::string, mps::Settings> claimed) {
  if (claimed == claimed_) {
    return;
  }
  std::set<std::string> released;
  for (const auto& [device, settings] : claimed_) {
    if (!claimed.contains(device)) {
      released.insert(device);
    }
  }
  claimed_ = std::move(claimed);
  SetWanted();
  EndUnused(released);
}

// Immediately: pods that get the device next have nothing to do with its daemon, and would keep it.
void MpsSharing::EndUnused(const std::set<std::string>& devices) {
  for (const std::string& device : devices) {
    (void)daemons_.End(device);  // not if it is wanted again
  }
}

void MpsSharing::SetWanted() {
  wanted_ = assigned_;
  for (const auto& [device, settings] : claimed_) {
    wanted_.try_emplace(device, settings).first->second.serves_all_users = serves_all_users_;
  }
  daemons_.Set(stands_back_ ? std::map<std::string, mps::Settings>() : wanted_);
}

device::Health MpsSharing::HealthOf(const std::string& device) const {
  return options_.shared_memory_problem.empty()
             ? daemons_.HealthOf(device)
             : device::Health{.is_healthy = false,
                              .reason = mps::kNotReadyReason,
                              .message = options_.shared_memory_problem};
}

void MpsSharing::MarkHealth(pools::Assignment& shown) const {
  daemons_.UpdateHealth(shown);
  if (options_.shared_memory_problem.empty()) {
    return;
  }
  for (pools::Resource& resource : shown.resources) {
    for (pools::Slot& slot : resource.slots) {
      if (slot.threads != 0 && slot.health.is_healthy) {
        slot.health = {.is_healthy = false,
                       .reason = mps::kNotReadyReason,
                       .message = options_.shared_memory_problem};
      }
    }
  }
}

std::vector<std::string> MpsSharing::problems() const {
  if (stands_back_ || options_.shared_memory_problem.empty()) {
    return daemons_.problems();
  }
  std::vector<std::string> problems;
  problems.reserve(wanted_.size());
  for (const auto& [device, settings] : wanted_) {
    problems.push_back(fmt::format("{}: {}", device, options_.shared_memory_problem));
  }
  return problems;
}

void MpsSharing::Update(const node::NodeState& state) {
  if (stands_back_ != state.stands_back()) {
    stands_back_ = state.stands_back();
    daemons_.Set(stands_back_ ? std::map<std::string, mps::Settings>() : wanted_);
  }
}

void MpsSharing::Remark(std::vector<std::string>& remarks) const {
  for (const std::string& problem : problems()) {
    remarks.push_back(fmt::format("MPS: {}", problem));
  }
}

void MpsSharing::OnHappened(const std::string& device, mps::DaemonEvent event) {
  const MpsEventText text = TextOf(event);
  KGPU_LOG(kError, "MPS trouble", {"device", device}, {"what", text.what});
  const node::NodeState state = effects_.now();
  for (kube::Event& about : MpsEvents(device, event, *state.pods, options_.node_name)) {
    effects_.Notify(std::move(about));
  }
}

}  // namespace kgpu::mps

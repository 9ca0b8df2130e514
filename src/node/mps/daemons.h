// The MPS control daemons of a node: one for each device that is shared by MPS, so that a program's
// fault ends only programs of its own device.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/gpu.h"
#include "src/node/mps/daemon.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/timer.h"

namespace kgpu::mps {

// The settings of each device that is shared by MPS: those of its largest slot, or of all slots of
// a resource together if a container may have several. Devices whose MIG layout is to change have
// none: an idle server would be a user of the GPU for ever. `serves_all_users` is as in Settings.
std::map<std::string, Settings> SettingsOf(const pools::Assignment& assignment,
                                           bool serves_all_users);

// Of slots whose device cannot be used through MPS now.
inline constexpr char kNotReadyReason[] = "MpsNotReady";

// Lives on the loop's thread. Destroyed, it leaves the daemons running.
class Daemons {
 public:
  struct Options {
    std::string folder;    // of all devices, by this process's path; on a file system of memory
    std::string cgroup{};  // see Daemon::Options
    bool has_selinux = false;
    // Of programs and servers; emptied when no daemon runs. Empty: it is not for MPS alone.
    std::string shared_memory{};
    std::function<StatusOr<Program>()> find_program;
    std::function<Status()> prepare{};  // see Daemon::Options
  };
  struct Actions {
    // Why a device that has not been offered since then may still be used; empty: nobody does.
    std::function<std::string(const std::string& device, SteadyTime since)> obstacle;
    std::function<void()> look_at_pods;
    std::function<void()>
        changed;  // what UpdateHealth marks, or problems(), has changed; never within a call
    std::function<void(const std::string& device, DaemonEvent)> happened;
  };

  // `loop` must outlive it. Finds the daemons of an earlier agent with the first Set.
  Daemons(EventLoop& loop, Options options, Actions actions);
  ~Daemons();
  Daemons(const Daemons&) = delete;
  Daemons& operator=(const Daemons&) = delete;

  // Exactly these devices have daemons from now on. One that is not among them loses its daemon
  // once nobody uses it; one with other settings than before gets a new daemon then, and until then
  // takes no new programs.
  void Set(const std::map<std::string, Settings>& wanted);
  // Marks the slots of devices that cannot be used.
  void UpdateHealth(pools::Assignment& assignment) const;
  // Of one that is wanted: unhealthy while it does not work, or not yet.
  device::Health HealthOf(const std::string& device) const;
  // Ends the daemon of a device that is not wanted and, as the caller knows, that nobody uses.
  // Whether there is none any more.
  bool End(const std::string& device);
  // For people, by device.
  std::vector<std::string> problems() const;

 private:
  struct Entry {
    std::unique_ptr<Daemon> daemon;
    std::optional<Settings> wanted;   // nothing: it ends
    std::optional<SteadyTime> since;  // when it was wanted last as it is, if it ends or is replaced
  };

  void FindLeftovers();
  void Start(const std::string& device, Entry& entry, const Settings& settings);
  void Update();
  void UpdateAfter(std::chrono::nanoseconds delay);
  void LookAgain();
  void Tidy();
  void EndIdle(const std::string& device, Entry& entry);
  static device::Health HealthOf(const Entry& entry);

  EventLoop& loop_;
  const Options options_;
  const Actions actions_;
  std::map<std::string, Entry> entries_;  // by device
  bool has_tidied_ = false;               // what an earlier agent left
  bool has_looked_ = false;               // for leftovers
  Timer timer_{loop_};
  Timer update_timer_{loop_};
};

}  // namespace kgpu::mps

// The part for devices that are shared by MPS: their daemons follow the assignment, their slots are
// healthy while the daemon works, and pods learn when it did not.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/inspect/driver_root.h"
#include "src/kube/api/event_recorder.h"
#include "src/node/mps/daemons.h"
#include "src/node/mps/paths.h"
#include "src/node/part/part.h"
#include "src/node/pods/pod_map.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/event_loop.h"

namespace kgpu::mps {

struct MpsSharingOptions {
  std::string folder;  // of the daemons, by this process's path
  mps::Paths paths{};  // as container engines call them
  bool has_selinux = false;
  // The agent's /dev/shm, if it is for MPS alone.
  std::string own_shared_memory{};
  // The reason why daemons and programs share no memory; empty: they do. With a problem, no daemon
  // starts and no pod gets a slot, whatever an earlier agent's daemons do.
  std::string shared_memory_problem{};
  std::string cgroup{};     // for the daemons, by this process's path; empty: the agent's
  std::string node_name{};  // empty: no events about the node
};

// One for the node, unless its name is empty, and one for each pod that has a slot of the device.
std::vector<kube::Event> MpsEvents(std::string_view device, mps::DaemonEvent event,
                                   const pods::PodMap& pods, const std::string& node_name);

// Lives on the loop's thread.
class MpsSharing final : public node::Part {
 public:
  // `loop`, `root` and `effects` must outlive it.
  MpsSharing(EventLoop& loop, const host::DriverRoot& root, MpsSharingOptions options,
             node::Effects& effects);

  // Starts and ends daemons, and marks slots whose daemon does not work. Daemons of held devices
  // stay.
  void Assign(const node::NodeState& state, node::Draft& draft) override;
  void MarkHealth(pools::Assignment& shown) const override;
  // While another device plugin serves the GPUs, they are not ours to share: daemons end once
  // nobody uses them.
  void Update(const node::NodeState& state) override;
  void Remark(std::vector<std::string>& remarks) const override;
  // Devices that claims share among their own programs, beside those of pools, with the settings of
  // their daemons but for the users. The daemon of a device that is not among them any more ends:
  // the pods of its claim have ended.
  void SetClaimed(std::map<std::string, mps::Settings> claimed);
  // Of a device with a daemon: unhealthy while programs cannot use it.
  device::Health HealthOf(const std::string& device) const;
  // Ends the daemon of a device whose claim has ended, although the kubelet may still list its pod.
  // Whether there is none any more.
  bool End(const std::string& device) { return daemons_.End(device); }
  const mps::Paths& paths() const { return options_.paths; }
  // For people, by device.
  std::vector<std::string> problems() const;

 private:
  void OnHappened(const std::string& device, mps::DaemonEvent event);

  const MpsSharingOptions options_;
  node::Effects& effects_;
  bool stands_back_ = false;
  void SetWanted();
  void EndUnused(const std::set<std::string>& devices);

  bool serves_all_users_ = false;
  std::map<std::string, mps::Settings> assigned_;  // of pools, by device
  std::map<std::string, mps::Settings> held_;      // of pools, by devices that change once unused
  std::map<std::string, mps::Settings> claimed_;   // of claims
  std::map<std::string, mps::Settings> wanted_;    // of both
  mps::Daemons daemons_;
};

}  // namespace kgpu::mps

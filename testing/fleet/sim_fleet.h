// Many GPU nodes in a stub API server, each with a light agent and kubelet: they run the
// controller's pods, report drivers and health, and fail as asked. And a check of every change.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/random.h"
#include "testing/apiserver/api.h"

namespace kgpu::fleet_sim {

// Parts of 1.
struct Troubles {
  double install_fails = 0;
  double install_hangs = 0;
  double needs_reboot = 0;  // exit code 8; the node reboots ten minutes later
  double agent_hangs = 0;   // the new driver is never reported
  double validation_fails = 0;
  double validation_hangs = 0;
};

struct SimOptions {
  size_t nodes = 10;
  size_t gpu_pods = 1;        // of each node, half of them jobs
  size_t other_pods = 0;      // without GPUs
  double protected_pods = 0;  // part of the GPU pods that Protect protects
  double stuck_pods = 0;      // part that terminates for kStuckFor
  bool is_single = false;     // device plugins give a pod one GPU only, as for shared ones
  bool has_ballast = false;   // nodes as large as real ones: labels, images
  std::string driver = "535.104.05";
  std::chrono::milliseconds shortest{2'000};  // what a pod, a job or an agent takes
  std::chrono::milliseconds longest{30'000};
  Troubles troubles{};
};

// Lives on the loop's thread; all of them must outlive it. Node "node-00017" has the label
// pool=a or pool=b, by turns.
class SimFleet {
 public:
  SimFleet(EventLoop& loop, apiserver::Api& api, Random& random, SimOptions options);
  ~SimFleet();
  SimFleet(const SimFleet&) = delete;
  SimFleet& operator=(const SimFleet&) = delete;

  Troubles& troubles() { return options_.troubles; }

  // Somebody or something else: the kubelet stops reporting, or is back.
  void SetReady(size_t node, bool is_ready);
  void SetHealthy(size_t node, bool is_healthy, const std::string& reason = "RowRemapFailure");
  void SetDriver(size_t node, const std::string& driver);
  void DeleteNode(size_t node);
  // The machine joins again, as a new node of the same name with the driver it had.
  void RestoreNode(size_t node);
  // Somebody deletes the node's GPU pods.
  void DeletePods(size_t node);
  // A disruption budget that allows no eviction of `protected_pods`, or any.
  void Protect(bool is_protected);
  // What the reboot, or a person with `kubectl annotate`, does for all nodes that failed.
  void RetryFailed();

  std::string Name(size_t node) const;
  size_t CountDriver(const std::string& prefix) const;
  size_t CountFailed() const;
  size_t CountCordoned() const;
  size_t CountFenced() const;
  // Nodes with an upgrade's record, by state.
  std::map<std::string, size_t> States() const;

  // From now on each change of a node is checked: no more than `most` nodes of a pool may have a
  // record, and none may be taken that makes more than `most` unavailable.
  void CheckBudget(size_t most) { most_ = most; }
  const std::vector<std::string>& violations() const { return violations_; }
  uint64_t checked() const { return checked_; }
  size_t most_unavailable() const { return most_seen_; }

 private:
  struct Node {
    std::string driver{};
    bool is_ready = true;
    bool is_gpu_ready = true;
    bool is_healthy = true;
    bool is_gone = false;
    uint32_t life = 0;  // how often it has joined again
    std::string health_reason = "AllHealthy";
  };
  // What the check knows of a node.
  struct Seen {
    std::string pool{};
    bool has_record = false;
    bool is_unavailable = false;
    SteadyTime since{};  // of is_unavailable
  };

  void MakeNode(size_t number);
  void MakePods(size_t number);
  void MakePod(size_t number, const std::string& name, bool has_gpu, bool is_job);
  void WriteStatus(size_t number);
  void WriteDriver(size_t number);
  void OnChange(const apiserver::Change& change);
  void Check(const apiserver::Change& change);
  void OnPod(const boost::json::object& pod);
  void Install(size_t number, const std::string& path, const std::string& driver);
  void Validate(const std::string& path);
  void Reject(const std::string& path);
  void EndPod(const std::string& path, const std::string& phase, int code);
  size_t CountNodes(const std::function<bool(const boost::json::object&)>& is_counted) const;
  void After(std::chrono::nanoseconds delay, std::function<void()> task);
  std::chrono::nanoseconds AnyTime();
  bool Happens(double part) { return random_.Uniform() < part; }
  size_t NumberOf(std::string_view name) const;

  EventLoop& loop_;
  apiserver::Api& api_;
  Random& random_;
  SimOptions options_;
  std::vector<Node> nodes_;
  std::map<std::string, Seen> seen_;
  std::map<std::string, size_t> records_;      // by pool
  std::map<std::string, size_t> unavailable_;  // by pool
  uint64_t observer_ = 0;
  size_t most_ = 0;
  size_t most_seen_ = 0;
  uint64_t checked_ = 0;
  std::vector<std::string> violations_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace kgpu::fleet_sim

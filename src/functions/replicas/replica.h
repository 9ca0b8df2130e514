// One replica as the calls of its function see it: whether it takes calls and where, how many it
// has, and for how long it has held GPUs. A backend derives from this how its replicas start and
// end: containers of this machine, or pods.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/clock.h"
#include "src/platform/net/http/idle_connections.h"

namespace kgpu::functions {

enum class ReplicaState : uint8_t {
  kCold,      // nothing exists yet
  kStarting,  // is being started, until a worker is ready
  kRunning,   // takes calls
  kDraining,  // takes no more calls; is being removed
  kGone,      // holds nothing
};

// "cold", "starting", "running", "draining", "gone".
std::string_view NameOf(ReplicaState state);

class ReplicaSet;

// Owned by the backend; lives on the loop's thread.
class Replica {
 public:
  // `set` must outlive the replica.
  Replica(ReplicaSet& set, std::string id);
  // Calls in progress go on: each has a connection of its own.
  virtual ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const std::string& id() const { return id_; }
  virtual ReplicaState state() const = 0;
  // Of its watchdog: the path of a unix socket, or "10.0.0.7:8080".
  virtual std::string address() const = 0;
  // Of the deployment that it belongs to.
  virtual const std::string& revision() const = 0;
  // Adds what only this kind of replicas has to its entry in lists, for people and programs.
  virtual void Describe(boost::json::object& entry) const = 0;

  int64_t in_flight() const { return in_flight_; }
  // GPUs that it holds.
  int64_t gpus() const { return gpus_; }
  // Reports the GPU time until now to the set.
  void CountGpuTime();

 protected:
  const ReplicaSet& set() const { return set_; }
  // From now on.
  void SetGpus(int64_t gpus);
  // Closes the connections that no call uses.
  void DropConnections();
  // Another attempt may succeed: calls may be given to it at once.
  void ClearRefusal() { shunned_until_ = {}; }
  // Something has changed that decides on calls, or on the number of replicas.
  void Changed();
  // Calls begin and end: the backend may want to know.
  virtual void OnBusy() {}
  virtual void OnIdle() {}

 private:
  friend class ReplicaSet;

  void BeginCall();
  void EndCall();

  ReplicaSet& set_;
  const std::string id_;
  http::IdleConnections idle_;
  int64_t in_flight_ = 0;
  SteadyTime shunned_until_{};
  int64_t gpus_ = 0;
  SteadyTime counted_{};  // GPU time is counted up to here
};

}  // namespace kgpu::functions

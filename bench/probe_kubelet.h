// A kubelet reduced to a stopwatch: accepts registrations, reads the list of devices, and notes
// when each happened. Plain blocking gRPC, to add as little overhead as possible.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace kgpu::bench {

using SteadyPoint = std::chrono::steady_clock::time_point;
using HealthyIds = std::map<std::string, std::set<std::string>>;  // by resource

// One call and its duration.
struct CallTime {
  double microseconds = 0;
  bool is_ok = false;
};

class ProbeKubelet {
 public:
  // Listens on <dir>/device-plugins/kubelet.sock; the folders must exist.
  explicit ProbeKubelet(std::string dir);
  ~ProbeKubelet();
  ProbeKubelet(const ProbeKubelet&) = delete;
  ProbeKubelet& operator=(const ProbeKubelet&) = delete;

  // Forgets its notes; the others wait for the next registration, first list, or list with
  // `unhealthy` devices. Aborts the benchmark after 20 s.
  void Expect();
  SteadyPoint WaitRegistered();
  SteadyPoint WaitCounted();
  SteadyPoint WaitUnhealthy(size_t unhealthy);
  // When the newest list arrived, once the healthy devices of all resources satisfy `condition`.
  SteadyPoint WaitHealthy(const std::function<bool(const HealthyIds&)>& condition);

  // Ends every connection and the server, removes all sockets and listens again, like a restart.
  // Returns when it listens.
  SteadyPoint Restart();

  // Calls of the plugin that registered last.
  CallTime Allocate(const std::vector<std::string>& ids);
  CallTime Options();
  // Of all resources.
  std::vector<std::string> ids() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kgpu::bench

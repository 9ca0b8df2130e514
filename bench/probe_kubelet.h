// A kubelet reduced to a stopwatch: takes registrations, reads the list of devices, notes when each
// thing happened. Plain blocking gRPC, so that it adds as little as can be.
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

// One call and what it took.
struct CallTime {
  double microseconds = 0;
  bool is_ok = false;
};

class ProbeKubelet {
 public:
  // Listens on <dir>/device-plugins/kubelet.sock; the folders are there.
  explicit ProbeKubelet(std::string dir);
  ~ProbeKubelet();
  ProbeKubelet(const ProbeKubelet&) = delete;
  ProbeKubelet& operator=(const ProbeKubelet&) = delete;

  // Forgets what it has noted, and waits for the next registration, first list, or list with
  // `unhealthy` devices. Aborts the benchmark after 20 s.
  void Expect();
  SteadyPoint WaitRegistered();
  SteadyPoint WaitCounted();
  SteadyPoint WaitUnhealthy(size_t unhealthy);
  // When the newest list came once the healthy devices of all resources are as desired.
  SteadyPoint WaitHealthy(const std::function<bool(const HealthyIds&)>& condition);

  // Ends every connection and the server, removes all sockets and listens again, as a restart does.
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

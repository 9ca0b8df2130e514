// The built agent on a simulated host with eight GPUs, a stub kubelet and two pods, with its pages
// at addresses of its own.
#pragma once

#include <boost/json/value.hpp>

#include <memory>
#include <string>

#include "src/platform/net/http/message.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::monitoring {

class AgentHost {
 public:
  // `metrics` is the section of that name without its names and listen: "tls: {…}\n  auth: {…}".
  // Without a kubeconfig, no cluster is used.
  explicit AgentHost(const std::string& metrics, const std::string& kubeconfig = "");
  ~AgentHost();
  AgentHost(const AgentHost&) = delete;
  AgentHost& operator=(const AgentHost&) = delete;

  e2e::SimHost& sim() { return host_; }
  std::string At(const std::string& path) const { return host_.dir().At(path); }
  // With the kubelet: its endpoints are open by then.
  void WaitUntilRegistered() const;
  // Then starts the pods: team-a/train has one GPU, team-b/serve two.
  void StartPods();
  // Of the endpoint with these names: "127.0.0.2:4711".
  std::string AddressOf(const std::string& names) const;
  boost::json::value Status() const;
  // Of agent.sock: every name.
  http::Response Page() const;
  // As Prometheus requests it.
  static http::Response PageOf(const std::string& address);
  pid_t agent_pid() const { return agent_->pid(); }

 private:
  e2e::SimHost host_{"8xH100-SXM5-80GB"};
  std::unique_ptr<e2e::Background> agent_;
};

}  // namespace kgpu::monitoring

#include "tests/monitoring/agent_host.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "testing/status_matchers.h"

namespace kgpu::monitoring {
namespace {

namespace json = boost::json;
using e2e::ProgramPath;
using e2e::RunProgram;

// Loopback has many addresses: a port of each is free.
constexpr const char* kConfig = R"(apiVersion: kgpu.dev/v1
kind: NodeConfig
http: {{address: "127.0.0.1:0"}}
health: {{holdDown: 1s}}
metrics:
  names: [kgpu, dcgm, gke]
  every: 1s
  listen: {{dcgm: "127.0.0.2:0", gke: "127.0.0.3:0"}}
  {}
)";

void Run(std::vector<std::string> argv) {
  const e2e::Result result = RunProgram(std::move(argv));
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

}  // namespace

AgentHost::AgentHost(const std::string& metrics, const std::string& kubeconfig) {
  host_.dir().WriteFile("config.yaml", fmt::format(kConfig, metrics));
  Run({"kgpu-sim", "kubelet", "start", At("kubelet")});
  std::vector<std::string> argv = {
      ProgramPath("kgpu"), "agent",    "--kubelet-dir",   At("kubelet"), "--run-dir",
      At("run"),           "--config", At("config.yaml"), "--node",      "n1",
      "--state-dir",       At("state")};
  if (!kubeconfig.empty()) {
    argv.insert(argv.end(), {"--kubeconfig", kubeconfig});
  }
  for (const std::string& flag : host_.flags()) {
    argv.push_back(flag);
  }
  agent_ = std::make_unique<e2e::Background>(argv);
}

AgentHost::~AgentHost() {
  agent_.reset();
  RunProgram({"kgpu-sim", "kubelet", "stop", At("kubelet")});
}

void AgentHost::WaitUntilRegistered() const {
  Run({"kgpu-sim", "kubelet", "wait", At("kubelet"), "--resource", "nvidia.com/gpu",
       "--allocatable", "8"});
}

void AgentHost::StartPods() {
  WaitUntilRegistered();
  Run({"kgpu-sim", "kubelet", "pod", At("kubelet"), "team-a/train", "--resource",
       "nvidia.com/gpu=1"});
  Run({"kgpu-sim", "kubelet", "pod", At("kubelet"), "team-b/serve", "--resource",
       "nvidia.com/gpu=2"});
}

json::value AgentHost::Status() const {
  const e2e::Result result =
      RunProgram({"kgpu", "status", "--run-dir", At("run"), "--output", "json"});
  const auto tree = doc::Parse(result.out, doc::Format::kJson, "status");
  EXPECT_OK(tree.status()) << result.err;
  return tree.ok() ? *tree : json::value();
}

std::string AgentHost::AddressOf(const std::string& names) const {
  const json::value status = Status();
  for (const json::value& endpoint : status.at("metrics").as_array()) {
    if (endpoint.at("names") == json::string_view(names) && endpoint.at("problem") == "") {
      return endpoint.at("address").as_string().c_str();
    }
  }
  ADD_FAILURE() << "no endpoint with " << names << ": " << json::serialize(status.at("metrics"));
  return "";
}

http::Response AgentHost::Page() const {
  return PageOf(At("run/agent.sock"));
}

http::Response AgentHost::PageOf(const std::string& address) {
  const auto page = http::Fetch(address, {.target = "/metrics"});
  EXPECT_OK(page.status());
  return page.ok() ? *page : http::Response{.code = 0};
}

}  // namespace kgpu::monitoring

// The built agent on a simulated host with four GPUs, with the stub API server and, if a test
// starts it, the stub kubelet. The agent has the rights that the chart gives it, and no test may
// see a request of it refused.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "testing/status_matchers.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {

constexpr const char* kAdmin = "admin-token";

class ClusterFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
    host_ = std::make_unique<SimHost>(Profile());
    std::vector<std::string> server = {ProgramPath("kgpu-sim"),
                                       "apiserver",
                                       "--kubeconfig-out",
                                       At("kubeconfig"),
                                       "--rbac",
                                       "--token",
                                       kAdmin};
    for (const std::string& flag : ServerFlags()) {
      server.push_back(flag);
    }
    server_ = std::make_unique<Background>(server);
    ASSERT_TRUE(server_->WaitFor("serving on http://"));
    const std::string& out = server_->out();
    const size_t begin = out.find("http://") + 7;
    address_ = out.substr(begin, out.find('\n', begin) - begin);
    Ask("POST", "/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})");
    GiveRights();
  }

  virtual std::vector<std::string> ServerFlags() const { return {}; }
  virtual std::string Profile() const { return "4xT4"; }
  virtual std::vector<std::string> AgentFlags() const { return {}; }

  std::string At(const std::string& path) const { return host_->dir().At(path); }

  std::string Ask(const std::string& method, const std::string& target, const std::string& body,
                  const std::string& type = "application/json") const {
    http::Request request{.method = method, .target = target, .body = body};
    request.headers.Add("Content-Type", type);
    request.headers.Add("Authorization", fmt::format("Bearer {}", kAdmin));
    const auto answer = http::Fetch(address_, request);
    EXPECT_OK(answer);
    EXPECT_LT(answer.ok() ? answer->code : 0, 300) << (answer.ok() ? answer->body : "");
    return answer.ok() ? answer->body : std::string();
  }
  void Merge(const std::string& target, const std::string& body) const {
    Ask("PATCH", target, body, "application/merge-patch+json");
  }

  boost::json::value Node() const {
    auto node = doc::Parse(Ask("GET", "/api/v1/nodes/n1", ""), doc::Format::kJson, "node");
    EXPECT_OK(node);
    return node.ok() ? *node : boost::json::value(boost::json::object());
  }
  static std::string TextAt(const boost::json::value& value,
                            std::initializer_list<const char*> path) {
    const boost::json::value* at = &value;
    for (const char* key : path) {
      at = at->is_object() ? at->as_object().if_contains(key) : nullptr;
      if (at == nullptr) {
        return "";
      }
    }
    return at->is_string() ? at->as_string().c_str() : boost::json::serialize(*at);
  }
  std::string Label(const char* key) const { return TextAt(Node(), {"metadata", "labels", key}); }
  std::string Condition(const std::string& type = "GPUReady") const {
    const boost::json::value node = Node();
    const boost::json::value* status = node.as_object().if_contains("status");
    const boost::json::value* conditions =
        status == nullptr ? nullptr : status->as_object().if_contains("conditions");
    if (conditions == nullptr) {
      return "";
    }
    for (const boost::json::value& condition : conditions->as_array()) {
      if (TextAt(condition, {"type"}) == type) {
        return fmt::format("{} {}", TextAt(condition, {"status"}), TextAt(condition, {"reason"}));
      }
    }
    return "";
  }
  // Reads the node again whenever the server reports a change, for at most 30 s.
  bool WaitForNode(const std::function<bool()>& condition) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > until) {
        return false;
      }
      // The watch ends with the next change, or after a second.
      http::Request watch{.target = "/api/v1/nodes?watch=1&timeoutSeconds=1"};
      watch.headers.Add("Authorization", fmt::format("Bearer {}", kAdmin));
      (void)http::Fetch(address_, watch);
    }
    return true;
  }

  void StartAgent(const std::string& config = "") {
    host_->dir().WriteFile("config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + config);
    std::vector<std::string> argv = {ProgramPath("kgpu"),
                                     "agent",
                                     "--kubelet-dir",
                                     At("kubelet"),
                                     "--run-dir",
                                     At("run"),
                                     "--state-dir",
                                     At("state"),
                                     "--http-address",
                                     http_address_,
                                     "--config",
                                     At("config.yaml"),
                                     "--kubeconfig",
                                     At("agent-kubeconfig"),
                                     "--node",
                                     "n1"};
    for (const std::string& flag : host_->flags()) {
      argv.push_back(flag);
    }
    for (const std::string& flag : AgentFlags()) {
      argv.push_back(flag);
    }
    if (keeps_log_) {
      const std::vector<std::string> to_file = {"/bin/sh", "-c", R"(exec "$@" 2>>"$0")", At("log")};
      argv.insert(argv.begin(), to_file.begin(), to_file.end());
    }
    agent_ = std::make_unique<Background>(argv);
  }
  Result NodeStatus() const {
    return RunProgram({"kgpu", "node", "status", "--run-dir", At("run")});
  }

  // The kubelet's part of the Node object.
  void Count(int gpus) const {
    Merge("/api/v1/nodes/n1/status",
          fmt::format(R"({{"status":{{"capacity":{{"nvidia.com/gpu":"{0}"}},)"
                      R"("allocatable":{{"nvidia.com/gpu":"{0}"}}}}}})",
                      gpus));
  }
  void StartKubelet() {
    const Result result = RunProgram({"kgpu-sim", "kubelet", "start", At("kubelet")});
    ASSERT_EQ(result.code, 0) << result.err;
    has_kubelet_ = true;
  }
  // What a pod of the agent would have; other fixtures give another program its rights.
  virtual void GiveRights() {
    ApplyChart({"--set", "controller.enabled=false"});
    WriteKubeconfig("kgpu-agent", "agent-kubeconfig");
  }
  // The objects of the rendered chart that are about access, and its definitions.
  void ApplyChart(const std::vector<std::string>& flags) const {
    std::vector<std::string> argv = {"kgpu", "cluster", "render", "--output", "json"};
    argv.insert(argv.end(), flags.begin(), flags.end());
    const Result rendered = RunProgram(argv);
    ASSERT_EQ(rendered.code, 0) << rendered.err;
    const auto list = doc::Parse(rendered.out, doc::Format::kJson, "manifests");
    ASSERT_OK(list);
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/";
    const std::map<std::string, std::string> paths = {
        {"CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"},
        {"Namespace", "/api/v1/namespaces"},
        {"ServiceAccount", "/api/v1/namespaces/{}/serviceaccounts"},
        {"ClusterRole", rbac + "clusterroles"},
        {"ClusterRoleBinding", rbac + "clusterrolebindings"},
        {"Role", rbac + "namespaces/{}/roles"},
        {"RoleBinding", rbac + "namespaces/{}/rolebindings"}};
    for (const boost::json::value& object : list->at("items").as_array()) {
      if (const auto path = paths.find(TextAt(object, {"kind"})); path != paths.end()) {
        const std::string space = TextAt(object, {"metadata", "namespace"});
        Ask("POST", fmt::format(fmt::runtime(path->second), space), boost::json::serialize(object));
      }
    }
  }
  // With the token that a pod of the service account would have.
  void WriteKubeconfig(const std::string& account, const std::string& file) const {
    const std::string token = TextAt(
        *doc::Parse(
            Ask("POST", fmt::format("/api/v1/namespaces/kgpu/serviceaccounts/{}/token", account),
                R"({"spec":{"expirationSeconds":86400}})"),
            doc::Format::kJson, "token"),
        {"status", "token"});
    host_->dir().WriteFile(
        file,
        fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: stub\n"
                    "clusters: [{{name: stub, cluster: {{server: \"http://{}\"}}}}]\n"
                    "users: [{{name: pod, user: {{token: {}}}}}]\n"
                    "contexts: [{{name: stub, context: {{cluster: stub, user: pod, namespace: "
                    "kgpu}}}}]\n",
                    address_, token));
  }
  void DefineNfd(const std::string& plural, const std::string& kind,
                 const std::string& scope) const {
    Ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        fmt::format(R"({{"metadata":{{"name":"{0}.nfd.k8s-sigs.io"}},"spec":{{
            "group":"nfd.k8s-sigs.io","scope":"{2}","names":{{"plural":"{0}","kind":"{1}"}},
            "versions":[{{"name":"v1alpha1","served":true,"storage":true,"schema":{{
            "openAPIV3Schema":{{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}}]}}}})",
                    plural, kind, scope));
  }
  // "allowed", "denied" or "unused" of the server's access control.
  std::vector<std::string> Access(const char* which) const {
    const auto access = doc::Parse(Ask("GET", "/stub/rbac", ""), doc::Format::kJson, "access");
    std::vector<std::string> lines;
    for (const boost::json::value& line : access->at(which).as_array()) {
      lines.emplace_back(line.as_string());
    }
    return lines;
  }

  // Rules of the account's roles that no request needed yet.
  std::vector<std::string> UnusedOf(const std::string& account) const {
    std::vector<std::string> lines = Access("unused");
    std::erase_if(lines, [&](const std::string& line) {
      return line.find(fmt::format("Role/{} ", account)) == std::string::npos;
    });
    return lines;
  }

  void TearDown() override {
    agent_.reset();
    if (server_) {
      EXPECT_THAT(Access("denied"), ::testing::IsEmpty());
    }
    if (has_kubelet_) {
      RunProgram({"kgpu-sim", "kubelet", "stop", At("kubelet")});
    }
  }
  // Writes of the agent that the server counted.
  std::string Writes() const {
    const auto counters =
        doc::Parse(Ask("GET", "/stub/counters", ""), doc::Format::kJson, "counters");
    std::string writes;
    for (const boost::json::value& row : counters->as_array()) {
      const std::string verb = TextAt(row, {"verb"});
      if (TextAt(row, {"userAgent"}) == "kgpu" &&
          (verb == "apply" || verb == "patch" || verb == "create" || verb == "update")) {
        writes +=
            fmt::format("{} {} {}\n", verb, TextAt(row, {"resource"}), TextAt(row, {"requests"}));
      }
    }
    return writes;
  }

  std::unique_ptr<SimHost> host_;
  std::unique_ptr<Background> server_;
  std::unique_ptr<Background> agent_;
  std::string address_;
  bool has_kubelet_ = false;
  std::string http_address_ = "off";  // of the next agent
  bool keeps_log_ = false;            // in the file "log" instead of the test's own standard error
};

}  // namespace kgpu::e2e

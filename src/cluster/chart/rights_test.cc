// The rights of agent and controller against their sources: a file that sends or makes requests
// must be listed here with what it asks for, and the chart allows that and nothing else.
// tests/e2e/agent_rbac_test.cc and controller_rbac_test.cc see the requests themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using Lines = std::set<std::string>;
using ::testing::ContainerEq;

using Requests = std::map<std::string, Lines>;

struct Program {
  std::string name;  // of its roles
  std::vector<std::string> folders;
  // How its sources make requests.
  const char* asks;
  Requests requests;
};

const Program& Agent() {
  static const Program kAgent = {
      .name = "kgpu-agent",
      .folders = {"src/agent", "src/node"},
      .asks = R"(client_?(\.|->)(Send|Stream)\(|make_unique<kube::(Reflector|Lister|ObjectCache)>)",
      .requests = {
          {"src/agent/event_publisher.cc",
           {"get pods", "create events.events.k8s.io", "patch events.events.k8s.io"}},
          {"src/agent/rule_watch.cc",
           {"list nodefeaturerules.nfd.k8s-sigs.io", "watch nodefeaturerules.nfd.k8s-sigs.io",
            "list nodefeatures.nfd.k8s-sigs.io", "watch nodefeatures.nfd.k8s-sigs.io"}},
          {"src/node/object/object_writer.cc",
           {"get nodefeatures.nfd.k8s-sigs.io", "create nodefeatures.nfd.k8s-sigs.io",
            "patch nodefeatures.nfd.k8s-sigs.io", "delete nodefeatures.nfd.k8s-sigs.io"}},
          {"src/node/object/pod_scan.cc", {"list pods"}},
          {"src/node/object/syncer.cc", {"list nodes", "watch nodes"}},
          {"src/node/object/writer.cc", {"get nodes", "patch nodes", "patch nodes/status"}},
          // monitoring.readers binds system:auth-delegator, which has these.
          {"src/agent/cluster_tokens.cc", {}},
      }};
  return kAgent;
}

const Program& Controller() {
  static const Program kController = {
      .name = "kgpu-controller",
      .folders = {"src/cluster/controller", "src/cluster/fleet"},
      .asks = R"(kube::(Create|Apply|Patch|Delete|Replace)Request\(|kube::(Evict|ListObjects)\(|)"
              R"(kube::LeaderElection::Start|make_unique<(kube::)?(Reflector|EventRecorder)>)",
      .requests = {
          {"src/cluster/controller/config_map.cc",
           {"create configmaps", "patch configmaps", "delete configmaps"}},
          {"src/cluster/controller/controller.cc",
           {"get leases.coordination.k8s.io", "create leases.coordination.k8s.io",
            "update leases.coordination.k8s.io", "create events.events.k8s.io",
            "patch events.events.k8s.io"}},
          {"src/cluster/controller/executor.cc", {"create pods/eviction"}},
          {"src/cluster/controller/feature_sweeper.cc",
           {"list nodefeatures.nfd.k8s-sigs.io", "delete nodefeatures.nfd.k8s-sigs.io"}},
          {"src/cluster/controller/status.cc", {"patch gpupolicies/status.kgpu.dev"}},
          {"src/cluster/controller/watches.cc",
           {"list gpupolicies.kgpu.dev", "watch gpupolicies.kgpu.dev", "list nodes", "watch nodes",
            "list pods", "watch pods", "list daemonsets.apps", "watch daemonsets.apps",
            "list configmaps", "watch configmaps"}},
          {"src/cluster/controller/writes.cc", {"patch nodes", "create pods", "delete pods"}},
      }};
  return kController;
}

// Its sources that send or make requests to the API server.
std::set<std::string> SourcesThatAsk(const Program& program) {
  const std::regex asks(program.asks);
  std::set<std::string> sources;
  for (const std::string& folder : program.folders) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(KGPU_SOURCE_DIR) / folder)) {
      const std::string path = fs::relative(entry.path(), KGPU_SOURCE_DIR);
      if (!path.ends_with(".cc") || path.ends_with("_test.cc")) {
        continue;
      }
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      if (std::regex_search(text, asks)) {
        sources.insert(path);
      }
    }
  }
  return sources;
}

Lines TextsAt(const json::value& rule, const char* key) {
  Lines texts;
  for (const json::value& text : rule.at(key).as_array()) {
    texts.insert(std::string(text.as_string()));
  }
  return texts;
}

// What its roles allow.
Lines AllowedByChart(const std::string& name, std::vector<std::string> settings = {}) {
  const auto values = ReadValues({.settings = std::move(settings)});
  EXPECT_OK(values);
  const auto manifests = Render(*values);
  EXPECT_OK(manifests);
  Lines allowed;
  for (const Manifest& manifest : *manifests) {
    if (NameOf(manifest) != name) {
      continue;
    }
    const json::value* rules = manifest.object.if_contains("rules");
    for (const json::value& rule : rules == nullptr ? json::array() : rules->as_array()) {
      for (const std::string& group : TextsAt(rule, "apiGroups")) {
        for (const std::string& resource : TextsAt(rule, "resources")) {
          for (const std::string& verb : TextsAt(rule, "verbs")) {
            allowed.insert(
                fmt::format("{} {}{}{}", verb, resource, group.empty() ? "" : ".", group));
          }
        }
      }
    }
  }
  return allowed;
}

class RightsTest : public ::testing::TestWithParam<const Program*> {};

INSTANTIATE_TEST_SUITE_P(Programs, RightsTest, ::testing::Values(&Agent(), &Controller()),
                         [](const auto& one) {
                           return one.param == &Agent() ? "Agent" : "Controller";
                         });

TEST_P(RightsTest, EverySourceThatAsksIsListed) {
  std::set<std::string> listed;
  for (const auto& [source, requests] : GetParam()->requests) {
    listed.insert(source);
  }
  EXPECT_THAT(SourcesThatAsk(*GetParam()), ContainerEq(listed))
      << "list the source with what it asks for, and change the roles of " << GetParam()->name
      << " in deploy/chart/templates";
}

TEST_P(RightsTest, TheChartAllowsThatAndNothingElse) {
  Lines needed;
  for (const auto& [source, requests] : GetParam()->requests) {
    needed.insert(requests.begin(), requests.end());
  }
  EXPECT_THAT(AllowedByChart(GetParam()->name), ContainerEq(needed));
}

// What the gateway's provider for Kubernetes asks for.
TEST(GatewayRightsTest, TheChartAllowsThisAndNothingElse) {
  Lines needed = {
      // Why a pod has no node: src/diagnose/explain/gather.cc.
      "get nodes", "list nodes", "list pods", "get pods", "list events", "list resourcequotas",
      "list limitranges", "list runtimeclasses.node.k8s.io", "list deviceclasses.resource.k8s.io",
      // Which replica scales.
      "get leases.coordination.k8s.io", "create leases.coordination.k8s.io",
      "update leases.coordination.k8s.io",
      // Functions.
      "get deployments.apps", "list deployments.apps", "watch deployments.apps",
      "create deployments.apps", "patch deployments.apps", "delete deployments.apps",
      "patch deployments/scale.apps", "watch pods", "patch pods", "get pods/log", "get secrets",
      "get configmaps", "create configmaps", "patch configmaps"};
  Lines owned = {"services", "networkpolicies.networking.k8s.io",
                 "horizontalpodautoscalers.autoscaling"};
  const auto need_all = [&] {
    for (const std::string& resource : owned) {
      for (const char* verb : {"get", "create", "patch", "delete"}) {
        needed.insert(fmt::format("{} {}", verb, resource));
      }
    }
  };
  need_all();
  const std::vector<std::string> settings = {"functions.enabled=true",
                                             "functions.allowAnonymous=true"};
  EXPECT_THAT(AllowedByChart("kgpu-gateway", settings), ContainerEq(needed));
  owned.insert("scaledobjects.keda.sh");
  need_all();
  std::vector<std::string> with_keda = settings;
  with_keda.emplace_back("functions.keda.enabled=true");
  with_keda.emplace_back("functions.keda.prometheus=http://prometheus:9090");
  EXPECT_THAT(AllowedByChart("kgpu-gateway", with_keda), ContainerEq(needed));
}

TEST(GatewayRightsTest, WithoutFunctionsThereAreNone) {
  EXPECT_THAT(AllowedByChart("kgpu-gateway"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kgpu::chart

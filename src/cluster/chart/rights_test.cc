// The rights of agent, controller and gateway against their sources: a file that sends or makes
// requests must be listed here with what it asks for, and the chart allows that and nothing else.
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
  Lines others{};                       // through other folders
  std::vector<std::string> settings{};  // values with which its roles are complete
};

const Program& Agent() {
  static const Program kAgent = {
      .name = "kgpu-agent",
      .folders = {"src/agent", "src/node"},
      .asks = R"(client_?(\.|->)(Send|Stream)\(|make_unique<kube::(Reflector|Lister|ObjectCache)>|)"
              R"(kube::Evict\()",
      .requests =
          {
              {"src/node/cluster/event_publisher.cc",
               {"get pods", "create events.events.k8s.io", "patch events.events.k8s.io"}},
              {"src/node/cluster/pod_evictor.cc", {"create pods/eviction"}},
              {"src/node/cluster/rule_watch.cc",
               {"list nodefeaturerules.nfd.k8s-sigs.io", "watch nodefeaturerules.nfd.k8s-sigs.io",
                "list nodefeatures.nfd.k8s-sigs.io", "watch nodefeatures.nfd.k8s-sigs.io"}},
              // From 1.36 on the server asks for the right to the driver's part, too.
              {"src/node/claims/claim_status.cc",
               {"patch resourceclaims/status.resource.k8s.io",
                "associated-node:patch resourceclaims/driver.resource.k8s.io"}},
              {"src/node/claims/preparer.cc", {"get resourceclaims.resource.k8s.io"}},
              // An apply may create.
              {"src/node/dra/publisher.cc",
               {"list resourceslices.resource.k8s.io", "watch resourceslices.resource.k8s.io",
                "create resourceslices.resource.k8s.io", "patch resourceslices.resource.k8s.io",
                "delete resourceslices.resource.k8s.io"}},
              {"src/node/object/object_writer.cc",
               {"get nodefeatures.nfd.k8s-sigs.io", "create nodefeatures.nfd.k8s-sigs.io",
                "patch nodefeatures.nfd.k8s-sigs.io", "delete nodefeatures.nfd.k8s-sigs.io"}},
              {"src/node/object/pod_scan.cc", {"list pods"}},
              {"src/node/object/syncer.cc", {"list nodes", "watch nodes"}},
              {"src/node/object/writer.cc", {"get nodes", "patch nodes", "patch nodes/status"}},
              // monitoring.readers binds system:auth-delegator, which has these.
              {"src/node/telemetry/cluster_tokens.cc", {}},
          },
      .settings = {"agent.mayEvict=true"}};
  return kAgent;
}

const Program& Controller() {
  static const Program kController = {
      .name = "kgpu-controller",
      .folders = {"src/cluster/controller", "src/cluster/fleet", "src/cluster/gpus"},
      .asks = R"(kube::(Create|Apply|Patch|Delete|Replace)Request\(|kube::(Evict|ListObjects)\(|)"
              R"(kube::LeaderElection::Start|make_unique<(kube::)?(Reflector|EventRecorder)>)",
      .requests = {
          {"src/cluster/controller/class_writer.cc",
           {"list resourceslices.resource.k8s.io", "watch resourceslices.resource.k8s.io",
            "create deviceclasses.resource.k8s.io", "patch deviceclasses.resource.k8s.io"}},
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
          {"src/cluster/gpus/reader.cc",
           {"list nodes", "list pods", "list resourceslices.resource.k8s.io",
            "list resourceclaims.resource.k8s.io"}},
      }};
  return kController;
}

const Program& Gateway() {
  static const Program kGateway = {
      .name = "kgpu-gateway",
      .folders = {"src/functions/kubernetes"},
      .asks =
          R"(client_?(\.|->)(Send|Stream)\(|kube::(Create|Apply|Patch|Delete|Replace)Request\(|)"
          R"(kube::ListObjects\(|kube::LeaderElection::Start|make_unique<kube::Reflector>)",
      .requests =
          {
              // An apply may create.
              {"src/functions/kubernetes/demand_board.cc",
               {"list leases.coordination.k8s.io", "watch leases.coordination.k8s.io",
                "create leases.coordination.k8s.io", "patch leases.coordination.k8s.io",
                "delete leases.coordination.k8s.io"}},
              {"src/functions/kubernetes/deployer.cc",
               {"get secrets", "list nodes", "get deployments.apps", "create deployments.apps",
                "update deployments.apps", "delete deployments.apps", "create services",
                "patch services", "create horizontalpodautoscalers.autoscaling",
                "patch horizontalpodautoscalers.autoscaling",
                "delete horizontalpodautoscalers.autoscaling",
                "create networkpolicies.networking.k8s.io",
                "patch networkpolicies.networking.k8s.io",
                "delete networkpolicies.networking.k8s.io", "create scaledobjects.keda.sh",
                "patch scaledobjects.keda.sh", "delete scaledobjects.keda.sh"}},
              {"src/functions/kubernetes/kube_provider.cc",
               {"get leases.coordination.k8s.io", "create leases.coordination.k8s.io",
                "update leases.coordination.k8s.io"}},
              {"src/functions/kubernetes/kube_scaling.cc", {"patch deployments.apps"}},
              {"src/functions/kubernetes/pod_logs.cc", {"get pods/log"}},
              {"src/functions/kubernetes/gpu_time.cc",
               {"list configmaps", "watch configmaps", "create configmaps", "update configmaps"}},
              {"src/functions/kubernetes/watches.cc",
               {"list deployments.apps", "watch deployments.apps", "list pods", "watch pods"}},
          },
      // Why a pod has no node: src/diagnose/explain/gather.cc.
      .others = {"get nodes", "list nodes", "get pods", "list pods", "list events",
                 "list resourcequotas", "list limitranges", "list runtimeclasses.node.k8s.io",
                 "list deviceclasses.resource.k8s.io"},
      .settings = {"functions.enabled=true", "functions.allowAnonymous=true",
                   "functions.keda.enabled=true",
                   "functions.keda.prometheus=http://prometheus:9090"}};
  return kGateway;
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

// What a rule of a role allows.
void AddRule(const json::value& rule, Lines& allowed) {
  for (const std::string& group : TextsAt(rule, "apiGroups")) {
    for (const std::string& resource : TextsAt(rule, "resources")) {
      for (const std::string& verb : TextsAt(rule, "verbs")) {
        allowed.insert(fmt::format("{} {}{}{}", verb, resource, group.empty() ? "" : ".", group));
      }
    }
  }
}

// What its roles allow.
Lines AllowedByChart(const std::string& name, std::vector<std::string> settings = {}) {
  const auto values = ReadValues({.settings = std::move(settings)});
  EXPECT_OK(values);
  const auto manifests = Render(*values);
  EXPECT_OK(manifests);
  Lines allowed;
  for (const Manifest& manifest : *manifests) {
    const json::value* rules = manifest.object.if_contains("rules");
    if (NameOf(manifest) != name || rules == nullptr) {
      continue;
    }
    for (const json::value& rule : rules->as_array()) {
      AddRule(rule, allowed);
    }
  }
  return allowed;
}

class RightsTest : public ::testing::TestWithParam<const Program*> {};

INSTANTIATE_TEST_SUITE_P(Programs, RightsTest,
                         ::testing::Values(&Agent(), &Controller(), &Gateway()),
                         [](const auto& one) {
                           return one.param == &Agent()        ? "Agent"
                                  : one.param == &Controller() ? "Controller"
                                                               : "Gateway";
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
  Lines needed = GetParam()->others;
  for (const auto& [source, requests] : GetParam()->requests) {
    needed.insert(requests.begin(), requests.end());
  }
  EXPECT_THAT(AllowedByChart(GetParam()->name, GetParam()->settings), ContainerEq(needed));
}

TEST(GatewayRightsTest, WithoutFunctionsThereAreNone) {
  EXPECT_THAT(AllowedByChart("kgpu-gateway"), ::testing::IsEmpty());
}

}  // namespace
}  // namespace kgpu::chart

// The rights of the agent against its sources: a file that sends requests must be listed here with
// what it asks for, and the chart allows that and nothing else. tests/e2e/agent_rbac_test.cc sees
// the requests themselves.
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

#include "src/cluster/chart/chart.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;
using Lines = std::set<std::string>;
using ::testing::ContainerEq;

const std::map<std::string, Lines>& RequestsBySource() {
  static const std::map<std::string, Lines> kRequests = {
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
  };
  return kRequests;
}

// Sources of the agent that send requests to the API server.
std::set<std::string> SourcesThatAsk() {
  static const std::regex kAsks(
      R"(client_?(\.|->)(Send|Stream)\(|make_unique<kube::(Reflector|Lister|ObjectCache)>)");
  std::set<std::string> sources;
  for (const char* folder : {"src/agent", "src/node"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(KGPU_SOURCE_DIR) / folder)) {
      const std::string path = fs::relative(entry.path(), KGPU_SOURCE_DIR);
      if (!path.ends_with(".cc") || path.ends_with("_test.cc")) {
        continue;
      }
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
      if (std::regex_search(text, kAsks)) {
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

// What the roles of kgpu-agent allow.
Lines AllowedByChart() {
  const auto values = ReadValues({});
  EXPECT_OK(values);
  const auto manifests = Render(*values);
  EXPECT_OK(manifests);
  Lines allowed;
  for (const Manifest& manifest : *manifests) {
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

TEST(AgentRightsTest, EverySourceThatAsksIsListed) {
  std::set<std::string> listed;
  for (const auto& [source, requests] : RequestsBySource()) {
    listed.insert(source);
  }
  EXPECT_THAT(SourcesThatAsk(), ContainerEq(listed))
      << "list the source with what it asks for, and change deploy/chart/templates/agent-rbac.yaml";
}

TEST(AgentRightsTest, TheChartAllowsThatAndNothingElse) {
  Lines needed;
  for (const auto& [source, requests] : RequestsBySource()) {
    needed.insert(requests.begin(), requests.end());
  }
  EXPECT_THAT(AllowedByChart(), ContainerEq(needed));
}

}  // namespace
}  // namespace kgpu::chart

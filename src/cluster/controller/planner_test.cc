// Plans as values: what the controller would do with a few nodes.
#include "src/cluster/controller/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::controller {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr WallTime kNow{seconds(1'800'000'000)};

class PlannerTest : public ::testing::Test {
 protected:
  static json::value Yaml(std::string_view text) {
    auto value = doc::Parse(text, doc::Format::kYaml, "test.yaml");
    EXPECT_OK(value);
    return value.ok() ? *std::move(value) : json::value();
  }
  void AddPolicy(const std::string& name, std::string_view spec, std::string_view status = "{}") {
    model_.PutPolicy({{"metadata",
                       {{"name", name},
                        {"uid", "uid-" + name},
                        {"resourceVersion", "1"},
                        {"generation", ++generation_}}},
                      {"spec", Yaml(spec)},
                      {"status", Yaml(status)}},
                     SteadyTime{}, false);
  }
  // A healthy node; `metadata` and `spec` are added to what it has.
  void AddNode(const std::string& name, std::string_view annotations = "{}",
               std::string_view spec = "{}") {
    json::value node = Yaml(R"(
status:
  allocatable: {nvidia.com/gpu: "8"}
  conditions: [{type: Ready, status: "True"}, {type: GPUReady, status: "True"},
               {type: GPUHealthy, status: "True"}]
)");
    node.as_object()["metadata"] = {
        {"name", name},
        {"uid", "uid-" + name},
        {"resourceVersion", "1"},
        {"labels",
         {{"nvidia.com/gpu.present", "true"}, {"nvidia.com/cuda.driver-version.full", "535.1"}}},
        {"annotations", Yaml(annotations)}};
    node.as_object()["spec"] = Yaml(spec);
    model_.PutNode(node, SteadyTime{}, false);
  }
  static std::string Record(fleet::UpgradeState state, const std::string& policy = "p") {
    return json::serialize(
        json::value{{fleet::kUpgradeAnnotation,
                     fleet::PrintRecord(fleet::UpgradeRecord{.state = state,
                                                             .since = kNow,
                                                             .from = "535.1",
                                                             .to = "550",
                                                             .policy = policy,
                                                             .group = "g",
                                                             .is_cordoned = true})}});
  }
  // The work for the node, policy or pod: "method path body"; empty: none.
  std::string Do(std::string_view key) {
    for (const Work& work : MakePlan(model_, pods_, kNow).work) {
      if (work.key.starts_with(key)) {
        return fmt::format("{} {} {}", work.request.method, work.request.path, work.request.body);
      }
    }
    return "";
  }

  Model model_;
  PodSettings pods_{.image = "kgpu:1"};
  int64_t generation_ = 0;
};

constexpr const char* kSpec =
    "{groups: [{name: g, nodeSelector: {}, driver: {from: package, branch: \"550\"}}]}";

TEST_F(PlannerTest, OnlyAnInstallerPushesOthersOut) {
  AddPolicy("p", kSpec);
  AddNode("n1", Record(fleet::UpgradeState::kInstall), "{unschedulable: true}");
  EXPECT_THAT(Do("pod/"), AllOf(HasSubstr("driver"), HasSubstr("system-node-critical")));
  const fleet::NodeFacts node{.name = "n2", .resource = "nvidia.com/gpu"};
  EXPECT_THAT(RunValidation(pods_, node, "v", 3).request.body,
              AllOf(Not(HasSubstr("priorityClassName")), HasSubstr(R"("nvidia.com/gpu":"3")"),
                    HasSubstr(R"("requests":{"memory":"0"})")));
}

}  // namespace
}  // namespace kgpu::controller

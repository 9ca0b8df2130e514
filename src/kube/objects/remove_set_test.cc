#include "src/kube/objects/remove_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/kube/api/json.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kConfigPath = "/api/v1/namespaces/kgpu/configmaps/c";
const ObjectRef kSpaceRef{"v1", "Namespace", "", "kgpu"};
const ObjectRef kConfigRef{"v1", "ConfigMap", "kgpu", "c"};

class RemoveSetTest : public ::testing::Test {
 protected:
  RemoveSetTest() {
    EXPECT_OK(cluster_.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "kgpu"}}}}));
    MakeConfig({});
  }
  void MakeConfig(json::array finalizers) {
    EXPECT_OK(cluster_.api.Do(
        "POST", "/api/v1/namespaces/kgpu/configmaps",
        {{"metadata", {{"name", "c"}, {"namespace", "kgpu"}, {"finalizers", finalizers}}}}));
  }
  std::string UidOf(const std::string& path) {
    return std::string(TextField(cluster_.At(path), {"metadata", "uid"}));
  }
  std::vector<std::string> Remove(std::vector<RemoveTarget> targets,
                                  const RemoveOptions& options = {}) {
    results_ = RemoveObjects(cluster_.client, kinds_, std::move(targets), options);
    std::vector<std::string> lines;
    for (const RemoveResult& result : results_) {
      lines.push_back(fmt::format("{} {}", TextOf(result.ref), ToString(result.outcome)));
    }
    return lines;
  }

  TestCluster cluster_;
  Kinds kinds_{cluster_.client};
  std::vector<RemoveResult> results_;
};

TEST_F(RemoveSetTest, RemovesInReverseOrder) {
  EXPECT_THAT(Remove({{kSpaceRef}, {kConfigRef, UidOf(kConfigPath)}}),
              ElementsAre("ConfigMap kgpu/c removed", "Namespace kgpu removed"));
  EXPECT_TRUE(cluster_.At(kConfigPath).is_null());
  EXPECT_THAT(Remove({{kSpaceRef}, {kConfigRef}}),
              ElementsAre("ConfigMap kgpu/c absent", "Namespace kgpu absent"));
}

TEST_F(RemoveSetTest, AnotherObjectOfTheSameNameStays) {
  EXPECT_THAT(Remove({{kConfigRef, "another-uid"}}), ElementsAre("ConfigMap kgpu/c replaced"));
  EXPECT_FALSE(cluster_.At(kConfigPath).is_null());
}

TEST_F(RemoveSetTest, ADryRunRemovesNothing) {
  EXPECT_THAT(Remove({{kConfigRef}}, {.is_dry_run = true}),
              ElementsAre("ConfigMap kgpu/c removed"));
  EXPECT_FALSE(cluster_.At(kConfigPath).is_null());
}

TEST_F(RemoveSetTest, NamesTheFinalizersThatHoldAnObject) {
  ASSERT_OK(cluster_.api.Do("DELETE", kConfigPath, json::object()));
  MakeConfig({"example.com/hold"});
  EXPECT_THAT(Remove({{kConfigRef}}, {.gone_time = seconds(10)}),
              ElementsAre("ConfigMap kgpu/c failed"));
  EXPECT_THAT(StatusOfResults(results_),
              StatusIs(StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("ConfigMap kgpu/c: still there after 10 s"),
                             HasSubstr("its finalizers example.com/hold"))));
}

TEST_F(RemoveSetTest, WaitsUntilAFinalizerIsGone) {
  ASSERT_OK(cluster_.api.Do("DELETE", kConfigPath, json::object()));
  MakeConfig({"example.com/hold"});
  cluster_.loop.After(seconds(5), [&] {
    EXPECT_OK(
        cluster_.api.Do("PATCH", kConfigPath, {{"metadata", {{"finalizers", json::array()}}}}));
  });
  EXPECT_THAT(Remove({{kConfigRef}}), ElementsAre("ConfigMap kgpu/c removed"));
  EXPECT_TRUE(cluster_.At(kConfigPath).is_null());
}

TEST_F(RemoveSetTest, AKindThatIsNotServedHasNoObjects) {
  EXPECT_THAT(Remove({{{"example.com/v1", "Widget", "", "w"}}}), ElementsAre("Widget w absent"));
}

TEST_F(RemoveSetTest, ContinuesAfterARefusalAndStopsWithoutAServer) {
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer,
                             .verb = "delete",
                             .resource = "configmaps",
                             .code = 403,
                             .count = 1});
  EXPECT_THAT(Remove({{kSpaceRef}, {kConfigRef}}),
              ElementsAre("ConfigMap kgpu/c failed", "Namespace kgpu removed"));
  cluster_.api.faults().Add({.kind = apiserver::FaultKind::kAway});
  EXPECT_THAT(Remove({{kSpaceRef}, {kConfigRef}}, {.reach_time = seconds(2)}),
              ElementsAre("ConfigMap kgpu/c failed"));
}

}  // namespace
}  // namespace kgpu::kube

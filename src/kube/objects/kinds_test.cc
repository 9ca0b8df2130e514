#include "src/kube/objects/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json::value Widgets() {
  return json::parse(R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"widgets.example.com"},
    "spec":{"group":"example.com","scope":"Namespaced",
            "names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},
            "versions":[{"name":"v1","served":true,"storage":true,
                         "schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
}

class KindsTest : public ::testing::Test {
 protected:
  TestCluster cluster_;
  Kinds kinds_{cluster_.client};
};

TEST_F(KindsTest, PathsOfKindsThatWeUseNeedNoRequest) {
  EXPECT_THAT(kinds_.PathOf({"v1", "Namespace", "", "kgpu"}),
              IsOkAndHolds("/api/v1/namespaces/kgpu"));
  EXPECT_THAT(kinds_.PathOf({"apps/v1", "DaemonSet", "kgpu", "a"}),
              IsOkAndHolds("/apis/apps/v1/namespaces/kgpu/daemonsets/a"));
  EXPECT_EQ(cluster_.api.counters().Sum().requests, 0U);
}

TEST_F(KindsTest, OtherKindsAreDiscoveredOnce) {
  ASSERT_OK(cluster_.api.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                            Widgets()));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(kinds_.PathOf({"example.com/v1", "Widget", "ns", "w"}),
                IsOkAndHolds("/apis/example.com/v1/namespaces/ns/widgets/w"));
  }
  EXPECT_EQ(cluster_.api.counters().Sum().requests, 1U);
}

TEST_F(KindsTest, AKindThatTheClusterDoesNotServeIsNamed) {
  EXPECT_THAT(kinds_.PathOf({"monitoring.coreos.com/v1", "PodMonitor", "kgpu", "a"}),
              StatusIs(StatusCode::kNotFound,
                       HasSubstr("does not serve PodMonitor of monitoring.coreos.com/v1")));
}

TEST_F(KindsTest, ADefinitionTeachesItsKind) {
  kinds_.Learn(Widgets());
  EXPECT_THAT(kinds_.PathOf({"example.com/v1", "Widget", "ns", "w"}),
              IsOkAndHolds("/apis/example.com/v1/namespaces/ns/widgets/w"));
}

TEST_F(KindsTest, ANamespaceMustFitTheKind) {
  EXPECT_THAT(kinds_.PathOf({"v1", "ConfigMap", "", "a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be set")));
  EXPECT_THAT(kinds_.PathOf({"v1", "Namespace", "b", "a"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must not be set")));
}

TEST_F(KindsTest, ListsWhatTheClusterServes) {
  const auto all = kinds_.All();
  ASSERT_OK(all);
  std::vector<std::string> names;
  for (const Kind& kind : *all) {
    names.push_back(fmt::format("{} {} {}", kind.ApiVersion(), kind.plural, kind.is_listed));
  }
  EXPECT_THAT(names, Contains("v1 nodes true"));
  EXPECT_THAT(names, Contains("apps/v1 daemonsets true"));
  EXPECT_THAT(names, Contains("authentication.k8s.io/v1 tokenreviews false"));
}

TEST(KindOrderTest, WhatOthersNeedComesFirst) {
  std::vector<json::value> objects;
  for (const auto& [version, kind] : std::vector<std::pair<const char*, const char*>>{
           {"apps/v1", "DaemonSet"},
           {"example.com/v1", "Widget"},
           {"v1", "ConfigMap"},
           {"rbac.authorization.k8s.io/v1", "ClusterRoleBinding"},
           {"rbac.authorization.k8s.io/v1", "ClusterRole"},
           {"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
           {"v1", "ServiceAccount"},
           {"v1", "Namespace"}}) {
    objects.push_back({{"apiVersion", version}, {"kind", kind}});
  }
  SortForApply(objects);
  std::vector<std::string> kinds;
  for (const json::value& object : objects) {
    kinds.push_back(RefOf(object).kind);
  }
  EXPECT_THAT(kinds,
              ElementsAre("Namespace", "CustomResourceDefinition", "ServiceAccount", "ClusterRole",
                          "ClusterRoleBinding", "ConfigMap", "Widget", "DaemonSet"));
}

}  // namespace
}  // namespace kgpu::kube

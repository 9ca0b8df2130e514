// The chart's objects on an API server that fills in defaults: who applies them again must not
// conflict with who applied them first.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "src/cluster/chart/test_value_sets.h"
#include "src/kube/objects/apply_set.h"
#include "src/kube/objects/test_cluster.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;

std::vector<json::value> Render(const chart::ValueSet& set) {
  const auto values = chart::ReadValues(set.request);
  EXPECT_OK(values);
  const auto manifests = chart::Render(*values);
  EXPECT_OK(manifests);
  std::vector<json::value> objects;
  for (const chart::Manifest& manifest : *manifests) {
    objects.emplace_back(manifest.object);
  }
  return objects;
}

json::value Definition(const std::string& group, const std::string& kind, const std::string& plural,
                       const std::string& scope) {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", plural + "." + group}}},
          {"spec",
           {{"group", group},
            {"scope", scope},
            {"names", {{"plural", plural}, {"kind", kind}}},
            {"versions",
             {{{"name", "v1"},
               {"served", true},
               {"storage", true},
               {"schema",
                {{"openAPIV3Schema",
                  {{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}}}}}}}}}}};
}

json::value Space(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

class ChartApplyTest : public ::testing::TestWithParam<chart::ValueSet> {};

TEST_P(ChartApplyTest, AnotherManagerAppliesTheSameWithoutAConflict) {
  kube::TestCluster cluster;
  kube::Kinds kinds(cluster.client);
  ASSERT_OK(kube::StatusOfResults(kube::ApplyObjects(
      cluster.client, kinds,
      {Definition("security.openshift.io", "SecurityContextConstraints",
                  "securitycontextconstraints", "Cluster"),
       Definition("monitoring.coreos.com", "PodMonitor", "podmonitors", "Namespaced"),
       Definition("monitoring.coreos.com", "PrometheusRule", "prometheusrules", "Namespaced"),
       Space("gpu-system"), Space("team-a"), Space("team-b")},
      {.field_manager = "somebody"})));
  const std::vector<json::value> objects = Render(GetParam());
  ASSERT_OK(kube::StatusOfResults(
      kube::ApplyObjects(cluster.client, kinds, objects, {.field_manager = "first"})));
  const auto results =
      kube::ApplyObjects(cluster.client, kinds, objects, {.field_manager = "second"});
  EXPECT_OK(kube::StatusOfResults(results));
  for (const kube::ApplyResult& result : results) {
    EXPECT_EQ(result.outcome, kube::ApplyOutcome::kUnchanged) << kube::TextOf(result.ref);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ChartApplyTest,
                         ::testing::ValuesIn(chart::TestValueSets(KGPU_SOURCE_DIR)),
                         [](const auto& set) { return set.param.name; });

}  // namespace
}  // namespace kgpu::install

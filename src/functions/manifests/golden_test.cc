// The objects of four functions, as people would read them.
#include "testing/golden.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/functions/manifests/objects.h"
#include "src/functions/manifests/test_functions.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

struct GoldenCase {
  const char* name;
  const char* fields;
  ManifestOptions options;
};

std::vector<GoldenCase> GoldenCases() {
  const ManifestOptions plain{.space = "kgpu-functions", .deployed_at = "2026-01-02T03:04:05Z"};
  ManifestOptions full = plain;
  full.replaced_at = "2026-01-02T03:04:05Z";
  full.pull_secrets = {"registry"};
  full.mounted_secrets = {"token"};
  full.mesh_url = "kgpu-gateway.kgpu:31113";
  full.cluster_models = {"A100-SXM4-80GB", "H100-SXM5-80GB", "T4"};
  ManifestOptions keda = plain;
  keda.prometheus_url = "http://prometheus.monitoring:9090";
  ManifestOptions update = plain;
  update.is_update = true;
  return {
      {"plain", "", plain},
      {"full",
       "desc: embeds texts, maintainer: me, environment: {PRICE: '5 $ of $(HOME)'}, "
       "labels: {team: nlp}, annotations: {example.com/owner: nlp}, secrets: [registry, token], "
       "constraints: [disk=nvme], limits: {memory: 4Gi, cpu: 2, "
       "gpu: {model: [H100-SXM5-80GB, A100-SXM4-80GB]}}, requests: {memory: 1Gi, cpu: 500m}, "
       "replicas: {min: 0, max: 4}, concurrency: 8, processes: 2, timeout: 90s, "
       "readOnlyRoot: true",
       full},
      {"keda", "scaling: {by: keda}, replicas: {min: 0, max: 3}, concurrency: 4, network: none",
       keda},
      {"hpa", "scaling: {by: hpa}, replicas: {min: 2, max: 9}, limits: {cpu: 1}, idle: 2h",
       update}};
}

class ManifestsGoldenTest : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(ManifestsGoldenTest, ObjectsAreAsBefore) {
  const GoldenCase& golden = GetParam();
  const auto objects = ObjectsOf(FunctionWith(golden.fields), golden.options);
  ASSERT_OK(objects);
  std::string text = doc::Print(objects->deployment, doc::Format::kYaml) + "---\n" +
                     doc::Print(objects->service, doc::Format::kYaml);
  for (const auto& object : {objects->scaler, objects->network_policy}) {
    text += object ? "---\n" + doc::Print(*object, doc::Format::kYaml) : "";
  }
  for (const std::string& note : objects->notes) {
    text += "# " + note + "\n";
  }
  ExpectGolden(fmt::format("src/functions/manifests/testdata/{}.yaml", golden.name), text);
}

INSTANTIATE_TEST_SUITE_P(Functions, ManifestsGoldenTest, ::testing::ValuesIn(GoldenCases()),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace kgpu::functions

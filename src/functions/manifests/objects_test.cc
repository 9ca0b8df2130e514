// Rules that the golden files do not show.
#include "src/functions/manifests/objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/manifests/test_functions.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr int64_t kGi = int64_t{1} << 30;

FunctionObjects ObjectsWith(std::string_view fields, const ManifestOptions& options = {}) {
  const auto objects = ObjectsOf(FunctionWith(fields), options);
  EXPECT_OK(objects) << fields;
  return objects.ok() ? *objects : FunctionObjects{};
}

const json::object& PodOf(const FunctionObjects& objects) {
  return objects.deployment.at("spec").at("template").at("spec").as_object();
}
const json::object& ContainerIn(const FunctionObjects& objects) {
  return PodOf(objects).at("containers").at(0).as_object();
}
std::string HashIn(const FunctionObjects& objects) {
  return std::string(TemplateHashOf(objects.deployment));
}
std::string LimitsOf(const FunctionObjects& objects) {
  return json::serialize(ContainerIn(objects).at("resources").at("limits"));
}
std::string AffinityOf(const FunctionObjects& objects) {
  const json::value* affinity = PodOf(objects).if_contains("affinity");
  return affinity == nullptr ? "" : json::serialize(*affinity);
}

TEST(FunctionObjectsTest, AChangeOfScalingOrMetadataAloneKeepsThePods) {
  const std::string hash = HashIn(ObjectsWith("limits: {cpu: 1}"));
  for (const std::string_view fields :
       {"replicas: {min: 0, max: 9}", "idle: 2h", "scaling: {by: hpa}", "retries: 4", "async: true",
        "desc: other", "maintainer: other", "pids: 64", "network: none"}) {
    EXPECT_EQ(HashIn(ObjectsWith("limits: {cpu: 1}, " + std::string(fields))), hash) << fields;
  }
  EXPECT_EQ(HashIn(ObjectsWith("limits: {cpu: 1}",
                               {.is_update = true, .deployed_at = "2026-01-02T03:04:05Z"})),
            hash);
  for (const std::string_view fields :
       {"environment: {A: b}", "concurrency: 2", "timeout: 1s", "labels: {a: b}",
        "limits: {gpu: 1}", "readOnlyRoot: true", "annotations: {a: b}", "constraints: [a=b]"}) {
    EXPECT_NE(HashIn(ObjectsWith(fields)), HashIn(ObjectsWith(""))) << fields;
  }
}

TEST(FunctionObjectsTest, AReplaceMakesOtherPodsAndTheNextUpdateKeepsThem) {
  const FunctionObjects first = ObjectsWith("", {.replaced_at = "2026-01-02T03:04:05Z"});
  EXPECT_NE(HashIn(first), HashIn(ObjectsWith("")));
  const std::string replaced(ReplacedAtOf(first.deployment));
  EXPECT_EQ(HashIn(ObjectsWith("", {.is_update = true, .replaced_at = replaced})), HashIn(first));
}

TEST(FunctionObjectsTest, OnlyACreationSetsReplicas) {
  EXPECT_EQ(ObjectsWith("replicas: {min: 0}").deployment.at("spec").at("replicas"), 0);
  EXPECT_EQ(ObjectsWith("replicas: {min: 3}").deployment.at("spec").at("replicas"), 3);
  EXPECT_FALSE(ObjectsWith("replicas: {min: 3}", {.is_update = true})
                   .deployment.at("spec")
                   .as_object()
                   .contains("replicas"));
}

TEST(FunctionObjectsTest, EveryObjectHasTheLabelsAndSelectsThePods) {
  const FunctionObjects objects = ObjectsWith(
      "labels: {team: x}, scaling: {by: hpa}, limits: {cpu: 1}, network: none", {.space = "fn"});
  const json::object policy = objects.network_policy.value_or(json::object());
  const json::object scaler = objects.scaler.value_or(json::object());
  for (const json::object& object : {objects.deployment, objects.service, scaler, policy}) {
    ASSERT_TRUE(object.contains("metadata"));
    EXPECT_EQ(object.at("metadata").at("name"), "hello");
    EXPECT_EQ(object.at("metadata").at("namespace"), "fn");
    EXPECT_EQ(object.at("metadata").at("labels"),
              json::parse(R"({"app.kubernetes.io/managed-by": "kgpu-gateway",
                              "kgpu.dev/function": "hello", "openfx_fn": "hello", "team": "x"})"));
  }
  const json::value selector = json::parse(
      R"({"app.kubernetes.io/managed-by": "kgpu-gateway", "kgpu.dev/function": "hello"})");
  EXPECT_EQ(objects.deployment.at("spec").at("selector").at("matchLabels"), selector);
  EXPECT_EQ(objects.service.at("spec").at("selector"), selector);
  EXPECT_EQ(policy.at("spec").at("podSelector").at("matchLabels"), selector);
}

TEST(FunctionObjectsTest, AGpuIsFreedBeforeItsSuccessorStarts) {
  const auto strategy = [](std::string_view fields) {
    return json::serialize(
        ObjectsWith(fields).deployment.at("spec").at("strategy").at("rollingUpdate"));
  };
  EXPECT_EQ(strategy(""), R"({"maxSurge":1,"maxUnavailable":0})");
  EXPECT_EQ(strategy("limits: {gpu: 1}"), R"({"maxSurge":0,"maxUnavailable":1})");
}

TEST(FunctionObjectsTest, CallsMayEndBeforeThePodDoes) {
  const FunctionObjects objects = ObjectsWith("timeout: 1500ms");
  EXPECT_EQ(PodOf(objects).at("terminationGracePeriodSeconds"), 7);
  EXPECT_THAT(json::serialize(ContainerIn(objects).at("env")),
              HasSubstr(R"({"name":"KGPU_FN_GRACE","value":"1500ms"})"));
}

TEST(FunctionObjectsTest, DollarSignsArriveAsTheyAreWritten) {
  EXPECT_THAT(json::serialize(ContainerIn(ObjectsWith("environment: {A: '$(B)$$'}")).at("env")),
              HasSubstr(R"({"name":"A","value":"$$(B)$$$$"})"));
}

TEST(FunctionObjectsTest, OtherFunctionsAreReachedUnlessThereIsNoNetwork) {
  const ManifestOptions options{.mesh_url = "kgpu-gateway.kgpu:31113"};
  EXPECT_THAT(json::serialize(ContainerIn(ObjectsWith("", options)).at("env")),
              HasSubstr(R"({"name":"KGPU_FN_MESH","value":"kgpu-gateway.kgpu:31113"})"));
  EXPECT_THAT(json::serialize(ContainerIn(ObjectsWith("network: none", options)).at("env")),
              Not(HasSubstr("KGPU_FN_MESH")));
  EXPECT_FALSE(ObjectsWith("", options).network_policy);
}

TEST(FunctionObjectsTest, WithoutGpusARuntimeGivesNone) {
  EXPECT_THAT(json::serialize(ContainerIn(ObjectsWith("")).at("env")),
              HasSubstr(R"({"name":"NVIDIA_VISIBLE_DEVICES","value":"void"})"));
  const FunctionObjects objects = ObjectsWith("limits: {gpu: 2}");
  EXPECT_THAT(json::serialize(ContainerIn(objects).at("env")),
              Not(HasSubstr("NVIDIA_VISIBLE_DEVICES")));
  EXPECT_EQ(LimitsOf(objects), R"({"nvidia.com/gpu":"2"})");
  EXPECT_EQ(AffinityOf(objects), "");
}

TEST(FunctionGpusTest, AModelIsRequiredAndOthersBesideItAreAvoided) {
  const std::string affinity = AffinityOf(
      ObjectsWith("limits: {gpu: {model: T4}}", {.cluster_models = {"A100-SXM4-80GB", "T4"}}));
  EXPECT_THAT(affinity, HasSubstr(R"("key":"kgpu.dev/gpu.model.T4.count","operator":"Exists")"));
  EXPECT_THAT(
      affinity,
      HasSubstr(R"("key":"kgpu.dev/gpu.model.A100-SXM4-80GB.count","operator":"DoesNotExist")"));
  EXPECT_THAT(affinity, Not(HasSubstr("preferred")));
}

TEST(FunctionGpusTest, SeveralGpusAreOfOneModel) {
  const ManifestOptions options{.cluster_models = {"L4", "T4"}};
  EXPECT_THAT(AffinityOf(ObjectsWith("limits: {gpu: {model: [T4, L4]}}", options)),
              Not(HasSubstr("DoesNotExist")));
  EXPECT_THAT(AffinityOf(ObjectsWith("limits: {gpu: {count: 2, model: [T4, L4]}}", options)),
              AllOf(HasSubstr(R"("key":"kgpu.dev/gpu.model.L4.count","operator":"DoesNotExist")"),
                    HasSubstr(R"("key":"kgpu.dev/gpu.model.T4.count","operator":"DoesNotExist")")));
}

TEST(FunctionGpusTest, APoolOfOneModelIsRequestedByItsName) {
  const FunctionObjects objects = ObjectsWith(
      "limits: {gpu: {model: [L4, T4]}}",
      {.model_resources = {{"T4", "nvidia.com/gpu-t4"}}, .cluster_models = {"A10", "T4"}});
  EXPECT_EQ(LimitsOf(objects), R"({"nvidia.com/gpu-t4":"1"})");
  EXPECT_THAT(AffinityOf(objects), Not(HasSubstr("DoesNotExist")));
  EXPECT_THAT(AffinityOf(objects), Not(HasSubstr("L4")));
  EXPECT_THAT(objects.notes, Contains(HasSubstr("nvidia.com/gpu-t4, which is of T4 alone")));
  EXPECT_THAT(json::serialize(PodOf(objects).at("tolerations")),
              AllOf(HasSubstr(R"("key":"nvidia.com/gpu")"), HasSubstr("nvidia.com/gpu-t4")));
}

TEST(FunctionGpusTest, PartsOfAGpuAreTheSmallestThatSuffice) {
  const ManifestOptions options{
      .memory_resources = {{10 * kGi, "nvidia.com/gpu-10g"}, {20 * kGi, "nvidia.com/gpu-20g"}}};
  EXPECT_EQ(LimitsOf(ObjectsWith("limits: {gpu: {memory: 10Gi}}", options)),
            R"({"nvidia.com/gpu-10g":"1"})");
  EXPECT_EQ(LimitsOf(ObjectsWith("limits: {gpu: {memory: 11Gi}}", options)),
            R"({"nvidia.com/gpu-20g":"1"})");
  EXPECT_THAT(ObjectsOf(FunctionWith("limits: {gpu: {memory: 21Gi}}"), options),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("limits.gpu.memory: 21Gi: the largest part that a pool of this "
                                 "cluster makes of a GPU has 20Gi")));
}

TEST(FunctionGpusTest, AModelThatNoNodeHasIsNoted) {
  EXPECT_THAT(ObjectsWith("limits: {gpu: {model: L4}}", {.cluster_models = {"T4"}}).notes,
              ElementsAre("limits.gpu.model: no node of this cluster has L4 now: its GPUs are T4"));
  EXPECT_THAT(ObjectsWith("limits: {gpu: {model: L4}}").notes, IsEmpty());
}

struct Refusal {
  std::string_view fields;
  StatusCode code;
  std::string_view problem;
};

TEST(FunctionObjectsTest, WhatAClusterCannotRunIsRefusedWithTheFix) {
  const std::vector<Refusal> table = {
      {"labels: {kgpu.dev/function: other}", StatusCode::kInvalidArgument,
       "labels.kgpu.dev/function: is set by kgpu"},
      {"labels: {openfx_fn: other}", StatusCode::kInvalidArgument, "labels.openfx_fn"},
      {"annotations: {kgpu.dev/function: x}", StatusCode::kInvalidArgument, "choose another key"},
      {"constraints: [a=b, a=c]", StatusCode::kInvalidArgument, "no node also has a=b"},
      {"secrets: [token]", StatusCode::kFailedPrecondition,
       "namespace fn has no Secret token: kubectl -n fn create secret generic token"},
      {"registry_auth: eDp5", StatusCode::kFailedPrecondition, "create secret docker-registry"},
      {"limits: {gpu: {memory: 8Gi}}", StatusCode::kFailedPrecondition,
       "limits.gpu.memory: 8Gi: no pool of this cluster divides GPUs by memory"},
      {"scaling: {by: keda}", StatusCode::kFailedPrecondition, "no address of Prometheus"}};
  for (const Refusal& refusal : table) {
    EXPECT_THAT(ObjectsOf(FunctionWith(refusal.fields), {.space = "fn"}),
                StatusIs(refusal.code, HasSubstr(std::string(refusal.problem))))
        << refusal.fields;
  }
  Function digit = FunctionWith("");
  digit.name = "1st";
  EXPECT_THAT(ObjectsOf(digit, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("must begin with a letter")));
}

TEST(FunctionObjectsTest, LabelsThatAreOursAnywayAreTaken) {
  EXPECT_OK(ObjectsOf(FunctionWith("labels: {openfx_fn: hello}"), {}));
}

TEST(FunctionObjectsTest, AnObjectMayCarryOnlySoMuch) {
  Function function = FunctionWith("");
  for (int i = 0; i < 3; ++i) {
    function.environment.emplace(fmt::format("A{}", i), std::string(60 << 10, '"'));
  }
  EXPECT_THAT(ObjectsOf(function, {}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("exceed the 262144")));
}

TEST(FunctionObjectsTest, WhatIsNotConsideredIsNoted) {
  Function function = FunctionWith("pids: 64, network: none");
  function.image = "localhost/kgpu-fn/hello:1";
  const auto objects = ObjectsOf(function, {});
  ASSERT_OK(objects);
  EXPECT_THAT(objects->notes,
              ElementsAre(HasSubstr("pids: 64"), HasSubstr("network: none"),
                          HasSubstr("localhost/kgpu-fn/hello:1: is in no registry")));
  EXPECT_EQ(ContainerIn(*objects).at("imagePullPolicy"), "IfNotPresent");
  EXPECT_FALSE(ContainerIn(ObjectsWith("")).contains("imagePullPolicy"));
}

}  // namespace
}  // namespace kgpu::functions

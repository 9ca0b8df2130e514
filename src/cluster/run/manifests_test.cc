#include "src/cluster/run/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/cluster/run/view.h"
#include "src/kube/api/json.h"

namespace kgpu::run {
namespace {

namespace json = boost::json;
using kube::FindField;
using kube::TextField;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

RunRequest Request(RunKind kind) {
  return {.kind = kind, .name = "r", .image = "i:1", .gpus = 2, .token = "secret"};
}
std::vector<json::value> Objects(const RunRequest& request) {
  return ObjectsOf(request, {.resource = "nvidia.com/gpu"});
}
std::vector<std::string> KindsOf(const std::vector<json::value>& objects) {
  std::vector<std::string> kinds;
  kinds.reserve(objects.size());
  for (const json::value& object : objects) {
    kinds.emplace_back(TextField(object, {"kind"}));
  }
  return kinds;
}
const json::value& ContainerOf(const json::value& pod) {
  return FindField(pod, {"spec", "containers"})->as_array()[0];
}

TEST(ManifestsTest, EachKindHasItsObjects) {
  EXPECT_THAT(KindsOf(Objects(Request(RunKind::kJob))), ElementsAre("Job"));
  EXPECT_THAT(KindsOf(Objects(Request(RunKind::kShell))), ElementsAre("Pod"));
  RunRequest jupyter = Request(RunKind::kJupyter);
  EXPECT_THAT(KindsOf(Objects(jupyter)), ElementsAre("Secret", "Service", "Deployment"));
  jupyter.has_own_claim = true;
  EXPECT_THAT(KindsOf(Objects(jupyter)),
              ElementsAre("Secret", "PersistentVolumeClaim", "Service", "Deployment"));
}

TEST(ManifestsTest, AClaimHasTheGpus) {
  RunRequest request = Request(RunKind::kJob);
  request.claim = "two-a100";
  const json::value pod = PodOf(ObjectsOf(request, {}));
  EXPECT_EQ(json::serialize(*FindField(pod, {"spec", "resourceClaims"})),
            R"([{"name":"gpus","resourceClaimName":"two-a100"}])");
  EXPECT_EQ(json::serialize(*FindField(ContainerOf(pod), {"resources"})),
            R"({"claims":[{"name":"gpus"}]})");
  EXPECT_EQ(FindField(pod, {"spec", "tolerations"})->as_array().size(), 1U);
}

// The fields that the Pod Security Standard "restricted" requires.
TEST(ManifestsTest, PodsAreRestricted) {
  for (const RunKind kind : {RunKind::kJob, RunKind::kShell, RunKind::kJupyter}) {
    const json::value pod = PodOf(Objects(Request(kind)));
    EXPECT_EQ(*FindField(pod, {"spec", "securityContext", "runAsNonRoot"}), true);
    EXPECT_EQ(TextField(pod, {"spec", "securityContext", "seccompProfile", "type"}),
              "RuntimeDefault");
    const json::value& container = ContainerOf(pod);
    EXPECT_EQ(*FindField(container, {"securityContext", "allowPrivilegeEscalation"}), false);
    EXPECT_EQ(json::serialize(*FindField(container, {"securityContext", "capabilities", "drop"})),
              R"(["ALL"])");
    EXPECT_EQ(*FindField(pod, {"spec", "automountServiceAccountToken"}), false);
  }
}

TEST(ManifestsTest, TheImagesUserMayBeKept) {
  RunRequest request = Request(RunKind::kJob);
  request.has_image_user = true;
  const json::value pod = PodOf(Objects(request));
  EXPECT_EQ(FindField(pod, {"spec", "securityContext", "runAsUser"}), nullptr);
  EXPECT_EQ(FindField(pod, {"spec", "securityContext", "runAsNonRoot"}), nullptr);
}

TEST(ManifestsTest, AJobHasTheCommandAndTheGpus) {
  RunRequest request = Request(RunKind::kJob);
  request.command = {"nvidia-smi", "-L"};
  request.environment = {{"A", "b"}, {"HOME", "/x"}};
  request.mounts = {{"data", "/data"}};
  const json::value pod = PodOf(Objects(request));
  const json::value& container = ContainerOf(pod);
  EXPECT_EQ(json::serialize(*FindField(container, {"args"})), R"(["nvidia-smi","-L"])");
  EXPECT_EQ(TextField(container, {"resources", "limits", "nvidia.com/gpu"}), "2");
  EXPECT_EQ(json::serialize(*FindField(container, {"env"})),
            R"([{"name":"A","value":"b"},{"name":"HOME","value":"/x"}])");
  EXPECT_THAT(json::serialize(*FindField(pod, {"spec", "volumes"})),
              HasSubstr(R"("persistentVolumeClaim":{"claimName":"data"})"));
  EXPECT_THAT(json::serialize(*FindField(container, {"volumeMounts"})),
              HasSubstr(R"("mountPath":"/data")"));
  EXPECT_EQ(TextField(pod, {"metadata", "name"}), "r");
}

TEST(ManifestsTest, JupyterIsReachedByItsPortAndToken) {
  const std::vector<json::value> objects = Objects(Request(RunKind::kJupyter));
  EXPECT_EQ(FindField(objects[1], {"spec", "ports"})->as_array()[0].at("nodePort"), 30061);
  EXPECT_EQ(TextField(objects[0], {"stringData", "token"}), "secret");
  const json::value pod = PodOf(objects);
  EXPECT_NE(FindField(ContainerOf(pod), {"readinessProbe", "httpGet"}), nullptr);
  EXPECT_THAT(json::serialize(ContainerOf(pod)), HasSubstr("JUPYTER_TOKEN"));
  EXPECT_THAT(json::serialize(pod), Not(HasSubstr("secret\"")));
  RunRequest any_port = Request(RunKind::kJupyter);
  any_port.node_port = 0;
  EXPECT_FALSE(FindField(Objects(any_port)[1], {"spec", "ports"})
                   ->as_array()[0]
                   .as_object()
                   .contains("nodePort"));
}

TEST(ManifestsTest, TheTextHidesTheToken) {
  const std::string text = ManifestText(Objects(Request(RunKind::kJupyter)));
  EXPECT_THAT(text, Not(HasSubstr("token: secret")));
  EXPECT_THAT(text, HasSubstr("---\n"));
}

TEST(ManifestsTest, APoolOfAModelIsTolerated) {
  const json::value pod =
      PodOf(ObjectsOf(Request(RunKind::kShell), {.resource = "nvidia.com/gpu-T4"}));
  EXPECT_THAT(json::serialize(*FindField(pod, {"spec", "tolerations"})),
              HasSubstr(R"("key":"nvidia.com/gpu-T4")"));
}

}  // namespace
}  // namespace kgpu::run

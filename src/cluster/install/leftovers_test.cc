#include "src/cluster/install/leftovers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/cluster/install/test_install.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() {
    EXPECT_OK(cluster_.DoInstall());
    cluster_.loop.Advance(std::chrono::seconds(10));
  }
  void Create(const std::string& collection, const json::value& object) {
    EXPECT_OK(cluster_.api.Do("POST", collection, object));
  }

  TestInstallation cluster_;
  kube::Kinds kinds_{cluster_.client};
};

TEST_F(LeftoversTest, FindsOurObjectsOfAllKinds) {
  const auto refs = FindLabelled(cluster_.client, kinds_);
  ASSERT_OK(refs);
  // Those of the set and the record; not the agents' pods.
  EXPECT_THAT(*refs, SizeIs(7));
}

TEST_F(LeftoversTest, OnlyWhatPeopleMadeIsForeign) {
  Create("/api/v1/namespaces/kgpu/configmaps", {{"metadata", {{"name", "kube-root-ca.crt"}}}});
  Create("/api/v1/namespaces/kgpu/serviceaccounts", {{"metadata", {{"name", "default"}}}});
  Create("/apis/coordination.k8s.io/v1/namespaces/kgpu/leases",
         {{"metadata", {{"name", "kgpu-controller"}}}, {"spec", json::object()}});
  auto contents = LookIntoSpace(cluster_.client, kinds_, "kgpu");
  ASSERT_OK(contents);
  EXPECT_THAT(contents->foreign, IsEmpty());
  EXPECT_THAT(contents->own, Contains(kube::ObjectRef{"coordination.k8s.io/v1", "Lease", "kgpu",
                                                      "kgpu-controller"}));
  Create("/api/v1/namespaces/kgpu/secrets", {{"metadata", {{"name", "mine"}}}});
  // What people run with kgpu is theirs.
  Create("/api/v1/namespaces/kgpu/configmaps",
         {{"metadata",
           {{"name", "job"}, {"labels", {{"app.kubernetes.io/managed-by", "kgpu-run"}}}}}});
  contents = LookIntoSpace(cluster_.client, kinds_, "kgpu");
  ASSERT_OK(contents);
  EXPECT_THAT(contents->foreign, ElementsAre(kube::ObjectRef{"v1", "ConfigMap", "kgpu", "job"},
                                             kube::ObjectRef{"v1", "Secret", "kgpu", "mine"}));
}

TEST_F(LeftoversTest, FindsPoliciesAndPodsWithGpus) {
  EXPECT_THAT(*FindPolicies(cluster_.client), IsEmpty());
  Create("/apis/kgpu.dev/v1alpha1/gpupolicies", {{"apiVersion", "kgpu.dev/v1alpha1"},
                                                 {"kind", "GpuPolicy"},
                                                 {"metadata", {{"name", "all"}}}});
  EXPECT_THAT(*FindPolicies(cluster_.client), ElementsAre("all"));
  const auto pod = [](const char* name, const char* node, const char* resource) {
    return json::value{
        {"metadata", {{"name", name}}},
        {"spec",
         {{"nodeName", node},
          {"containers",
           {{{"name", "c"}, {"image", "i"}, {"resources", {{"limits", {{resource, "1"}}}}}}}}}}};
  };
  Create("/api/v1/namespaces/default/pods", pod("gpu", "n1", "nvidia.com/gpu"));
  Create("/api/v1/namespaces/default/pods", pod("other-node", "n9", "nvidia.com/gpu"));
  Create("/api/v1/namespaces/default/pods", pod("cpu", "n1", "cpu"));
  EXPECT_THAT(*FindGpuPods(cluster_.client, {"n1", "n2"}), ElementsAre("default/gpu"));
}

}  // namespace
}  // namespace kgpu::install

#include "src/cluster/install/preflight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>

#include "src/cluster/install/test_install.h"
#include "testing/apiserver/json_fields.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(PreflightTest, NamesEveryMissingPermissionAtOnce) {
  TestInstallation cluster;
  kube::Kinds kinds(cluster.client);
  const auto needed = PermissionsFor(
      kinds, {{"apps/v1", "DaemonSet", "kgpu", "a"}, {"v1", "Namespace", "", "kgpu"}},
      {"get", "patch"});
  ASSERT_OK(needed);
  EXPECT_OK(CheckPermissions(cluster.client, *needed));
  cluster.api.access().SetAuthorizer([](const json::object& spec) {
    return apiserver::TextAt(spec, {"resourceAttributes", "verb"}) == "get";
  });
  EXPECT_THAT(CheckPermissions(cluster.client, *needed),
              StatusIs(StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("patch namespaces, patch daemonsets.apps in kgpu:"),
                             Not(HasSubstr("get ")))));
}

TEST(PreflightTest, NamesKindsThatTheClusterDoesNotServe) {
  TestInstallation cluster;
  std::vector<json::value> objects = SmallSet();
  objects.push_back(
      {{"apiVersion", "kgpu.dev/v1alpha1"}, {"kind", "GpuPolicy"}, {"metadata", {{"name", "p"}}}});
  EXPECT_OK(CheckKinds(cluster.client, objects));
  objects.push_back({{"apiVersion", "monitoring.coreos.com/v1"},
                     {"kind", "PodMonitor"},
                     {"metadata", {{"name", "m"}, {"namespace", "kgpu"}}}});
  EXPECT_THAT(CheckKinds(cluster.client, objects),
              StatusIs(StatusCode::kUnimplemented,
                       HasSubstr("PodMonitor kgpu/m (monitoring.coreos.com/v1)")));
}

TEST(PreflightTest, FindsOtherSoftwareForGpus) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  auto found = FindOtherSoftware(cluster.client);
  ASSERT_OK(found);
  EXPECT_THAT(*found, IsEmpty());
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "nv"}}}}));
  const json::object labels{{"name", "nvidia-device-plugin-ds"}};
  ASSERT_OK(
      cluster.api.Do("POST", "/apis/apps/v1/namespaces/nv/daemonsets",
                     {{"metadata", {{"name", "nvidia-device-plugin-daemonset"}}},
                      {"spec",
                       {{"selector", {{"matchLabels", labels}}},
                        {"template",
                         {{"metadata", {{"labels", labels}}},
                          {"spec",
                           {{"containers",
                             {{{"name", "nvidia-device-plugin-ctr"},
                               {"image", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0"}}}}}}}}}}}));
  found = FindOtherSoftware(cluster.client);
  ASSERT_OK(found);
  EXPECT_THAT(*found, ElementsAre(HasSubstr("DaemonSet nv/nvidia-device-plugin-daemonset")));
}

}  // namespace
}  // namespace kgpu::install

// Functions on a cluster, while kgpu is upgraded or removed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/cluster/install/installer.h"
#include "src/cluster/install/test_install.h"
#include "src/cluster/install/uninstaller.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kSpace = "/api/v1/namespaces/kgpu-functions";

json::object OurMetadata(const char* name, const char* space) {
  json::object metadata = {
      {"name", name},
      {"labels",
       {{"app.kubernetes.io/part-of", "kgpu"}, {"app.kubernetes.io/managed-by", "kgpu-cluster"}}}};
  if (*space != '\0') {
    metadata["namespace"] = space;
  }
  return metadata;
}

// With a gateway, and a namespace for its functions.
std::vector<json::value> SetWithFunctions() {
  std::vector<json::value> objects = SmallSet();
  objects.push_back({{"apiVersion", "v1"},
                     {"kind", "Namespace"},
                     {"metadata", OurMetadata("kgpu-functions", "")}});
  objects.push_back({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "Role"},
                     {"metadata", OurMetadata("kgpu-gateway", "kgpu-functions")},
                     {"rules", json::array()}});
  objects.push_back(json::parse(R"({
      "apiVersion": "apps/v1", "kind": "Deployment",
      "metadata": {"name": "kgpu-gateway", "namespace": "kgpu", "labels": {
          "app.kubernetes.io/part-of": "kgpu", "app.kubernetes.io/managed-by": "kgpu-cluster"}},
      "spec": {"selector": {"matchLabels": {"app.kubernetes.io/name": "kgpu-gateway"}},
               "template": {"metadata": {"labels": {"app.kubernetes.io/name": "kgpu-gateway"}},
                            "spec": {"containers": [{"name": "gateway", "image": "i"}]}}}})"));
  return objects;
}

struct ClusterWithFunctions : TestInstallation {
  ClusterWithFunctions() {
    before = api.Dump();
    EXPECT_OK(DoInstall(SetWithFunctions()));
    loop.Advance(seconds(10));
  }

  // As the gateway does, with GPUs.
  void Deploy(const char* name) {
    const json::object labels = {{"app.kubernetes.io/managed-by", "kgpu-gateway"},
                                 {"kgpu.dev/function", name}};
    const json::value pod = {{"containers",
                              {{{"name", "function"},
                                {"image", "i"},
                                {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}};
    ASSERT_OK(api.Do("POST", "/apis/apps/v1/namespaces/kgpu-functions/deployments",
                     {{"metadata", {{"name", name}, {"labels", labels}}},
                      {"spec",
                       {{"selector", {{"matchLabels", labels}}},
                        {"template", {{"metadata", {{"labels", labels}}}, {"spec", pod}}}}}}));
    loop.Advance(seconds(10));
  }
  // What it keeps of the day's use.
  void KeepUse() {
    ASSERT_OK(api.Do("POST", std::string(kSpace) + "/configmaps",
                     {{"metadata",
                       {{"name", "kgpu-function-usage"},
                        {"labels", {{"app.kubernetes.io/managed-by", "kgpu-gateway"}}}}}}));
  }
  void MakeSecret() {
    ASSERT_OK(
        api.Do("POST", std::string(kSpace) + "/secrets", {{"metadata", {{"name", "token"}}}}));
  }
  Status Remove(const UninstallRequest& request = {}) {
    kube::Kinds kinds(client);
    done = {};
    const Status status = Uninstall(client, kinds, request, done);
    loop.Advance(seconds(5));
    return status;
  }

  std::string before;
  UninstallReport done;
};

TEST(FunctionsOfAnInstallationTest, WithoutFunctionsNothingIsLeft) {
  ClusterWithFunctions cluster;
  cluster.KeepUse();
  ASSERT_OK(cluster.Remove());
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
  EXPECT_THAT(cluster.done.stays, IsEmpty());
}

TEST(FunctionsOfAnInstallationTest, FunctionsAreAskedForBeforeAnythingChanges) {
  ClusterWithFunctions cluster;
  cluster.Deploy("hello");
  cluster.Deploy("other");
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.Remove(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("(kgpu-functions/hello, kgpu-functions/other)"),
                             HasSubstr("--delete-functions"), HasSubstr("nothing was changed"))));
  EXPECT_EQ(cluster.api.Dump(), installed);
  ASSERT_OK(cluster.Remove({.is_dry_run = true, .deletes_functions = true}));
  EXPECT_EQ(cluster.api.Dump(), installed);
  EXPECT_THAT(cluster.done.removed, AllOf(Contains("Deployment kgpu-functions/hello"),
                                          Contains("Namespace kgpu-functions")));
  ASSERT_OK(cluster.Remove({.deletes_functions = true}));
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
}

TEST(FunctionsOfAnInstallationTest, ANamespaceWithSomebodysSecretStaysAndIsNamed) {
  ClusterWithFunctions cluster;
  cluster.Deploy("hello");
  cluster.KeepUse();
  cluster.MakeSecret();
  ASSERT_OK(cluster.Remove({.deletes_functions = true}));
  EXPECT_THAT(cluster.done.stays,
              ElementsAre("Namespace kgpu-functions: holds Secret kgpu-functions/token"));
  EXPECT_NE(cluster.api.Find(std::string(kSpace) + "/secrets/token"), nullptr);
  EXPECT_EQ(cluster.api.Find(std::string(kSpace) + "/configmaps/kgpu-function-usage"), nullptr);
  EXPECT_EQ(cluster.api.Dump().find("kgpu-cluster"), std::string::npos);
}

TEST(FunctionsOfAnInstallationTest, ANamespaceThatExistedKeepsOnlyWhatIsNotOurs) {
  TestInstallation cluster;
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "team"}}}}));
  const std::string before = cluster.api.Dump();
  std::vector<json::value> objects = SmallSet();
  objects.push_back({{"apiVersion", "rbac.authorization.k8s.io/v1"},
                     {"kind", "Role"},
                     {"metadata", OurMetadata("kgpu-gateway", "team")},
                     {"rules", json::array()}});
  ASSERT_OK(cluster.DoInstall(objects));
  cluster.loop.Advance(seconds(10));
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces/team/configmaps",
                           {{"metadata",
                             {{"name", "kgpu-function-usage"},
                              {"labels", {{"app.kubernetes.io/managed-by", "kgpu-gateway"}}}}}}));
  kube::Kinds kinds(cluster.client);
  UninstallReport done;
  ASSERT_OK(Uninstall(cluster.client, kinds, {}, done));
  cluster.loop.Advance(seconds(5));
  EXPECT_EQ(cluster.api.Dump(), before);
}

TEST(FunctionsOfAnInstallationTest, AnInstallationWithoutARecordIsRemovedToo) {
  ClusterWithFunctions cluster;
  ASSERT_OK(cluster.api.Do("DELETE", RecordPath("kgpu"), json::object()));
  ASSERT_OK(cluster.Remove());
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
}

TEST(FunctionsOfAnInstallationTest, AnUpgradeTakesNoNamespaceAwayFromFunctions) {
  ClusterWithFunctions cluster;
  cluster.Deploy("hello");
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.DoInstall(SmallSet("b")),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("Namespace kgpu-functions is no longer part"),
                             HasSubstr("Deployment kgpu-functions/hello"),
                             HasSubstr("nothing was changed"))));
  EXPECT_EQ(cluster.api.Dump(), installed);
  ASSERT_OK(cluster.api.Do("DELETE", "/apis/apps/v1/namespaces/kgpu-functions/deployments/hello",
                           json::object()));
  cluster.loop.Advance(seconds(60));
  ASSERT_OK(cluster.DoInstall(SmallSet("b")));
  cluster.loop.Advance(seconds(5));
  EXPECT_EQ(cluster.api.Find(kSpace), nullptr);
}

TEST(FunctionsOfAnInstallationTest, AnInterruptedRemovalIsContinued) {
  uint64_t requests = 0;
  const UninstallRequest request{.deletes_functions = true};
  {
    ClusterWithFunctions cluster;
    cluster.Deploy("hello");
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      ++requests;
      return OkStatus();
    });
    ASSERT_OK(cluster.Remove(request));
  }
  for (uint64_t stop = 0; stop < requests; stop += kMomentStep) {
    ClusterWithFunctions cluster;
    cluster.Deploy("hello");
    cluster.KeepUse();
    uint64_t sent = 0;
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      return sent++ < stop ? OkStatus() : Internal("ended here");
    });
    (void)cluster.Remove(request);
    cluster.client.BeforeSend({});
    const Status status = cluster.Remove(request);
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kNotFound) << stop << status;
    EXPECT_EQ(cluster.api.Dump(), cluster.before) << stop;
  }
}

}  // namespace
}  // namespace kgpu::install

#include "src/cluster/install/installer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "src/cluster/install/test_install.h"
#include "src/cluster/install/uninstaller.h"
#include "src/kube/api/json.h"
#include "testing/sanitizer.h"
#include "testing/status_matchers.h"

namespace kgpu::install {
namespace {

bool HasChange(const InstallReport& report) {
  return !report.removed.empty() ||
         std::ranges::any_of(report.applied, [](const kube::ApplyResult& result) {
           return result.outcome != kube::ApplyOutcome::kUnchanged;
         });
}

namespace json = boost::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kConfigPath = "/api/v1/namespaces/kgpu/configmaps/kgpu-agent";

std::vector<std::string> Applied(const InstallReport& report) {
  std::vector<std::string> lines;
  lines.reserve(report.applied.size());
  for (const kube::ApplyResult& result : report.applied) {
    lines.push_back(fmt::format("{} {}", kube::TextOf(result.ref), kube::ToString(result.outcome)));
  }
  return lines;
}

std::vector<std::string> Removed(const InstallReport& report) {
  std::vector<std::string> lines;
  lines.reserve(report.removed.size());
  for (const kube::RemoveResult& result : report.removed) {
    lines.push_back(fmt::format("{} {}", kube::TextOf(result.ref), kube::ToString(result.outcome)));
  }
  return lines;
}

TEST(InstallerTest, InstallsRecordsAndBecomesReady) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  EXPECT_THAT(
      Applied(cluster.report),
      ElementsAre("Namespace kgpu created", "CustomResourceDefinition gpupolicies.kgpu.dev created",
                  "ServiceAccount kgpu/kgpu-agent created", "ClusterRole kgpu-agent created",
                  "ConfigMap kgpu/kgpu-agent created", "DaemonSet kgpu/kgpu-agent created"));
  const auto record = ReadRecord(cluster.client, "kgpu");
  ASSERT_OK(record);
  EXPECT_TRUE((*record)->is_complete);
  EXPECT_EQ((*record)->objects.size(), 6U);
  EXPECT_EQ((*record)->request, (json::object{{"settings", json::array{"a=b"}}}));
  kube::Kinds kinds(cluster.client);
  EXPECT_OK(kube::WaitUntilReady(cluster.client, kinds, WorkloadsOf(SmallSet()), {}));
  EXPECT_THAT(cluster.sim.problems(), IsEmpty());
}

TEST(InstallerTest, TheSecondTimeNothingChanges) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  cluster.loop.Advance(std::chrono::seconds(30));
  const std::string before = cluster.api.Dump();
  ASSERT_OK(cluster.DoInstall());
  EXPECT_FALSE(HasChange(cluster.report));
  EXPECT_EQ(cluster.report.version_before, "0.1.0");
  EXPECT_EQ(cluster.api.Dump(), before);
}

TEST(InstallerTest, ADryRunWritesNothing) {
  TestInstallation cluster;
  const std::string before = cluster.api.Dump();
  InstallRequest request = TestInstallation::Request(SmallSet());
  request.is_dry_run = true;
  ASSERT_OK(cluster.DoInstall(request));
  EXPECT_TRUE(HasChange(cluster.report));
  EXPECT_EQ(cluster.api.Dump(), before);
}

TEST(InstallerTest, AnUpgradeChangesAndRemoves) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  std::vector<json::value> next = SmallSet("b");
  std::erase_if(
      next, [](const json::value& object) { return kube::RefOf(object).kind == "ClusterRole"; });
  InstallRequest dry = TestInstallation::Request(next);
  dry.is_dry_run = true;
  ASSERT_OK(cluster.DoInstall(dry));
  EXPECT_THAT(Removed(cluster.report), ElementsAre("ClusterRole kgpu-agent removed"));
  ASSERT_OK(cluster.DoInstall(next));
  EXPECT_THAT(Applied(cluster.report), Contains("ConfigMap kgpu/kgpu-agent changed"));
  EXPECT_THAT(Removed(cluster.report), ElementsAre("ClusterRole kgpu-agent removed"));
  EXPECT_EQ(cluster.api.Find("/apis/rbac.authorization.k8s.io/v1/clusterroles/kgpu-agent"),
            nullptr);
}

TEST(InstallerTest, WhatSomebodyElseTookOverIsNotRemoved) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  const char* role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kgpu-agent";
  ASSERT_OK(cluster.api.Do(
      "PATCH", role, {{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "argo"}}}}}}));
  std::vector<json::value> next = SmallSet();
  std::erase_if(
      next, [](const json::value& object) { return kube::RefOf(object).kind == "ClusterRole"; });
  ASSERT_OK(cluster.DoInstall(next));
  EXPECT_THAT(cluster.report.removed, IsEmpty());
  EXPECT_NE(cluster.api.Find(role), nullptr);
}

TEST(InstallerTest, AnotherInstallationIsRefusedBeforeAnythingChanges) {
  TestInstallation cluster;
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "kgpu"}}}}));
  json::value daemon_set = SmallSet().back();
  daemon_set.at("metadata").as_object()["labels"] = json::object();
  daemon_set.at("metadata").as_object()["annotations"] = {{"meta.helm.sh/release-name", "gpu"}};
  ASSERT_OK(cluster.api.Do("POST", "/apis/apps/v1/namespaces/kgpu/daemonsets", daemon_set));
  cluster.loop.Advance(std::chrono::seconds(30));
  const std::string before = cluster.api.Dump();
  EXPECT_THAT(cluster.DoInstall(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("managed by helm release gpu")));
  EXPECT_EQ(cluster.api.Dump(), before);
}

TEST(InstallerTest, AConflictIsNamedAndTheRestGoesOn) {
  TestInstallation cluster;
  ASSERT_OK(cluster.DoInstall());
  ASSERT_OK(cluster.api.Do("PATCH", kConfigPath, {{"data", {{"config.yaml", "mine"}}}}));
  EXPECT_THAT(cluster.DoInstall(SmallSet("b")),
              StatusIs(StatusCode::kAborted, HasSubstr("--force-conflicts")));
  InstallRequest request = TestInstallation::Request(SmallSet("b"));
  request.force = true;
  ASSERT_OK(cluster.DoInstall(request));
  EXPECT_EQ(kube::TextField(cluster.At(kConfigPath), {"data", "config.yaml"}), "b");
}

TEST(InstallerTest, ANamespaceThatExistsIsRecordedAsSuch) {
  TestInstallation cluster;
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces", {{"metadata", {{"name", "kgpu"}}}}));
  ASSERT_OK(cluster.DoInstall());
  const auto record = ReadRecord(cluster.client, "kgpu");
  ASSERT_OK(record);
  EXPECT_TRUE((*record)->Find({"v1", "Namespace", "", "kgpu"})->existed);
  EXPECT_FALSE((*record)->Find({"v1", "ConfigMap", "kgpu", "kgpu-agent"})->existed);
}

// The objects of `kgpu cluster render | kubectl apply` carry our labels.
TEST(InstallerTest, AnInstallationByKubectlIsContinuedAsOurs) {
  TestInstallation cluster;
  const std::string before = cluster.api.Dump();
  kube::Kinds kinds(cluster.client);
  ASSERT_OK(kube::StatusOfResults(
      kube::ApplyObjects(cluster.client, kinds, SmallSet(), {.field_manager = "kubectl"})));
  cluster.loop.Advance(std::chrono::seconds(10));
  EXPECT_THAT(cluster.DoInstall(SmallSet("b")),
              StatusIs(StatusCode::kAborted, HasSubstr("--force-conflicts")));
  InstallRequest request = TestInstallation::Request(SmallSet("b"));
  request.force = true;
  ASSERT_OK(cluster.DoInstall(request));
  EXPECT_EQ(kube::TextField(cluster.At(kConfigPath), {"data", "config.yaml"}), "b");
  const auto record = ReadRecord(cluster.client, "kgpu");
  ASSERT_OK(record);
  EXPECT_TRUE(std::ranges::none_of((*record)->objects, &InstalledObject::existed));
  UninstallReport report;
  ASSERT_OK(Uninstall(cluster.client, kinds, {}, report));
  cluster.loop.Advance(std::chrono::seconds(5));
  EXPECT_EQ(cluster.api.Dump(), before);
}

// Ended at any request, the next run completes it, and knows what it may take back.
TEST(InstallerTest, AnInterruptedInstallationIsContinued) {
  uint64_t requests = 0;
  {
    TestInstallation cluster;
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      ++requests;
      return OkStatus();
    });
    ASSERT_OK(cluster.DoInstall());
  }
  ASSERT_GT(requests, 15U);
  for (uint64_t stop = 0; stop < requests; stop += kMomentStep) {
    TestInstallation cluster;
    uint64_t sent = 0;
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      return sent++ < stop ? OkStatus() : PermissionDenied("ended here");
    });
    EXPECT_FALSE(cluster.DoInstall().ok());
    cluster.client.BeforeSend({});
    ASSERT_OK(cluster.DoInstall()) << stop;
    const auto record = ReadRecord(cluster.client, "kgpu");
    ASSERT_OK(record);
    EXPECT_TRUE((*record)->is_complete);
    EXPECT_EQ((*record)->objects.size(), 6U);
    EXPECT_TRUE(std::ranges::none_of((*record)->objects, &InstalledObject::existed)) << stop;
  }
}

}  // namespace
}  // namespace kgpu::install

#include "src/cluster/install/uninstaller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

#include "src/cluster/install/test_install.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
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

struct TestUninstall : TestInstallation {
  TestUninstall() { before = api.Dump(); }

  // With what agents write to their nodes.
  void InstallAndRun() {
    EXPECT_OK(DoInstall());
    loop.Advance(seconds(10));
    for (const char* name : {"n1", "n2"}) {
      Apply(name, "kgpu", "", {{"labels", {{"nvidia.com/gpu.count", "8"}}}});
      Apply(name, "kgpu-gate", "status", {});
    }
  }
  void Apply(const char* node, const char* manager, const char* subresource,
             json::object metadata) {
    metadata["name"] = node;
    json::object object{{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", metadata}};
    if (std::string_view(subresource) == "status") {
      object["status"] = {{"conditions",
                           {{{"type", "GPUReady"},
                             {"status", "True"},
                             {"reason", "AllVerified"},
                             {"message", ""}}}}};
    }
    const auto request = kube::ApplyRequest(kube::kNodes.Object("", node, subresource), object,
                                            true, {.field_manager = manager});
    ASSERT_OK(request);
    ASSERT_OK(client.Send(*request));
  }
  // As the controller does to install a driver or to validate.
  void RunOnNode(const char* name, const char* node) {
    const json::value at = At(kube::kNodes.Object("", node));
    ASSERT_OK(api.Do("POST", "/api/v1/namespaces/kgpu/pods",
                     {{"metadata",
                       {{"name", name},
                        {"labels",
                         {{"app.kubernetes.io/part-of", "kgpu"},
                          {"app.kubernetes.io/managed-by", "kgpu-controller"}}},
                        {"ownerReferences",
                         {{{"apiVersion", "v1"},
                           {"kind", "Node"},
                           {"name", node},
                           {"uid", at.at("metadata").at("uid")}}}}}},
                      {"spec",
                       {{"nodeName", node},
                        {"containers",
                         {{{"name", "c"},
                           {"image", "i"},
                           {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}}));
  }
  Status Run(const UninstallRequest& request = {}) {
    kube::Kinds kinds(client);
    done = {};
    const Status status = Uninstall(client, kinds, request, done);
    loop.Advance(seconds(5));
    return status;
  }

  std::string before;
  UninstallReport done;
};

TEST(UninstallerTest, RestoresTheClusterAsItWas) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  EXPECT_NE(cluster.api.Dump(), cluster.before);
  ASSERT_OK(cluster.Run());
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
  EXPECT_THAT(cluster.done.stays, IsEmpty());
  EXPECT_THAT(cluster.done.removed,
              AllOf(Contains("DaemonSet kgpu/kgpu-agent"), Contains("host n2: files of the agent"),
                    Contains(HasSubstr("node n1: "))));
  EXPECT_THAT(cluster.Run(), StatusIs(StatusCode::kNotFound, HasSubstr("--namespace")));
  EXPECT_THAT(cluster.sim.problems(), IsEmpty());
}

TEST(UninstallerTest, ManyLabelsOfANodeAreCounted) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  json::object labels;
  for (int i = 0; i < 92; ++i) {
    labels[fmt::format("feature.node.kubernetes.io/f{}", i)] = "1";
  }
  cluster.Apply("n1", "kgpu", "", {{"labels", labels}});
  ASSERT_OK(cluster.Run());
  EXPECT_THAT(cluster.done.removed, Contains(HasSubstr("node n1: ")));
  EXPECT_THAT(cluster.done.removed, Contains(HasSubstr("92 labels")));
}

TEST(UninstallerTest, ADryRunWritesNothing) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  const std::string installed = cluster.api.Dump();
  ASSERT_OK(cluster.Run({.is_dry_run = true}));
  EXPECT_THAT(cluster.done.removed, AllOf(Contains("Namespace kgpu"),
                                          Contains("files of the agents on 2 hosts (n1, n2)")));
  EXPECT_EQ(cluster.api.Dump(), installed);
}

TEST(UninstallerTest, ANamespaceThatExistedStaysAsItWas) {
  TestUninstall cluster;
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces",
                           {{"metadata", {{"name", "kgpu"}, {"labels", {{"mine", "1"}}}}}}));
  cluster.before = cluster.api.Dump();
  cluster.InstallAndRun();
  // What the controller has made.
  ASSERT_OK(cluster.api.Do("POST", "/apis/coordination.k8s.io/v1/namespaces/kgpu/leases",
                           {{"metadata", {{"name", "kgpu-controller"}}}}));
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces/kgpu/configmaps",
                           {{"metadata",
                             {{"name", "kgpu-policy"},
                              {"labels",
                               {{"app.kubernetes.io/part-of", "kgpu"},
                                {"app.kubernetes.io/managed-by", "kgpu-controller"}}}}}}));
  cluster.RunOnNode("kgpu-validate-n1", "n1");
  cluster.loop.Advance(seconds(10));
  // Until it is gone, the controller may start others.
  cluster.client.BeforeSend([&](const kube::ApiRequest& request) {
    if (request.method == "DELETE" && request.path.ends_with("daemonsets/kgpu-agent")) {
      cluster.RunOnNode("kgpu-install-n2", "n2");
    }
    return OkStatus();
  });
  ASSERT_OK(cluster.Run());
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
  EXPECT_THAT(cluster.done.stays, ElementsAre(HasSubstr("Namespace kgpu: existed before")));
  EXPECT_THAT(cluster.done.removed,
              AllOf(Contains("Pod kgpu/kgpu-validate-n1"), Contains("Pod kgpu/kgpu-install-n2")));
}

TEST(UninstallerTest, WhatOthersPutIntoTheNamespaceStaysAndIsNamed) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces/kgpu/secrets",
                           {{"metadata", {{"name", "mine"}}}}));
  ASSERT_OK(cluster.Run());
  EXPECT_THAT(cluster.done.stays, ElementsAre("Namespace kgpu: holds Secret kgpu/mine"));
  EXPECT_NE(cluster.api.Find("/api/v1/namespaces/kgpu/secrets/mine"), nullptr);
  EXPECT_EQ(cluster.api.Find(RecordPath("kgpu")), nullptr);
  // Nothing of ours is left on it.
  EXPECT_EQ(cluster.api.Dump().find("kgpu-cluster"), std::string::npos);
}

TEST(UninstallerTest, WhatSomebodyElseTookOverStaysAndIsNamed) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  const char* role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/kgpu-agent";
  ASSERT_OK(cluster.api.Do(
      "PATCH", role, {{"metadata", {{"labels", {{"app.kubernetes.io/managed-by", "argo"}}}}}}));
  ASSERT_OK(cluster.Run());
  EXPECT_THAT(cluster.done.stays, ElementsAre("ClusterRole kgpu-agent: is managed by argo now"));
  EXPECT_NE(cluster.api.Find(role), nullptr);
}

TEST(UninstallerTest, PoliciesAreAskedForBeforeAnythingChanges) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  ASSERT_OK(cluster.api.Do("POST", "/apis/kgpu.dev/v1alpha1/gpupolicies",
                           {{"apiVersion", "kgpu.dev/v1alpha1"},
                            {"kind", "GpuPolicy"},
                            {"metadata", {{"name", "all"}}}}));
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.Run(),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("(all)"), HasSubstr("--delete-policies"),
                             HasSubstr("--keep-policies"), HasSubstr("nothing was changed"))));
  EXPECT_EQ(cluster.api.Dump(), installed);
  ASSERT_OK(cluster.Run({.keeps_policies = true}));
  EXPECT_NE(cluster.api.Find("/apis/kgpu.dev/v1alpha1/gpupolicies/all"), nullptr);
  ASSERT_OK(cluster.Run({.deletes_policies = true}));
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
}

TEST(UninstallerTest, NodesTakenOverFromOthersAreHandedBackFirst) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  ASSERT_OK(cluster.api.Do(
      "POST", "/api/v1/nodes",
      {{"metadata", {{"name", "taken"}, {"labels", {{"kgpu.dev/taken-over", "true"}}}}}}));
  cluster.loop.Advance(seconds(10));  // the agent's pod on it
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("(taken)"), HasSubstr("--hand-back"))));
  EXPECT_EQ(cluster.api.Dump(), installed);
  EXPECT_OK(cluster.Run({.hands_back = true}));
}

TEST(UninstallerTest, AnotherNamespaceIsNamedAndNothingChanges) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.Run({.space = "default"}),
              StatusIs(StatusCode::kNotFound, HasSubstr("set --namespace kgpu")));
  EXPECT_EQ(cluster.api.Dump(), installed);
}

TEST(UninstallerTest, PodsWithGpusAreNamedBeforeAnythingChanges) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  ASSERT_OK(cluster.api.Do("POST", "/api/v1/namespaces/default/pods",
                           {{"metadata", {{"name", "train"}}},
                            {"spec",
                             {{"containers",
                               {{{"name", "c"},
                                 {"image", "i"},
                                 {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}}}}}}));
  cluster.loop.Advance(seconds(10));
  const std::string installed = cluster.api.Dump();
  EXPECT_THAT(cluster.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("default/train"), HasSubstr("--force"))));
  EXPECT_EQ(cluster.api.Dump(), installed);
  EXPECT_OK(cluster.Run({.forces = true}));
}

TEST(UninstallerTest, AHostThatCannotBeClearedIsNamedAndTheRestIsRemoved) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  cluster.sim.SetScript([](const json::object& pod) {
    simcluster::PodPlan plan{.run_time = seconds(1)};
    plan.exit_code = kube::TextField(pod, {"spec", "nodeName"}) == "n2" ? 1 : 0;
    return plan;
  });
  EXPECT_THAT(cluster.Run(), StatusIs(StatusCode::kFailedPrecondition,
                                      AllOf(HasSubstr("left on n2 ("),
                                            HasSubstr("kgpu node clear --host-files"))));
  EXPECT_EQ(cluster.api.Dump(), cluster.before);
}

TEST(UninstallerTest, AnObjectHeldByAFinalizerStopsTheRunAndIsNamed) {
  TestUninstall cluster;
  cluster.InstallAndRun();
  ASSERT_OK(cluster.api.Do("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/kgpu-agent",
                           {{"metadata", {{"finalizers", {"example.com/hold"}}}}}));
  EXPECT_THAT(cluster.Run({.time = seconds(5)}),
              StatusIs(StatusCode::kDeadlineExceeded,
                       AllOf(HasSubstr("ClusterRole kgpu-agent"), HasSubstr("example.com/hold"))));
  EXPECT_NE(cluster.api.Find(RecordPath("kgpu")), nullptr);
}

// Ended at any request, the next run leaves nothing, the hosts' files included.
TEST(UninstallerTest, AnInterruptedRunIsContinued) {
  uint64_t requests = 0;
  {
    TestUninstall cluster;
    cluster.InstallAndRun();
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      ++requests;
      return OkStatus();
    });
    ASSERT_OK(cluster.Run());
  }
  for (uint64_t stop = 0; stop < requests; stop += kMomentStep) {
    TestUninstall cluster;
    cluster.InstallAndRun();
    uint64_t sent = 0;
    cluster.client.BeforeSend([&](const kube::ApiRequest&) {
      return sent++ < stop ? OkStatus() : Internal("ended here");
    });
    (void)cluster.Run();
    const bool hosts_were_cleared =
        ::testing::Matches(Contains("host n2: files of the agent"))(cluster.done.removed);
    cluster.client.BeforeSend({});
    const Status status = cluster.Run();
    EXPECT_TRUE(status.ok() || status.code() == StatusCode::kNotFound) << stop << status;
    EXPECT_EQ(cluster.api.Dump(), cluster.before) << stop;
    if (status.ok() && !hosts_were_cleared) {
      EXPECT_THAT(cluster.done.removed, Contains("host n2: files of the agent")) << stop;
    }
  }
}

}  // namespace
}  // namespace kgpu::install

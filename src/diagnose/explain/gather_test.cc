// Over the stub API server, in the same process.
#include "src/diagnose/explain/gather.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fmt/format.h>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "src/diagnose/explain/explain.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/json.h"
#include "src/kube/api/test_transport.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::explain {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class GatherTest : public ::testing::Test {
 protected:
  GatherTest() {
    ask_ = [this](kube::ApiRequest request) -> StatusOr<json::value> {
      asked_.push_back(request.path);
      for (const auto& [key, value] : request.query) {
        asked_.back() += fmt::format(" {}={}", key, value);
      }
      if (const auto canned = canned_.find(request.path); canned != canned_.end()) {
        return canned->second;
      }
      return Fetch(std::move(request));
    };
    for (const char* space : {"team-a", "team-b"}) {
      Make("namespaces", {{"metadata", {{"name", space}}}});
    }
  }

  StatusOr<json::value> Fetch(kube::ApiRequest request) {
    std::optional<StatusOr<json::value>> answer;
    const auto call = client_.Send(std::move(request),
                                   [&](StatusOr<json::value> got) { answer = std::move(got); });
    // Simulated time: what waits for the rate limit, too.
    for (int i = 0; i < 1000 && !answer; ++i) {
      loop_.Advance(std::chrono::milliseconds(100));
    }
    return answer ? *std::move(answer) : StatusOr<json::value>(Unavailable("no answer"));
  }

  void Make(const std::string& collection, const json::value& object) {
    EXPECT_OK(api_.Do("POST", fmt::format("/api/v1/{}", collection), object));
  }
  void MakeNode(const std::string& name, int gpus) {
    json::object amounts{{"cpu", "64"}, {"pods", "110"}};
    if (gpus > 0) {
      amounts["nvidia.com/gpu"] = fmt::format("{}", gpus);
    }
    Make("nodes", {{"metadata", {{"name", name}}},
                   {"status",
                    {{"capacity", amounts},
                     {"allocatable", amounts},
                     {"images", json::array{json::object{{"sizeBytes", 7}}}}}}});
  }
  void MakePod(const std::string& space, const std::string& name, const std::string& node,
               const std::string& gpus) {
    json::object spec{
        {"containers", json::array{json::object{
                           {"name", "main"},
                           {"image", "i"},
                           {"env", json::array{json::object{{"name", "KEY"}, {"value", "hidden"}}}},
                           {"resources", {{"limits", {{"nvidia.com/gpu", gpus}}}}}}}}};
    if (!node.empty()) {
      spec["nodeName"] = node;
    }
    Make(fmt::format("namespaces/{}/pods", space),
         {{"metadata", {{"name", name}}},
          {"spec", std::move(spec)},
          {"status", {{"phase", node.empty() ? "Pending" : "Running"}}}});
  }

  Dump Gathered(std::string_view name = "train") {
    const auto dump = Gather(ask_, "team-a", name);
    EXPECT_OK(dump);
    return dump.ok() ? *dump : Dump();
  }
  size_t AskedFor(std::string_view part) const {
    return static_cast<size_t>(std::ranges::count_if(
        asked_, [&](const std::string& text) { return text.find(part) != std::string::npos; }));
  }

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  Random random_{1};
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  Ask ask_;
  std::vector<std::string> asked_;
  std::map<std::string, json::value> canned_;  // what a server with DRA answers, by path
};

TEST_F(GatherTest, ASmallClusterIsAskedNodeByNode) {
  for (int i = 0; i < 10; ++i) {
    MakeNode(fmt::format("node-{}", i), i < 3 ? 8 : 0);
  }
  for (int i = 0; i < 3; ++i) {
    MakePod("team-b", fmt::format("serve-{}", i), fmt::format("node-{}", i), "7");
  }
  MakePod("team-b", "web", "node-7", "0");
  MakePod("team-a", "train", "", "2");
  const Dump dump = Gathered();
  const Report report = Explain(FactsOf(dump, "team-a", "train"));
  EXPECT_THAT(
      report.verdict,
      StartsWith("pending: waits for a node with 2 free nvidia.com/gpu; node-0 has 1 free of 8"));
  EXPECT_EQ(report.nodes.size(), 3U);
  EXPECT_EQ(report.other_nodes, 7U);
  EXPECT_EQ(AskedFor("fieldSelector=spec.nodeName=node-"), 3U);
  EXPECT_EQ(AskedFor("secrets"), 0U);
  EXPECT_THAT(json::serialize(DumpJson(dump)),
              AllOf(Not(HasSubstr("hidden")), Not(HasSubstr("sizeBytes"))));
}

TEST_F(GatherTest, ALargeClusterIsAskedOnceInChunks) {
  for (int i = 0; i < 600; ++i) {
    MakeNode(fmt::format("node-{}", i), i < 300 ? 8 : 0);
    MakePod("team-b", fmt::format("serve-{}", i), fmt::format("node-{}", i), i < 300 ? "8" : "0");
  }
  MakePod("team-a", "train", "", "2");
  const Dump dump = Gathered();
  const Report report = Explain(FactsOf(dump, "team-a", "train"));
  EXPECT_EQ(report.nodes.size(), 300U);
  EXPECT_EQ(report.other_nodes, 300U);
  EXPECT_EQ(AskedFor("/api/v1/pods limit=250"), 3U);
  EXPECT_LT(asked_.size(), 14U);
  // Pods of nodes without devices are not kept.
  EXPECT_EQ(dump.items.size(), 1U + 600U + 300U);
}

TEST_F(GatherTest, APlacedPodNeedsItsNodeAlone) {
  MakeNode("node-0", 8);
  MakeNode("node-1", 8);
  MakePod("team-a", "train", "node-1", "2");
  MakePod("team-b", "serve", "node-1", "3");
  MakePod("team-b", "other", "node-0", "8");
  const Report report = Explain(FactsOf(Gathered(), "team-a", "train"));
  EXPECT_EQ(report.node, "node-1");
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_EQ(report.nodes[0].stocks.at(0).free.milli, 3000) << "of 8";
  EXPECT_EQ(AskedFor("/api/v1/nodes/node-1"), 1U);
  EXPECT_EQ(AskedFor("/api/v1/nodes limit"), 0U);
}

TEST_F(GatherTest, AnAbsentPodIsLookedForInEvents) {
  Make("namespaces/team-a/events",
       {{"metadata", {{"name", "e"}}},
        {"involvedObject",
         {{"kind", "ReplicaSet"}, {"namespace", "team-a"}, {"name", "train-6d4f"}}},
        {"reason", "FailedCreate"},
        {"message", "exceeded quota: q"},
        {"type", "Warning"}});
  const Report report = Explain(FactsOf(Gathered("train-6d4f-x"), "team-a", "train-6d4f-x"));
  EXPECT_EQ(report.state, State::kAbsent);
  EXPECT_THAT(report.verdict, HasSubstr("exceeded quota: q"));
}

TEST_F(GatherTest, WhatMayNotBeReadIsReported) {
  MakeNode("node-0", 8);
  MakePod("team-a", "train", "", "2");
  api_.faults().Add(
      {.kind = apiserver::FaultKind::kAnswer, .verb = "list", .resource = "nodes", .code = 403});
  const Dump dump = Gathered();
  EXPECT_THAT(dump.unreadable, Contains(StartsWith("Node: ")));
  EXPECT_THAT(Explain(FactsOf(dump, "team-a", "train")).not_judged,
              Contains(HasSubstr("nodes: none were listed")));
}

TEST_F(GatherTest, APodThatMayNotBeReadIsAnError) {
  MakePod("team-a", "train", "", "2");
  api_.faults().Add(
      {.kind = apiserver::FaultKind::kAnswer, .verb = "get", .resource = "pods", .code = 403});
  EXPECT_THAT(Gather(ask_, "team-a", "train").status(), StatusIs(StatusCode::kPermissionDenied));
}

json::value ListOf(const char* item) {
  return json::object{{"items", json::array{json::parse(item)}}};
}

class DraGatherTest : public GatherTest {
 protected:
  // A pod with a claim, and node-0 with a slice; the API in one version.
  void MakeClaims(const std::string& version) {
    const std::string head = fmt::format("/apis/resource.k8s.io/{}/", version);
    canned_[head + "resourceclaims"] = ListOf(
        R"({"metadata": {"name": "one", "namespace": "team-a"}, "spec": {"devices": {"requests": [
            {"name": "r", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}})");
    canned_[head + "deviceclasses"] = ListOf(
        R"({"metadata": {"name": "gpu.nvidia.com"}, "spec": {"selectors": [
            {"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}]}})");
    canned_[head + "resourceslices"] = ListOf(
        R"({"metadata": {"name": "s"}, "spec": {"driver": "gpu.nvidia.com", "nodeName": "node-0",
            "pool": {"name": "node-0"}, "devices": [{"name": "gpu-0"}]}})");
    canned_[head + "namespaces/team-a/resourceclaimtemplates"] =
        json::object{{"items", json::array()}};
    Make("namespaces/team-a/pods",
         json::parse(R"({"metadata": {"name": "train"}, "status": {"phase": "Pending"}, "spec": {
             "containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "8"}}}],
             "resourceClaims": [{"name": "gpu", "resourceClaimName": "one"}]}})"));
  }
};

TEST_F(DraGatherTest, PodsOfNodesWithSlicesAreCounted) {
  MakeNode("node-0", 0);
  MakeClaims("v1");
  Make("namespaces/team-b/pods",
       json::parse(R"({"metadata": {"name": "full"}, "status": {"phase": "Running"}, "spec": {
           "nodeName": "node-0", "containers": [{"name": "m", "image": "i",
           "resources": {"requests": {"cpu": "60"}}}]}})"));
  const Dump dump = Gathered();
  const Report report = Explain(FactsOf(dump, "team-a", "train"));
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_FALSE(report.nodes[0].fits()) << "its CPUs are taken";
  EXPECT_EQ(AskedFor("fieldSelector=spec.nodeName=node-0"), 1U);
}

TEST_F(DraGatherTest, WithoutNodesOfInterestNoPodsWereListed) {
  MakeNode("node-1", 0);
  MakeClaims("v1");
  canned_["/apis/resource.k8s.io/v1/resourceslices"] = json::object{{"items", json::array()}};
  const Dump dump = Gathered();
  EXPECT_FALSE(dump.Has("Pod"));
  EXPECT_THAT(Explain(FactsOf(dump, "team-a", "train")).not_judged,
              Contains(HasSubstr("no pods were listed")));
}

TEST_F(DraGatherTest, AnOlderServerIsAskedInItsOwnVersion) {
  for (const char* version : {"v1beta2", "v1beta1"}) {
    canned_.clear();
    asked_.clear();
    MakeNode(fmt::format("node-{}", version), 0);
    if (version == std::string_view("v1beta2")) {
      MakeClaims(version);
    } else {
      const std::string head = "/apis/resource.k8s.io/v1beta1/";
      canned_[head + "resourceslices"] = ListOf(R"({"metadata": {"name": "s"}})");
    }
    EXPECT_TRUE(Gathered().Has("ResourceSlice")) << version;
  }
}

TEST_F(DraGatherTest, AClaimNeedsNoPods) {
  MakeNode("node-0", 0);
  MakeClaims("v1beta2");
  canned_["/apis/resource.k8s.io/v1beta2/namespaces/team-a/resourceclaims/one"] = json::parse(
      R"({"metadata": {"name": "one", "namespace": "team-a", "managedFields": [{}]},
          "status": {"reservedFor": [{"name": "train"}]}})");
  const auto dump = GatherClaim(ask_, "team-a", "one");
  ASSERT_OK(dump);
  EXPECT_EQ(dump->claim, "team-a/one");
  for (const char* kind : {"DeviceClass", "Node", "ResourceClaim", "ResourceSlice"}) {
    EXPECT_TRUE(dump->Has(kind)) << kind;
  }
  EXPECT_EQ(AskedFor("/pods"), 0U);
  // Once, as it was read alone.
  EXPECT_EQ(std::ranges::count_if(
                dump->items, [](const json::value& item) { return kube::NameOf(item) == "one"; }),
            1);
  EXPECT_THAT(json::serialize(DumpJson(*dump)),
              AllOf(HasSubstr("reservedFor"), Not(HasSubstr("managedFields"))));
}

TEST_F(DraGatherTest, AClaimThatMayNotBeReadIsAnError) {
  ask_ = [](const kube::ApiRequest&) -> StatusOr<json::value> {
    return PermissionDenied("forbidden");
  };
  EXPECT_THAT(GatherClaim(ask_, "team-a", "one").status(), StatusIs(StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace kgpu::explain

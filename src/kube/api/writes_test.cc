#include "src/kube/api/writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include <string>

#include "src/kube/api/resource.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(KubeResourceTest, KnowsWhereObjectsAre) {
  EXPECT_EQ(kNodes.Collection(), "/api/v1/nodes");
  EXPECT_EQ(kNodes.Object("", "n1", "status"), "/api/v1/nodes/n1/status");
  EXPECT_EQ(kPods.Collection("a b"), "/api/v1/namespaces/a%20b/pods");
  EXPECT_EQ(kLeases.Object("ns", "l"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l");
}

TEST(KubeWritesTest, AppliesWithAFieldManager) {
  const auto request =
      ApplyRequest("/api/v1/nodes/n1",
                   json::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})"),
                   true, {.field_manager = "kgpu"});
  ASSERT_OK(request);
  EXPECT_EQ(request->method, "PATCH");
  EXPECT_EQ(request->content_type, "application/apply-patch+yaml");
  EXPECT_THAT(request->query, ElementsAre(Pair("fieldManager", "kgpu"), Pair("force", "true")));
  EXPECT_EQ(request->body, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}})");
}

TEST(KubeWritesTest, DoesNotApplyWhatTheServerWouldRefuse) {
  for (const char* object :
       {R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n","managedFields":[]}})",
        R"({"kind":"Node","metadata":{"name":"n"}})", R"({"apiVersion":"v1","metadata":{}})",
        R"({"apiVersion":"v1","kind":"Node","metadata":{}})"}) {
    EXPECT_THAT(ApplyRequest("/p", json::parse(object), false),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("apply to /p")))
        << object;
  }
}

TEST(KubeWritesTest, ReplacesOnlyWhatWasRead) {
  EXPECT_THAT(ReplaceRequest("/p", json::parse(R"({"metadata":{"name":"n"}})")),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("resourceVersion")));
  const auto request =
      ReplaceRequest("/p", json::parse(R"({"metadata":{"resourceVersion":"7"},"new":1})"));
  ASSERT_OK(request);
  EXPECT_EQ(request->method, "PUT");
  EXPECT_THAT(request->body, HasSubstr("\"new\":1"));
}

TEST(KubeWritesTest, EachPatchHasItsType) {
  const json::value patch = json::array();
  EXPECT_EQ(PatchRequest("/p", PatchType::kJson, patch).content_type,
            "application/json-patch+json");
  EXPECT_EQ(PatchRequest("/p", PatchType::kMerge, patch).content_type,
            "application/merge-patch+json");
  EXPECT_EQ(PatchRequest("/p", PatchType::kStrategic, patch).content_type,
            "application/strategic-merge-patch+json");
}

TEST(KubeWritesTest, MayWriteNothingAndTakeNothingUnknown) {
  const ApiRequest request = CreateRequest(
      "/p", json::object(),
      {.field_manager = std::string(200, 'm'), .is_dry_run = true, .is_strict = true});
  EXPECT_EQ(request.method, "POST");
  EXPECT_THAT(request.query, ElementsAre(Pair("fieldManager", std::string(128, 'm')),
                                         Pair("dryRun", "All"), Pair("fieldValidation", "Strict")));
}

TEST(KubeWritesTest, EscapesKeysInPointers) {
  EXPECT_EQ(JsonPointer({"status", "capacity", "example.com/a~b"}),
            "/status/capacity/example.com~1a~0b");
}

TEST(KubeWritesTest, DeletesTheOneThatWasSeen) {
  EXPECT_EQ(DeleteRequest("/p").body, R"({"apiVersion":"v1","kind":"DeleteOptions"})");
  const ApiRequest request = DeleteRequest("/p", {.uid = "u1",
                                                  .resource_version = "7",
                                                  .propagation = "Background",
                                                  .grace = std::chrono::seconds(0),
                                                  .is_dry_run = true});
  EXPECT_EQ(request.method, "DELETE");
  EXPECT_THAT(request.query, IsEmpty());
  EXPECT_EQ(json::parse(request.body),
            json::parse(R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,
                            "preconditions":{"uid":"u1","resourceVersion":"7"},
                            "propagationPolicy":"Background","dryRun":["All"]})"));
}

TEST(KubeWritesTest, SaysWhoItIs) {
  EXPECT_EQ(UserAgent("kgpu", "0.1.0", "x86_64"), "kgpu/0.1.0 (linux/amd64)");
  EXPECT_EQ(UserAgent("kgpu", "0.1.0", "aarch64"), "kgpu/0.1.0 (linux/arm64)");
}

}  // namespace
}  // namespace kgpu::kube

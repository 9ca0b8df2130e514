#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "src/functions/manifests/objects.h"
#include "src/functions/manifests/test_functions.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

json::object DeploymentWith(std::string_view fields, const ManifestOptions& options = {}) {
  const auto objects = ObjectsOf(FunctionWith(fields), options);
  EXPECT_OK(objects);
  return objects.ok() ? objects->deployment : json::object();
}

TEST(FunctionOfTest, AFunctionIsReadBackWithEveryField) {
  constexpr std::string_view kFields =
      "runtime: cpp, desc: says hello, maintainer: me, environment: {A: 'x $y'}, "
      "secrets: [token], constraints: [a=b], labels: {team: x}, annotations: {a.b/c: d}, "
      "limits: {memory: 1Gi, cpu: 1500m}, requests: {memory: 50Mi, cpu: 50m, "
      "gpu: {count: 2, model: [T4, L4]}}, replicas: {min: 1, max: 3}, concurrency: 8, "
      "processes: 2, timeout: 30s, idle: 2m, async: true, retries: 3, pids: 64, "
      "readOnlyRoot: true, network: none, scaling: {by: hpa}";
  const json::object deployment =
      DeploymentWith(kFields, {.space = "fn", .mounted_secrets = {"token"}});
  EXPECT_THAT(FunctionOf(deployment), IsOkAndHolds(FunctionWith(kFields)));
}

TEST(FunctionOfTest, WhatIsNotAFunctionsIsNamed) {
  json::object deployment = DeploymentWith("", {.space = "fn"});
  json::object& annotations = deployment["metadata"].at("annotations").as_object();
  annotations[kFunctionAnnotation] = R"({"Service": "other", "Image": "a"})";
  EXPECT_THAT(FunctionOf(deployment),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("Deployment fn/hello"), HasSubstr("function other"))));
  annotations[kFunctionAnnotation] = "{";
  EXPECT_THAT(FunctionOf(deployment),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("Deployment fn/hello")));
  annotations.erase(kFunctionAnnotation);
  EXPECT_THAT(FunctionOf(deployment),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("is missing")));
  EXPECT_THAT(FunctionOf(json::object{{"metadata", 1}}), StatusIs(StatusCode::kInvalidArgument));
}

TEST(FunctionOfTest, AnnotationsOfDeploymentAndPods) {
  const json::object deployment =
      DeploymentWith("", {.deployed_at = "2026-01-02T03:04:05Z", .replaced_at = "then"});
  EXPECT_EQ(DeployedAtOf(deployment), "2026-01-02T03:04:05Z");
  EXPECT_EQ(ReplacedAtOf(deployment), "then");
  EXPECT_EQ(TemplateHashOf(deployment).size(), 16U);
  const json::object pod = deployment.at("spec").at("template").as_object();
  EXPECT_EQ(PodTemplateHashOf(pod), TemplateHashOf(deployment));
  EXPECT_EQ(DeployedAtOf({}), "");
  EXPECT_EQ(PodTemplateHashOf({}), "");
}

TEST(SetOwnerTest, TheDeploymentIsTheController) {
  json::object deployment = DeploymentWith("");
  json::object service;
  EXPECT_THAT(SetOwner(deployment, service),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has no uid")));
  deployment["metadata"].as_object()["uid"] = "u1";
  ASSERT_OK(SetOwner(deployment, service));
  EXPECT_EQ(service.at("metadata").at("ownerReferences").at(0),
            json::parse(R"({"apiVersion": "apps/v1", "kind": "Deployment", "name": "hello",
                            "uid": "u1", "controller": true})"));
}

}  // namespace
}  // namespace kgpu::functions

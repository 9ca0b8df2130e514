#include "src/functions/spec/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/spec/functions_file.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

// A function with everything that is sent.
Function Everything() {
  const auto file = ParseFunctionsFile(
      "functions: {hello: {runtime: cpp, desc: says hello, maintainer: me, image: 'reg:5000/hello',"
      "environment: {A: '1'}, secrets: [token], constraints: [a=b], registry_auth: eDp5,"
      "labels: {team: x}, annotations: {a.b/c: d}, limits: {memory: 1Gi, cpu: 1500m},"
      "requests: {memory: 50Mi, cpu: 50m, gpu: {count: 2, model: [T4, L4], memory: 8Gi}},"
      "replicas: {min: 0, max: 3}, concurrency: 8, processes: 2, timeout: 30s, maxInput: 1Mi, "
      "maxOutput: 9Mi, idle: 2m,"
      "async: true, retries: 3, pids: 64, readOnlyRoot: true, network: none, scaling: {by: keda}}}",
      "config.yaml");
  EXPECT_OK(file);
  Function function = file.ok() ? file->functions.front() : Function{};
  function.handler = {};  // what a build needs stays behind
  return function;
}

TEST(WireTest, CarriesEverythingButWhatABuildNeeds) {
  const Function function = Everything();
  EXPECT_THAT(ParseWire(doc::PrintLine(ToWire(function)), "request"), IsOkAndHolds(function));
}

TEST(WireTest, HasOpenFxsNamesAndTypes) {
  const boost::json::object wire = ToWire(Everything());
  EXPECT_EQ(wire.at("Service"), "hello");
  EXPECT_EQ(wire.at("Image"), "reg:5000/hello");
  EXPECT_EQ(wire.at("EnvVars").at("A"), "1");
  EXPECT_EQ(wire.at("Annotations").at("desc"), "says hello");
  EXPECT_EQ(wire.at("Annotations").at("maintainer"), "me");
  EXPECT_EQ(wire.at("Limits").at("GPU"), "2");
  EXPECT_EQ(wire.at("Limits").at("CPU"), "1500m");
  EXPECT_EQ(wire.at("Requests").at("Memory"), "50Mi");
  EXPECT_EQ(wire.at("MinReplicas"), "0");
  EXPECT_EQ(wire.at("MaxReplicas"), "3");
  EXPECT_EQ(wire.at("Kgpu").at("gpu").at("model").as_array().size(), 2U);
  EXPECT_EQ(wire.at("Kgpu").at("timeout"), "30s");
  EXPECT_EQ(wire.at("Kgpu").at("scaling").at("by"), "keda");
}

TEST(WireTest, TakesARequestOfOpenFxsOwnClient) {
  const auto function = ParseWire(
      R"({"Service": "echo", "Image": "reg:5000/echo", "EnvVars": {}, "Labels": {},
          "Annotations": {"maintainer": "me"}, "Constraints": [], "Secrets": ["regcred"],
          "RegistryAuth": "", "Limits": {"Memory": "", "CPU": "", "GPU": "1"},
          "Requests": {"Memory": "50Mi", "CPU": "50m", "GPU": ""},
          "MinReplicas": "1", "MaxReplicas": 4})",
      "request");
  ASSERT_OK(function);
  EXPECT_EQ(function->name, "echo");
  EXPECT_EQ(function->maintainer, "me");
  EXPECT_TRUE(function->annotations.empty());
  EXPECT_EQ(function->gpu.count, 1);
  EXPECT_THAT(function->secrets, ElementsAre("regcred"));
  EXPECT_EQ(function->scaling.min_replicas, 1);
  EXPECT_EQ(function->scaling.max_replicas, 4);
  EXPECT_EQ(function->calls, Calls{});
}

TEST(WireTest, RequestedGpusAreLimits) {
  const auto function =
      ParseWire(R"({"Service": "a", "Image": "a", "Requests": {"GPU": "2"}})", "request");
  ASSERT_OK(function);
  EXPECT_EQ(function->gpu.count, 2);
}

TEST(WireTest, ReplicasOfZeroAreOpenFxsNotSet) {
  const std::vector<std::pair<std::string_view, std::pair<int64_t, int64_t>>> table = {
      {"", {1, 1}},
      {R"(, "MinReplicas": "0", "MaxReplicas": "0")", {1, 1}},
      {R"(, "MinReplicas": "3")", {3, 3}},
      {R"(, "MaxReplicas": "3")", {0, 3}},
      {R"(, "MinReplicas": 0, "MaxReplicas": 2)", {0, 2}},
      {R"(, "Kgpu": {"replicas": {"min": 0}})", {0, 1}},
      {R"(, "MinReplicas": "2", "Kgpu": {"replicas": {"max": 4}})", {2, 4}}};
  for (const auto& [fields, replicas] : table) {
    const auto function =
        ParseWire(R"({"Service": "a", "Image": "a")" + std::string(fields) + "}", "request");
    ASSERT_OK(function) << fields;
    EXPECT_THAT(std::pair(function->scaling.min_replicas, function->scaling.max_replicas),
                Pair(replicas.first, replicas.second))
        << fields;
  }
}

TEST(WireTest, RefusesWhatTheFileRefuses) {
  const std::vector<std::pair<std::string_view, std::string_view>> table = {
      {R"({})", "Service: missing: set it to the name of the function"},
      {R"({"Service": "../x", "Image": "a"})", "Service: \"../x\" must be a function's name"},
      {R"({"Service": "a"})", "runtime: missing"},
      {R"({"Service": "a", "Image": "-v"})", "Image: \"-v\" must be an image"},
      {R"({"Service": "a", "Image": "a", "Kgp": {}})", "Kgp: unknown key, did you mean \"Kgpu\"?"},
      {R"({"Service": "a", "Image": "a", "limits": {}})", "did you mean \"Limits\"?"},
      {R"({"Service": "a", "Image": "a", "Kgpu": {"gpus": 1}})", "did you mean \"gpu\"?"},
      {R"({"Service": "a", "Image": "a", "Limits": {"GPU": "1"}, "Kgpu": {"gpu": 2}})",
       "request:1:72: Kgpu.gpu: 2 must equal Limits.GPU and Requests.GPU"},
      {R"({"Service": "a", "Image": "a", "MinReplicas": "2", "Kgpu": {"replicas": {"min": 1}}})",
       "Kgpu.replicas: must equal MinReplicas and MaxReplicas"},
      {R"({"Service": "a", "Image": "a", "EnvVars": {"NVIDIA_VISIBLE_DEVICES": "all"}})",
       "is set by kgpu: remove it"},
      {R"({"Service": "a", "Image": "a", "EnvVars": {"A": {}}})", "{} must be a string"},
      {R"({"Service": "a", "Image": "a", "EnvVars": null})", "EnvVars: has no value"},
      {R"({"Service": "a", "Image": "a", "Secrets": ["../../etc/shadow"]})",
       "must be the name of a secret"},
      {R"({"Service": "a", "Image": "a", "MaxReplicas": "1001"})", "from 0 to 1000"},
      {R"({"Service": "a", "Image": "a", "Kgpu": {"timeout": 60}})", "Kgpu.timeout: 60 must be"},
      {R"({"Service": "a", "Service": "b"})", "duplicate"},
      {R"([])", "[] must be a map"},
      {R"({"Service": )", "request:1:"},
      {"", "request:1:"}};
  for (const auto& [text, problem] : table) {
    EXPECT_THAT(ParseWire(text, "request"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(problem))))
        << text;
  }
}

TEST(WireTest, LimitsAreEnforced) {
  EXPECT_FALSE(ParseWire(std::string(kMaxWireBytes + 1, ' '), "request").ok());
  EXPECT_FALSE(ParseWire(std::string(1'000, '['), "request").ok());
}

}  // namespace
}  // namespace kgpu::functions

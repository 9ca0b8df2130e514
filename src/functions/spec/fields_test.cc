// Each field of config.yaml takes effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

#include "src/functions/spec/functions_file.h"
#include "src/platform/base/strings.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// A function with these fields, in YAML's flow style.
Function Read(std::string_view fields) {
  const std::string text = "functions: {hello: {runtime: python3" +
                           std::string(fields.empty() ? "" : ", ") + std::string(fields) + "}}";
  const auto file = ParseFunctionsFile(text, "config.yaml");
  EXPECT_OK(file) << text;
  return file.ok() && file->functions.size() == 1 ? file->functions.front() : Function{};
}

TEST(FunctionFieldsTest, Defaults) {
  const Function function = Read("");
  EXPECT_EQ(function.name, "hello");
  EXPECT_EQ(function.handler, (Handler{.dir = "./src", .file = "handler.py", .name = "Handler"}));
  EXPECT_EQ(function.gpu, GpuRequest{});
  EXPECT_EQ(function.limits, Resources{});
  EXPECT_EQ(function.requests, Resources{});
  EXPECT_EQ(function.scaling, (Scaling{.min_replicas = 1, .max_replicas = 1, .idle = minutes(5)}));
  EXPECT_EQ(function.calls, (Calls{.concurrency = 1, .processes = 1, .timeout = seconds(60)}));
  EXPECT_EQ(function.pids, 512);
  EXPECT_FALSE(function.has_read_only_root);
  EXPECT_EQ(function.network, NetworkAccess::kDefault);
}

TEST(FunctionFieldsTest, EmptyTextsOfOpenFxAreNotSet) {
  EXPECT_EQ(Read("desc: '', maintainer: '', image: '', docker_registry: '', registry_auth: '',"
                 "handler: {dir: '', file: '', name: ''}, limits: {memory: '', cpu: '', gpu: ''},"
                 "requests: {memory: '', cpu: '', gpu: ''}"),
            Read(""));
}

TEST(FunctionFieldsTest, Runtime) {
  EXPECT_EQ(Read("").runtime, "python3");
  const auto file = ParseFunctionsFile("functions: {a: {runtime: python}}", "config.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->functions.front().runtime, "python3") << "an alias";
}

TEST(FunctionFieldsTest, DescriptionAndMaintainer) {
  const Function function = Read("desc: says hello, maintainer: me@example.com");
  EXPECT_EQ(function.description, "says hello");
  EXPECT_EQ(function.maintainer, "me@example.com");
}

TEST(FunctionFieldsTest, Handler) {
  EXPECT_EQ(Read("handler: {dir: ./a/b, file: main.py, name: Run}").handler,
            (Handler{.dir = "./a/b", .file = "main.py", .name = "Run"}));
}

TEST(FunctionFieldsTest, Images) {
  const Function function =
      Read("docker_registry: 'reg:5000/x', image: 'reg:5000/x/hello:1.2', baseImage: cuda");
  EXPECT_EQ(function.docker_registry, "reg:5000/x");
  EXPECT_EQ(function.image, "reg:5000/x/hello:1.2");
  EXPECT_EQ(function.base_image, "cuda");
}

TEST(FunctionFieldsTest, AFunctionOfAnImageNeedsNoRuntime) {
  const auto file = ParseFunctionsFile("functions: {a: {image: reg/a}}", "config.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->functions.front().image, "reg/a");
}

TEST(FunctionFieldsTest, EnvironmentTakesScalarsAsTheyAreWritten) {
  EXPECT_THAT(Read("environment: {A: text, B: 007, C: true, D: 1.10, E: ''}").environment,
              ElementsAre(Pair("A", "text"), Pair("B", "007"), Pair("C", "true"), Pair("D", "1.10"),
                          Pair("E", "")));
}

TEST(FunctionFieldsTest, EnvironmentFiles) {
  EXPECT_THAT(Read("environment_file: [a.yaml, ../b.yaml]").environment_files,
              ElementsAre("a.yaml", "../b.yaml"));
}

TEST(FunctionFieldsTest, Secrets) {
  EXPECT_THAT(Read("secrets: [token, tls.key]").secrets, ElementsAre("token", "tls.key"));
}

TEST(FunctionFieldsTest, Constraints) {
  EXPECT_THAT(Read("constraints: [nodetype=cpunode, example.com/a=]").constraints,
              ElementsAre("nodetype=cpunode", "example.com/a="));
}

TEST(FunctionFieldsTest, RegistryAuth) {
  EXPECT_EQ(Read("registry_auth: dXNlcjpwYXNz").registry_auth, "dXNlcjpwYXNz");
}

TEST(FunctionFieldsTest, LabelsAndAnnotations) {
  const Function function = Read("labels: {team: x, tier: 1}, annotations: {a.b/c: 'any text'}");
  EXPECT_THAT(function.labels, ElementsAre(Pair("team", "x"), Pair("tier", "1")));
  EXPECT_THAT(function.annotations, ElementsAre(Pair("a.b/c", "any text")));
}

TEST(FunctionFieldsTest, LimitsAndRequestsOfMemoryAndCpu) {
  const Function function =
      Read("limits: {memory: 1Gi, cpu: 1.5}, requests: {memory: 50Mi, cpu: 50m}");
  EXPECT_EQ(function.limits.memory, int64_t{1} << 30);
  EXPECT_EQ(function.limits.cpu_millis, 1'500);
  EXPECT_EQ(function.requests.memory, int64_t{50} << 20);
  EXPECT_EQ(function.requests.cpu_millis, 50);
}

TEST(FunctionFieldsTest, GpusAreAnIntegerOrAText) {
  for (const std::string_view fields :
       {"requests: {gpu: 2}", "requests: {gpu: '2'}", "limits: {gpu: 2}", "limits: {gpu: '2'}",
        "limits: {gpu: ''}, requests: {gpu: 2}", "limits: {gpu: 2}, requests: {gpu: '2'}",
        "requests: {gpu: {count: 2}}", "limits: {gpu: {count: '2'}}, requests: {gpu: 2}"}) {
    EXPECT_EQ(Read(fields).gpu, (GpuRequest{.count = 2})) << fields;
  }
}

TEST(FunctionFieldsTest, GpusAsAMap) {
  const Function function =
      Read("requests: {gpu: {count: 2, model: [A100-SXM4-80GB, T4], memory: 20Gi}}");
  EXPECT_EQ(function.gpu.count, 2);
  EXPECT_THAT(function.gpu.models, ElementsAre("A100-SXM4-80GB", "T4"));
  EXPECT_EQ(function.gpu.memory, int64_t{20} << 30);
}

TEST(FunctionFieldsTest, AMapWithoutACountIsOneGpuAndAModelMayStandAlone) {
  const GpuRequest gpu = Read("limits: {gpu: {model: T4}}").gpu;
  EXPECT_EQ(gpu.count, 1);
  EXPECT_THAT(gpu.models, ElementsAre("T4"));
}

TEST(FunctionFieldsTest, AMapAndTheSameCountAreOneRequest) {
  EXPECT_THAT(Read("limits: {gpu: 1}, requests: {gpu: {model: T4}}").gpu.models, ElementsAre("T4"));
  EXPECT_THAT(Read("limits: {gpu: {model: T4}}, requests: {gpu: 1}").gpu.models, ElementsAre("T4"));
}

TEST(FunctionFieldsTest, NoGpusWhereNoneAreRequested) {
  EXPECT_EQ(Read("limits: {gpu: 0}").gpu.count, 0);
}

TEST(FunctionFieldsTest, BuildOptionsAndArguments) {
  const Function function =
      Read("build_options: [libpng-dev, jq=1.6-2.1], build_args: [A=1, 'B=x=y']");
  EXPECT_THAT(function.build_options, ElementsAre("libpng-dev", "jq=1.6-2.1"));
  EXPECT_THAT(function.build_args, ElementsAre(Pair("A", "1"), Pair("B", "x=y")));
}

TEST(FunctionFieldsTest, Replicas) {
  EXPECT_EQ(Read("replicas: {min: 0, max: 3}").scaling.min_replicas, 0);
  EXPECT_EQ(Read("replicas: {min: 0, max: 3}").scaling.max_replicas, 3);
  EXPECT_EQ(Read("replicas: {min: 3}").scaling.max_replicas, 3) << "at least the minimum";
  EXPECT_EQ(Read("replicas: {min: 0}").scaling.max_replicas, 1);
}

TEST(FunctionFieldsTest, WhoScales) {
  EXPECT_EQ(Read("").scaling.by, ScaledBy::kKgpu);
  EXPECT_EQ(Read("scaling: {by: kgpu}").scaling.by, ScaledBy::kKgpu);
  EXPECT_EQ(Read("scaling: {by: hpa}, limits: {cpu: 1}").scaling.by, ScaledBy::kHpa);
  EXPECT_EQ(Read("scaling: {by: keda}, replicas: {min: 0}").scaling.by, ScaledBy::kKeda);
}

TEST(FunctionFieldsTest, ConcurrencyAndProcesses) {
  const Function function = Read("concurrency: 8, processes: 4");
  EXPECT_EQ(function.calls.concurrency, 8);
  EXPECT_EQ(function.calls.processes, 4);
}

TEST(FunctionFieldsTest, SizesOfInputAndOutput) {
  const Function function = Read("maxInput: 1Mi, maxOutput: 128Mi");
  EXPECT_EQ(function.calls.max_input, int64_t{1} << 20);
  EXPECT_EQ(function.calls.max_output, int64_t{128} << 20);
  EXPECT_EQ(Read("").calls.max_input, std::nullopt);
}

TEST(FunctionFieldsTest, Times) {
  const Function function = Read("timeout: 1500ms, idle: 2m");
  EXPECT_EQ(function.calls.timeout, std::chrono::milliseconds(1'500));
  EXPECT_EQ(function.scaling.idle, minutes(2));
}

TEST(FunctionFieldsTest, AsyncAndRetries) {
  const Function function = Read("async: true, retries: 3");
  EXPECT_TRUE(function.calls.is_async);
  EXPECT_EQ(function.calls.retries, 3);
  EXPECT_EQ(Read("retries: 3").calls.retries, 3) << "a single call may be asynchronous, too";
}

TEST(FunctionFieldsTest, Isolation) {
  const Function function = Read("pids: 64, readOnlyRoot: true, network: none");
  EXPECT_EQ(function.pids, 64);
  EXPECT_TRUE(function.has_read_only_root);
  EXPECT_EQ(function.network, NetworkAccess::kNone);
}

TEST(FunctionFieldsTest, Gateway) {
  const auto file =
      ParseFunctionsFile("functions: {}\nopenfx: {gateway: '10.0.0.5:31113'}", "config.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->gateway, "10.0.0.5:31113");
  EXPECT_THAT(file->functions, IsEmpty());
}

TEST(FunctionFieldsTest, FunctionsAreSortedByName) {
  const auto file =
      ParseFunctionsFile("functions: {b: {runtime: go}, a: {runtime: go}}", "config.yaml");
  ASSERT_OK(file);
  EXPECT_EQ(file->functions[0].name, "a");
  EXPECT_EQ(file->functions[1].name, "b");
}

TEST(FunctionFieldsTest, JsonIsReadToo) {
  const auto file = ParseFunctionsFile(
      R"({"functions": {"a": {"runtime": "go", "requests": {"gpu": 2, "cpu": 1},
          "environment": {"A": 1, "B": true}, "async": true}}})",
      "config.json");
  ASSERT_OK(file);
  const Function& function = file->functions.front();
  EXPECT_EQ(function.gpu.count, 2);
  EXPECT_EQ(function.requests.cpu_millis, 1'000);
  EXPECT_THAT(function.environment, ElementsAre(Pair("A", "1"), Pair("B", "true")));
  EXPECT_TRUE(function.calls.is_async);
}

}  // namespace
}  // namespace kgpu::functions

#include "src/functions/spec/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/functions/spec/functions_file.h"
#include "testing/documentation.h"
#include "testing/golden.h"
#include "testing/json_schema.h"
#include "testing/status_matchers.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;

std::string MisfitOf(std::string_view text) {
  static const json::value kSchema = FunctionsFileSchema();
  // As editors parse it: numbers are numbers.
  const auto value = doc::Parse(text, doc::Format::kYaml, "test");
  EXPECT_OK(value);
  return value.ok() ? SchemaMisfit(*value, kSchema.as_object()) : "unreadable";
}

std::string WithFields(std::string_view fields) {
  return "functions: {a: {runtime: go, " + std::string(fields) + "}}";
}

TEST(FunctionsSchemaTest, IsTheFileThatEditorsRead) {
  ExpectGolden("docs/functions.schema.json", doc::Print(FunctionsFileSchema(), doc::Format::kJson));
}

TEST(FunctionsSchemaTest, TakesEveryExampleAndTheExamplesNameIt) {
  const auto folder = std::filesystem::path(KGPU_SOURCE_DIR) / "docs/examples/functions";
  unsigned count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    const std::string text = ReadDocument(entry.path());
    ++count;
    EXPECT_THAT(text, ::testing::StartsWith(
                          "# yaml-language-server: $schema=../../functions.schema.json\n"))
        << entry.path();
    EXPECT_EQ(MisfitOf(text), "") << entry.path();
  }
  EXPECT_GE(count, 5U);
}

TEST(FunctionsSchemaTest, TakesWhatIsPrinted) {
  EXPECT_EQ(MisfitOf(PrintFunctionsFile(
                {.functions = {{.name = "a", .runtime = "go"}}, .gateway = "a:1"})),
            "");
}

TEST(FunctionsSchemaTest, RefusesWhatTheReaderRefuses) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"function: {}", ".function"},
      {"openfx: {gateway: 'a:1'}", ".functions"},
      {"functions: {}\nopenfx: {gatway: 'a:1'}", ".openfx.gatway"},
      {WithFields("runtme: go"), ".functions.a.runtme"},
      {WithFields("requests: {gpus: 2}"), ".functions.a.requests.gpus"},
      {WithFields("requests: {gpu: 65}"), ".functions.a.requests.gpu"},
      {WithFields("requests: {gpu: true}"), ".functions.a.requests.gpu"},
      {WithFields("requests: {gpu: {cuont: 1}}"), ".functions.a.requests.gpu"},
      {WithFields("environment: {A: []}"), ".functions.a.environment.A"},
      {WithFields("secrets: token"), ".functions.a.secrets"},
      {WithFields("replicas: {low: 1}"), ".functions.a.replicas.low"},
      {WithFields("concurrency: 0"), ".functions.a.concurrency"},
      {WithFields("timeout: 60"), ".functions.a.timeout"},
      {WithFields("scaling: {by: me}"), ".functions.a.scaling.by"},
      {WithFields("scaling: {on: cpu}"), ".functions.a.scaling.on"},
      {WithFields("network: host"), ".functions.a.network"}};
  for (const auto& [text, where] : wrong) {
    EXPECT_EQ(MisfitOf(text), where) << text;
    EXPECT_FALSE(ParseFunctionsFile(text, "test.yaml").ok()) << text;
  }
}

TEST(FunctionsSchemaTest, KnowsEveryWayToWriteAValue) {
  for (const std::string_view fields :
       {"requests: {gpu: 2}", "requests: {gpu: '2'}", "requests: {gpu: ''}",
        "requests: {gpu: {count: 1, model: T4}}", "limits: {gpu: {model: [T4, L4], memory: 8Gi}}",
        "limits: {cpu: 0.5, memory: 1024}", "limits: {cpu: 500m}",
        "environment: {A: 1, B: true, C: x}", "labels: {a: 1}", "concurrency: '4'",
        "async: true, retries: 1", "replicas: {min: 0}"}) {
    EXPECT_EQ(MisfitOf(WithFields(fields)), "") << fields;
    EXPECT_OK(ParseFunctionsFile(WithFields(fields), "test.yaml")) << fields;
  }
}

}  // namespace
}  // namespace kgpu::functions

#include "src/node/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/node_config.h"
#include "testing/documentation.h"
#include "testing/golden.h"
#include "testing/json_schema.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

constexpr std::string_view kSchemaHead = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";
const std::filesystem::path kExamples = std::filesystem::path(KGPU_SOURCE_DIR) / "docs/examples";

std::string MisfitOf(std::string_view text) {
  static const json::value kSchema = NodeConfigSchema();
  const auto value = doc::Parse(text, doc::Format::kYaml, "test");
  EXPECT_OK(value);
  return value.ok() ? SchemaMisfit(*value, kSchema.as_object()) : "unreadable";
}

// Every NodeConfig of docs/examples.
std::vector<std::filesystem::path> Examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
    if (entry.is_regular_file() &&
        ReadDocument(entry.path()).find("kind: NodeConfig") != std::string::npos) {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST(SchemaTest, IsTheFileThatEditorsRead) {
  ExpectGolden("docs/node-config.schema.json", doc::Print(NodeConfigSchema(), doc::Format::kJson));
}

TEST(SchemaTest, TakesEveryExampleAndTheExamplesNameIt) {
  EXPECT_GE(Examples().size(), 4U);
  for (const auto& file : Examples()) {
    const std::string text = ReadDocument(file);
    EXPECT_EQ(MisfitOf(text), "") << file;
    EXPECT_THAT(
        text, ::testing::StartsWith("# yaml-language-server: $schema=../node-config.schema.json\n"))
        << file;
  }
}

TEST(SchemaTest, TakesTheDefaults) {
  EXPECT_EQ(MisfitOf(PrintNodeConfig(DefaultNodeConfig())), "");
}

TEST(SchemaTest, RefusesWhatTheReaderRefuses) {
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"pool: []", ".pool"},
      {"pools: [{share: {by: time, replicas: 1}}]", ".pools[].share.replicas"},
      {"pools: [{devices: {indexes: 0}}]", ".pools[].devices"},
      {"migStrategy: some", ".migStrategy"},
      {"gate: {taint: 'yes'}", ".gate.taint"},
      {"health: {rules: {Xid79: {actoin: drain}}}", ".health.rules.Xid79"},
      {"metrics: {names: [prometheus]}", ".metrics.names"}};
  for (const auto& [text, where] : wrong) {
    const std::string whole = std::string(kSchemaHead) + text + "\n";
    EXPECT_EQ(MisfitOf(whole), where) << text;
    EXPECT_FALSE(ParseNodeConfig(whole, "test.yaml").ok()) << text;
  }
  EXPECT_EQ(MisfitOf("kind: NodeConfig\n"), ".apiVersion");
  EXPECT_EQ(MisfitOf("apiVersion: v1\nkind: NodeConfig\n"), ".apiVersion");
}

TEST(SchemaTest, KnowsEveryWayToWriteAValue) {
  for (const std::string_view text :
       {"pools: [{devices: all}, {devices: {index: 0}}, {devices: {index: 0-3}}]",
        "pools: [{devices: {index: [0, 4-5], model: T4}}]", "exclude: [{uuid: [GPU-1, GPU-2]}]",
        "plugin: {deviceListStrategy: cdi-cri}", "plugin: {deviceListStrategy: [envvar, mounts]}",
        "health: {rules: {Xid79: ignore, Xid48: {action: drain, unhealthy: true}}}",
        "labels: {rules: /a}", "labels: {rules: [/a, /b]}"}) {
    EXPECT_EQ(MisfitOf(std::string(kSchemaHead) + std::string(text) + "\n"), "") << text;
  }
}

}  // namespace
}  // namespace kgpu::config

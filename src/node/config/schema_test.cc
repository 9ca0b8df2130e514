#include "src/node/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/config/node_config.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::config {
namespace {

namespace json = boost::json;

constexpr std::string_view kSchemaHead = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";
const std::filesystem::path kExamples = std::filesystem::path(KGPU_SOURCE_DIR) / "docs/examples";

// The part of JSON schema that ours uses. Empty when `value` fits, else where it does not.
std::string Misfit(const json::value& value, const json::object& schema, const std::string& path);

std::string MapMisfit(const json::object& fields, const json::object& schema,
                      const std::string& path) {
  const json::value* properties = schema.if_contains("properties");
  const json::value* others = schema.if_contains("additionalProperties");
  for (const auto& field : fields) {
    const std::string below = path + "." + std::string(field.key());
    const json::value* known =
        properties == nullptr ? nullptr : properties->as_object().if_contains(field.key());
    if (known == nullptr && (others == nullptr || others->is_bool())) {
      return below;
    }
    const json::object& expected = (known == nullptr ? others : known)->as_object();
    if (std::string misfit = Misfit(field.value(), expected, below); !misfit.empty()) {
      return misfit;
    }
  }
  if (const json::value* required = schema.if_contains("required")) {
    for (const json::value& key : required->as_array()) {
      if (!fields.contains(key.as_string())) {
        return path + "." + std::string(key.as_string());
      }
    }
  }
  return "";
}

bool HasType(const json::value& value, const json::object& schema) {
  const json::value* type = schema.if_contains("type");
  if (type == nullptr) {
    return true;
  }
  const json::string& name = type->as_string();
  if (name == "integer" && value.is_int64()) {
    return value.as_int64() >= schema.at("minimum").to_number<int64_t>() &&
           value.as_int64() <= schema.at("maximum").to_number<int64_t>();
  }
  return (name == "object" && value.is_object()) || (name == "array" && value.is_array()) ||
         (name == "string" && value.is_string()) || (name == "boolean" && value.is_bool());
}

std::string Misfit(const json::value& value, const json::object& schema, const std::string& path) {
  if (const json::value* choices = schema.if_contains("anyOf")) {
    const bool fits = std::ranges::any_of(choices->as_array(), [&](const json::value& choice) {
      return Misfit(value, choice.as_object(), path).empty();
    });
    return fits ? "" : path;
  }
  const json::value* words = schema.if_contains("enum");
  const json::value* only = schema.if_contains("const");
  if (!HasType(value, schema) || (only != nullptr && *only != value) ||
      (words != nullptr &&
       std::ranges::find(words->as_array(), value) == words->as_array().end())) {
    return path;
  }
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      if (std::string misfit = Misfit(item, schema.at("items").as_object(), path + "[]");
          !misfit.empty()) {
        return misfit;
      }
    }
  }
  return value.is_object() ? MapMisfit(value.as_object(), schema, path) : "";
}

std::string MisfitOf(std::string_view text) {
  static const json::value kSchema = NodeConfigSchema();
  const auto value = doc::Parse(text, doc::Format::kYaml, "test");
  EXPECT_OK(value);
  return value.ok() ? Misfit(*value, kSchema.as_object(), "") : "unreadable";
}

std::string ReadExample(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Every NodeConfig of docs/examples.
std::vector<std::filesystem::path> Examples() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(kExamples)) {
    if (entry.is_regular_file() &&
        ReadExample(entry.path()).find("kind: NodeConfig") != std::string::npos) {
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
    const std::string text = ReadExample(file);
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

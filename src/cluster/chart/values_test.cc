#include "src/cluster/chart/values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/cluster/chart/value_reference.h"
#include "src/cluster/chart/values_schema.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

namespace json = boost::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<Values> WithFile(std::string text) {
  return ReadValues({.files = {{.name = "site.yaml", .text = std::move(text)}}});
}

StatusOr<Values> WithSetting(std::string setting) {
  return ReadValues({.settings = {std::move(setting)}});
}

// As JSON; "" if a field is missing.
std::string ValueAt(const StatusOr<Values>& values, std::initializer_list<const char*> path) {
  EXPECT_OK(values);
  if (!values.ok()) {
    return "";
  }
  const json::value tree = values->tree;
  const json::value* at = &tree;
  for (const char* name : path) {
    at = at->is_object() ? at->get_object().if_contains(name) : nullptr;
    if (at == nullptr) {
      return "";
    }
  }
  return json::serialize(*at);
}

TEST(ValuesTest, DefaultsAreThoseOfTheChart) {
  const auto values = ReadValues({});
  EXPECT_EQ(ValueAt(values, {"image", "repository"}), "\"localhost/kgpu\"");
  EXPECT_EQ(ValueAt(values, {"controller", "runAsUser"}), "65534");
  EXPECT_EQ(values->name_space, "kgpu");
}

TEST(ValuesTest, FilesMergeMapsAndReplaceTheRest) {
  const auto values = ReadValues(
      {.files = {{"a.yaml", "agent: {resources: {limits: {memory: 1Gi}}, nodeSelector: {a: b}}"},
                 {"b.yaml", "agent: {tolerations: [{key: gpu}], nodeSelector: {c: d}}"},
                 {"c.yaml", "# nothing\n"}}});
  EXPECT_EQ(ValueAt(values, {"agent", "resources"}),
            R"({"requests":{"cpu":"10m","memory":"32Mi"},"limits":{"memory":"1Gi"}})");
  EXPECT_EQ(ValueAt(values, {"agent", "nodeSelector"}), R"({"a":"b","c":"d"})");
  EXPECT_EQ(ValueAt(values, {"agent", "tolerations"}), R"([{"key":"gpu"}])");
}

TEST(ValuesTest, NullTakesAnEntryAwayWhereNoneIsDeclared) {
  EXPECT_EQ(ValueAt(WithFile("agent: {resources: {limits: null}}"), {"agent", "resources"}),
            R"({"requests":{"cpu":"10m","memory":"32Mi"}})");
  EXPECT_EQ(ValueAt(WithFile("controller: {runAsUser: null}"), {"controller", "runAsUser"}),
            "null");
  EXPECT_THAT(
      WithFile("agent: {kubeletDir: null}"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("agent.kubeletDir: null must be a string")));
}

TEST(ValuesTest, ADistributionComesBeforeFiles) {
  EXPECT_THAT(Distributions(),
              ElementsAre("k3s", "kind", "kubeadm", "minikube", "openshift", "rke2"));
  const ValuesFile file{.name = "site.yaml", .text = "image: {pullPolicy: Always}"};
  const auto values = ReadValues({.distribution = "kind", .files = {file}});
  EXPECT_EQ(ValueAt(values, {"image", "pullPolicy"}), "\"Always\"");
  EXPECT_EQ(ValueAt(ReadValues({.distribution = "kind"}), {"image", "pullPolicy"}), "\"Never\"");
  EXPECT_THAT(
      ReadValues({.distribution = "k8s"}),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("--for: \"k8s\" must be k3s or kind or")));
}

TEST(ValuesTest, SettingsWinAndTakeTheirTypesFromTheSchema) {
  EXPECT_EQ(ValueAt(WithSetting("image.tag=1.36"), {"image", "tag"}), "\"1.36\"");
  EXPECT_EQ(ValueAt(WithSetting("controller.replicas=2"), {"controller", "replicas"}), "2");
  EXPECT_EQ(ValueAt(WithSetting("controller.enabled=true"), {"controller", "enabled"}), "true");
  EXPECT_EQ(ValueAt(WithSetting("agent.maxUnavailable=3"), {"agent", "maxUnavailable"}), "3");
  EXPECT_EQ(ValueAt(WithSetting("agent.maxUnavailable=30%"), {"agent", "maxUnavailable"}),
            "\"30%\"");
  EXPECT_EQ(ValueAt(WithSetting("agent.tolerations=[]"), {"agent", "tolerations"}), "[]");
  EXPECT_EQ(ValueAt(WithSetting("agent.nodeSelector.kubernetes\\.io/os=linux"),
                    {"agent", "nodeSelector"}),
            R"({"kubernetes.io/os":"linux"})");
  EXPECT_EQ(ValueAt(WithSetting("agent.nodeSelector.gpu=true"), {"agent", "nodeSelector"}),
            R"({"gpu":"true"})");
}

TEST(ValuesTest, ErrorsNamePlaceFieldValueAndFix) {
  EXPECT_THAT(WithFile("agent:\n  tolerationz: []\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       "site.yaml:2:3: agent: unknown key \"tolerationz\": did you mean "
                       "tolerations?"));
  EXPECT_THAT(WithFile("image: {tag: 1.36}"),
              StatusIs(StatusCode::kInvalidArgument,
                       "site.yaml:1:14: image.tag: 1.36E0 must be a string: put it in quotes"));
  EXPECT_THAT(WithFile("controller: {replicas: 11}"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("controller.replicas: 11 must be from 1 to 10")));
  EXPECT_THAT(
      WithFile("image: {pullPolicy: Sometimes}"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be Always or IfNotPresent or Never")));
  EXPECT_THAT(WithFile("agent: {kubeletDir: var/lib}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"var/lib\" must match ^/")));
  EXPECT_THAT(WithFile("networkPolicy: {apiServerPorts: [{port: 443}, {prt: 1}]}"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("networkPolicy.apiServerPorts[1]: unknown key \"prt\": did "
                                       "you mean port?"),
                             HasSubstr("networkPolicy.apiServerPorts[1]: port must be set"))));
  EXPECT_THAT(WithFile("[]"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("[] must be a map")));
  EXPECT_THAT(
      WithSetting("agent.replcias=2"),
      StatusIs(StatusCode::kInvalidArgument, HasSubstr("--set: agent: unknown key \"replcias\"")));
  for (const char* setting : {"agent", "=1", "a..b=1", ".a=1", ""}) {
    EXPECT_THAT(WithSetting(setting),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be NAME.NAME=VALUE")))
        << setting;
  }
}

TEST(ValuesTest, TheNodeConfigIsCheckedToo) {
  EXPECT_THAT(WithFile("config: {poolz: []}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("poolz")));
}

TEST(ValuesTest, APriorityClassOfTheClusterIsNotCreated) {
  EXPECT_THAT(WithFile("priorityClass: {create: true}"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\"system-node-critical\"")));
  EXPECT_OK(WithFile("priorityClass: {create: true, name: gpus}"));
}

TEST(ValuesTest, ANamespaceIsADnsLabel) {
  for (const char* name : {"", "A", "a.b", "-a", "a-", "a\nb"}) {
    EXPECT_THAT(ReadValues({.name_space = name}),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("hyphens")));
  }
}

// Every declared value has a default, and the other way round.
void ExpectSameKeys(const json::object& schema, const json::object& values,
                    const std::string& path) {
  const json::value* properties = schema.if_contains("properties");
  if (properties == nullptr) {
    return;
  }
  for (const auto& [key, property] : properties->as_object()) {
    const std::string below = path + "." + std::string(key);
    const json::value* value = values.if_contains(key);
    ASSERT_NE(value, nullptr) << below << " has no default in values.yaml";
    EXPECT_TRUE(property.at("description").is_string()) << below;
    if (value->is_object()) {
      ExpectSameKeys(property.as_object(), value->get_object(), below);
    }
  }
}

TEST(ValuesTest, EveryKeyOfTheSchemaHasADefault) {
  const auto schema = ReadValuesSchema();
  ASSERT_OK(schema);
  const auto defaults = ReadValues({});
  ASSERT_OK(defaults);
  ExpectSameKeys(*schema, defaults->tree, "");
}

TEST(ValuesTest, TheReferenceHasEveryValue) {
  const auto entries = ValueEntries();
  ASSERT_OK(entries);
  EXPECT_THAT(ValuesMarkdown(*entries),
              AllOf(HasSubstr("| `controller.replicas` | integer, 1 to 10 | `1` | How many"),
                    HasSubstr("| `image.pullPolicy` | Always, IfNotPresent, Never | "),
                    HasSubstr("| `agent.maxUnavailable` | string or integer | `\"10%\"` | ")));
  EXPECT_THAT(ValuesTable(*entries), HasSubstr("\nagent.kubeletDir "));
  EXPECT_EQ(ValuesJson(*entries).at("values").as_array().size(), entries->size());
}

// helm would understand other keywords, and we would not.
void ExpectKnownKeywords(const json::object& schema) {
  static const std::vector<std::string> kKnown = {"type",     "properties", "additionalProperties",
                                                  "required", "items",      "enum",
                                                  "pattern",  "minimum",    "maximum",
                                                  "title",    "$schema",    "description"};
  for (const auto& [key, value] : schema) {
    EXPECT_THAT(kKnown, ::testing::Contains(std::string(key)));
    if (key == "properties") {
      for (const auto& property : value.as_object()) {
        ExpectKnownKeywords(property.value().as_object());
      }
    } else if (value.is_object()) {
      ExpectKnownKeywords(value.get_object());
    }
  }
}

TEST(ValuesTest, TheSchemaUsesWhatTheCheckerKnows) {
  const auto schema = ReadValuesSchema();
  ASSERT_OK(schema);
  ExpectKnownKeywords(*schema);
}

}  // namespace
}  // namespace kgpu::chart

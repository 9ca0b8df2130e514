// Small values: names, selectors, quantities, times, field sets, counters' texts.
#include <gmock/gmock.h>

#include <boost/json.hpp>

#include "testing/apiserver/failure.h"
#include "testing/apiserver/field_set.h"
#include "testing/apiserver/names.h"
#include "testing/apiserver/quantity.h"
#include "testing/apiserver/resource.h"
#include "testing/apiserver/selectors.h"
#include "testing/apiserver/time_text.h"
#include "testing/apiserver/typed_value.h"
#include "testing/status_matchers.h"

namespace kgpu::apiserver {
namespace {

namespace json = boost::json;
using Strings = std::vector<std::string>;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NamesTest, LabelKeys) {
  for (const std::string& key : Strings{"a", "A.b_c-9", "nvidia.com/gpu", "a.b/C"}) {
    EXPECT_FALSE(LabelKeyProblem(key).has_value()) << key;
  }
  for (const std::string& key :
       Strings{std::string(""), std::string("-a"), std::string("a/"), std::string("/a"),
               std::string("A.com/a"), std::string("a b"), std::string("a/b/c"),
               std::string(64, 'a'), std::string(254, 'a').append("/b")}) {
    EXPECT_TRUE(LabelKeyProblem(key).has_value()) << key;
  }
}

TEST(NamesTest, LabelValues) {
  for (const std::string& value : Strings{std::string(""), std::string("a"),
                                          std::string("NVIDIA-A100_x.y"), std::string(63, 'a')}) {
    EXPECT_FALSE(LabelValueProblem(value).has_value()) << value;
  }
  for (const std::string& value : Strings{std::string("a b"), std::string("-a"), std::string("a."),
                                          std::string("a/b"), std::string(64, 'a')}) {
    EXPECT_TRUE(LabelValueProblem(value).has_value()) << value;
  }
}

TEST(QuantityTest, HasOneSpelling) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},         {"1", "1"},        {"1000m", "1"}, {"0.5", "500m"},
      {"1500m", "1500m"}, {"1024Mi", "1Gi"}, {"1Ki", "1Ki"}, {"1536Mi", "1536Mi"},
      {"1000", "1k"},     {"1e3", "1k"},     {"-2", "-2"},   {"0.1n", "1n"},
      {".5", "500m"},     {"5.", "5"},       {"8E", "8E"},   {"32831960Ki", "32831960Ki"},
      {"+1", "1"}};
  for (const auto& [text, canonical] : cases) {
    EXPECT_EQ(CanonicalQuantity(text), canonical) << text;
  }
  for (const char* text : {"", "a", "1x", "1 Gi", "1.2.3", "Mi", "-", "1e99"}) {
    EXPECT_EQ(CanonicalQuantity(text), std::nullopt) << text;
  }
}

TEST(TimeTextTest, GoesBothWays) {
  const WallTime time{std::chrono::seconds(1'700'000'000)};
  EXPECT_EQ(TimeText(time), "2023-11-14T22:13:20Z");
  EXPECT_EQ(SecondsOf("2023-11-14T22:13:20Z"), 1'700'000'000);
  EXPECT_EQ(SecondsOf("2023-11-14T22:13:20.123456Z"), 1'700'000'000);
  EXPECT_EQ(SecondsOf("yesterday"), 0);
}

TEST(TimeTextTest, AgesAreRound) {
  EXPECT_EQ(AgeText(119), "119s");
  EXPECT_EQ(AgeText(300), "5m");
  EXPECT_EQ(AgeText(310), "5m10s");
  EXPECT_EQ(AgeText(3 * 3600 + 720), "3h12m");
  EXPECT_EQ(AgeText(4 * 86400), "4d");
  EXPECT_EQ(AgeText(400 * 86400), "400d");
}

TEST(LabelSelectorTest, Matches) {
  const json::object labels = {{"a", "1"}, {"b", ""}};
  const std::pair<const char*, bool> cases[] = {{"", true},
                                                {"a", true},
                                                {"c", false},
                                                {"!c", true},
                                                {"a=1", true},
                                                {"a==1", true},
                                                {"a!=1", false},
                                                {"c!=1", true},
                                                {"a in (1,2)", true},
                                                {"a notin (1)", false},
                                                {"c notin (1)", true},
                                                {"b=", true},
                                                {"a=1,b", true},
                                                {"a=1,c", false},
                                                {"a in (2),b", false}};
  for (const auto& [text, matches] : cases) {
    const auto selector = LabelSelector::Parse(text);
    ASSERT_OK(selector) << text;
    EXPECT_EQ(selector->Matches(&labels), matches) << text;
  }
}

TEST(LabelSelectorTest, RefusesBadText) {
  for (const char* text : {"a in 1", "a b", "=1", "a=b c", "a=1,,"}) {
    EXPECT_EQ(HttpCodeOf(LabelSelector::Parse(text).status()), 400) << text;
  }
}

TEST(LabelSelectorTest, ReadsObjects) {
  const json::object object = json::parse(R"({"matchLabels":{"a":"1"},"matchExpressions":[
          {"key":"b","operator":"NotIn","values":["x"]},{"key":"c","operator":"DoesNotExist"}]})")
                                  .as_object();
  const auto selector = LabelSelector::FromObject(object);
  ASSERT_OK(selector);
  const json::object good = {{"a", "1"}};
  const json::object bad = {{"a", "1"}, {"b", "x"}};
  EXPECT_TRUE(selector->Matches(&good));
  EXPECT_FALSE(selector->Matches(&bad));
}

TEST(FieldSelectorTest, KnowsWhatEachResourceSelectsBy) {
  const ResourceTable resources;
  const Resource& pods = *resources.Find("", "v1", "pods");
  const auto selector = FieldSelector::Parse("spec.nodeName=n1,status.phase!=Failed", pods);
  ASSERT_OK(selector);
  EXPECT_TRUE(selector->Matches(
      json::parse(R"({"spec":{"nodeName":"n1"},"status":{"phase":"Running"}})").as_object()));
  EXPECT_FALSE(selector->Matches(
      json::parse(R"({"spec":{"nodeName":"n1"},"status":{"phase":"Failed"}})").as_object()));
  EXPECT_EQ(selector->Exactly("spec.nodeName"), "n1");
  EXPECT_EQ(selector->Exactly("status.phase"), std::nullopt);
  EXPECT_THAT(FieldSelector::Parse("spec.colour=red", pods),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("spec.colour")));
}

TEST(FieldSetTest, PrintsAndReadsAsFieldsV1) {
  const char* text =
      R"({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:status":{"f:conditions":{
          "k:{\"type\":\"Ready\"}":{".":{},"f:status":{}}}}})";
  const FieldSet set = FieldSet::FromJson(json::parse(text).as_object());
  EXPECT_EQ(set.ToJson(), json::parse(text).as_object());
  EXPECT_EQ(set.size(), 4U);
  EXPECT_THAT(set.Names(), ElementsAre(".metadata.labels", ".metadata.labels.a",
                                       ".status.conditions[type=\"Ready\"]",
                                       ".status.conditions[type=\"Ready\"].status"));
}

TEST(FieldSetTest, IsASet) {
  const auto set = [](const char* text) {
    return FieldSet::FromJson(json::parse(text).as_object());
  };
  const FieldSet ab = set(R"({"f:a":{"f:x":{}},"f:b":{}})");
  EXPECT_EQ(ab.Without(set(R"({"f:a":{"f:x":{}}})")), set(R"({"f:b":{}})"));
  EXPECT_EQ(ab.And(set(R"({"f:b":{},"f:c":{}})")), set(R"({"f:b":{}})"));
  EXPECT_EQ(ab.WithoutTrees(set(R"({"f:a":{}})")), set(R"({"f:b":{}})"));
  FieldSet sum = set(R"({"f:a":{"f:x":{}}})");
  sum.Add(set(R"({"f:b":{}})"));
  EXPECT_EQ(sum, ab);
  EXPECT_TRUE(ab.Without(ab).is_empty());
}

TEST(TypedValueTest, ComparesListsByTheirKeys) {
  const ResourceTable resources;
  const Schema* node = resources.FindKind("", "v1", "Node")->schema;
  const Differences found = Compare(
      json::parse(R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B"}]}})"),
      json::parse(R"({"status":{"conditions":[{"type":"C"},{"type":"A","status":"False"}]}})"),
      node);
  EXPECT_THAT(found.modified.Names(), ElementsAre(".status.conditions[type=\"A\"].status"));
  EXPECT_THAT(found.added.Names(),
              ElementsAre(".status.conditions[type=\"C\"]", ".status.conditions[type=\"C\"].type"));
  EXPECT_THAT(found.removed.Names(),
              ElementsAre(".status.conditions[type=\"B\"]", ".status.conditions[type=\"B\"].type"));
}

TEST(TypedValueTest, RefusesTwoItemsOfOneKey) {
  const ResourceTable resources;
  const Schema* node = resources.FindKind("", "v1", "Node")->schema;
  const Status status =
      CheckItems(json::parse(R"({"status":{"conditions":[{"type":"A"},{"type":"A"}]}})"), node);
  EXPECT_EQ(HttpCodeOf(status), 400);
}

TEST(TypedValueTest, KeyWithADefaultMayBeLeftOut) {
  const ResourceTable resources;
  const Schema* pod = resources.FindKind("", "v1", "Pod")->schema;
  const Schema* ports = pod->Field("spec")->Field("containers")->element->Field("ports");
  EXPECT_EQ(ItemElement(json::parse(R"({"containerPort":80})"), 0, *ports),
            R"(k:{"containerPort":80,"protocol":"TCP"})");
}

}  // namespace
}  // namespace kgpu::apiserver

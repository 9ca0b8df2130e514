#include "src/node/labels/node_feature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::labels {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NodeFeature Example() {
  NodeFeature object{
      .name = "node-1", .name_space = "nfd", .node = "node-1", .features = {}, .labels = {}};
  object.features.flags["kernel.loadedmodule"] = {"nvidia", "ib_uverbs"};
  object.features.flags["empty.flags"];
  object.features.attributes["kernel.version"] = {{"major", "6"}};
  object.features.attributes["kernel.config"] = {{"X86", "y"}};
  object.features.instances["pci.device"] = {{{"class", "0302"}, {"vendor", "10de"}}, {}};
  object.labels = {{"vendor.io/b", "2"}, {"a", "1"}};
  return object;
}

TEST(NodeFeatureTest, PrintsAsTheApiHasIt) {
  EXPECT_EQ(doc::Print(PrintNodeFeature(Example()), doc::Format::kYaml),
            R"(apiVersion: nfd.k8s-sigs.io/v1alpha1
kind: NodeFeature
metadata:
  name: node-1
  namespace: nfd
  labels:
    nfd.node.kubernetes.io/node-name: node-1
spec:
  features:
    flags:
      empty.flags:
        elements: {}
      kernel.loadedmodule:
        elements:
          ib_uverbs: {}
          nvidia: {}
    attributes:
      kernel.config:
        elements:
          X86: "y"
      kernel.version:
        elements:
          major: "6"
    instances:
      pci.device:
        elements:
        - attributes:
            class: "0302"
            vendor: 10de
        - attributes: {}
  labels:
    a: "1"
    vendor.io/b: "2"
)");
}

TEST(NodeFeatureTest, ReadsWhatItPrints) {
  EXPECT_THAT(ReadNodeFeature(PrintNodeFeature(Example())), IsOkAndHolds(Example()));
}

TEST(NodeFeatureTest, LeavesOutWhatIsNotToBePublished) {
  const std::vector<std::string> unpublished = {"kernel.config", "pci.*", "kernel.ver"};
  const auto read = ReadNodeFeature(PrintNodeFeature(Example(), unpublished));
  ASSERT_OK(read);
  EXPECT_EQ(read->features.attributes.size(), 1U);
  EXPECT_TRUE(read->features.attributes.contains("kernel.version"));
  EXPECT_TRUE(read->features.instances.empty());
  EXPECT_EQ(read->features.flags.size(), 2U);
}

StatusOr<NodeFeature> ReadText(std::string_view text) {
  const auto value = doc::Parse(text, doc::Format::kJson, "o");
  EXPECT_OK(value);
  return ReadNodeFeature(value.value_or(boost::json::value()));
}

TEST(NodeFeatureTest, TakesWhatGoLeavesOut) {
  const auto read = ReadText(
      R"({"metadata": {"name": "x", "labels": {"nfd.node.kubernetes.io/node-name": "n"}},
          "spec": {"labels": null, "new": 1, "features": {"flags": {"a.b": {"elements": null}},
          "attributes": null, "instances": {"c.d": {"elements": [{"attributes": null}, {}]}}}}})");
  ASSERT_OK(read);
  EXPECT_EQ(read->node, "n");
  EXPECT_EQ(read->features.flags.at("a.b").size(), 0U);
  EXPECT_EQ(read->features.instances.at("c.d").size(), 2U);
  EXPECT_OK(ReadText(R"({"metadata": {"labels": {"nfd.node.kubernetes.io/node-name": "n"}}})"));
}

TEST(NodeFeatureTest, RefusesWhatIsNone) {
  const std::string head =
      R"({"metadata": {"name": "x", "labels": {"nfd.node.kubernetes.io/node-name": "n"}}, "spec": )";
  struct Refusal {
    std::string text;
    std::string_view error;
  };
  for (
      const auto& [text, error] : std::initializer_list<Refusal>{
          {"5", "must be a map"},
          {"{}", "metadata is missing"},
          {R"({"metadata": {"name": "x"}})",
           "NodeFeature \"x\": the label nfd.node.kubernetes.io/node-name is missing"},
          {head + "5}", "NodeFeature \"x\": spec must be a map"},
          {head + R"({"labels": {"a": 1}}})", "spec.labels.a must be a string"},
          {head + R"({"features": {"flags": {"a.b": {"elements": []}}}}})",
           "spec.features.flags.a.b.elements must be a map"},
          {head + R"({"features": {"flags": {"a.b": 1}}}})",
           "spec.features.flags.a.b must be a map"},
          {head + R"({"features": {"attributes": {"a.b": {"elements": {"c": true}}}}}})",
           "attributes.a.b.elements.c must be a string"},
          {head + R"({"features": {"instances": {"a.b": {"elements": {}}}}}})",
           "instances.a.b.elements must be a list"},
          {head +
               R"({"features": {"instances": {"a.b": {"elements": [{"attributes": {"c": 1}}]}}}}})",
           "instances.a.b.elements[0].attributes.c must be a string"},
          {head + R"({"features": {"instances": {"a.b": {"elements": [1]}}}}})",
           "instances.a.b.elements[0] must be a map"},
      }) {
    EXPECT_THAT(ReadText(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(std::string(error))))
        << text;
  }
}

TEST(NodeFeatureTest, SortsAsNfdMerges) {
  const auto object = [](const char* name_space, const char* name) {
    NodeFeature feature;
    feature.name = name;
    feature.name_space = name_space;
    return feature;
  };
  std::vector<NodeFeature> objects = {object("b", "a"), object("a", "z"), object("nfd", "y"),
                                      object("a", "a"), object("nfd", "x")};
  SortNodeFeatures(objects, "nfd");
  EXPECT_THAT(objects, ElementsAre(object("nfd", "x"), object("nfd", "y"), object("a", "a"),
                                   object("b", "a"), object("a", "z")));
}

}  // namespace
}  // namespace kgpu::labels

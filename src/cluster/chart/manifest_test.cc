#include "src/cluster/chart/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"

namespace kgpu::chart {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kTwo =
    "\n# why\nkind: DaemonSet\nmetadata: {name: a}\n---\n# nothing\n\n---\n"
    "kind: ConfigMap\nmetadata: {name: b}\ndata:\n  x: |\n    1\n    ---\n    2\n\n";

TEST(ManifestTest, SplitsAndKeepsComments) {
  const auto manifests = SplitManifests(kTwo, "t.yaml");
  ASSERT_OK(manifests);
  ASSERT_EQ(manifests->size(), 2U);
  EXPECT_EQ((*manifests)[0].text, "# why\nkind: DaemonSet\nmetadata: {name: a}\n");
  EXPECT_EQ((*manifests)[0].source, "t.yaml");
  EXPECT_EQ(KindOf((*manifests)[1]), "ConfigMap");
  EXPECT_EQ(NameOf((*manifests)[1]), "b");
  EXPECT_EQ((*manifests)[1].object.at("data").at("x").as_string(), "1\n---\n2\n");
}

TEST(ManifestTest, WhatIsNoObjectIsRefused) {
  EXPECT_THAT(SplitManifests("- a\n", "t.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("t.yaml: must be an object")));
  EXPECT_THAT(SplitManifests("kind: A\n", "t.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("metadata.name")));
  EXPECT_THAT(SplitManifests("a: [\n", "t.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("t.yaml:")));
  EXPECT_THAT(SplitManifests("---\n---\n# a\n---", "t.yaml"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("t.yaml")));
}

TEST(ManifestTest, WhatOthersNeedComesFirst) {
  auto manifests = SplitManifests(
      "kind: Deployment\nmetadata: {name: d}\n---\nkind: Other\nmetadata: {name: o}\n---\n"
      "kind: ConfigMap\nmetadata: {name: c2}\n---\nkind: ConfigMap\nmetadata: {name: c1}\n---\n"
      "kind: Namespace\nmetadata: {name: n}\n",
      "t.yaml");
  ASSERT_OK(manifests);
  SortForApply(*manifests);
  std::vector<std::string> names;
  for (const Manifest& manifest : *manifests) {
    names.emplace_back(NameOf(manifest));
  }
  EXPECT_THAT(names, ElementsAre("n", "c2", "c1", "d", "o"));
}

TEST(ManifestTest, PrintsOneFile) {
  const auto manifests = SplitManifests(kTwo, "t.yaml");
  ASSERT_OK(manifests);
  const auto again = SplitManifests(PrintYaml(*manifests), "again.yaml");
  ASSERT_OK(again);
  EXPECT_EQ(again->size(), 2U);
  EXPECT_EQ((*again)[1].object, (*manifests)[1].object);
  const auto list = doc::Parse(PrintJson(*manifests), doc::Format::kJson, "list");
  ASSERT_OK(list);
  EXPECT_EQ(list->at("kind").as_string(), "List");
  EXPECT_EQ(list->at("items").as_array().size(), 2U);
}

}  // namespace
}  // namespace kgpu::chart

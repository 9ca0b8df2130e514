#include "src/kube/objects/manifests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "src/kube/objects/kinds.h"
#include "testing/status_matchers.h"

namespace kgpu::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Found(std::string_view text) {
  const auto objects = ParseManifests(text, "m.yaml");
  EXPECT_OK(objects);
  std::vector<std::string> found;
  for (const ManifestObject& item : objects.ok() ? *objects : std::vector<ManifestObject>()) {
    found.push_back(fmt::format("{} {}", item.where, TextOf(RefOf(item.object))));
  }
  return found;
}

TEST(ManifestsTest, ReadsEachDocumentWithItsLine) {
  EXPECT_THAT(Found("# head\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n"
                    "--- # second\n\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"
                    "  namespace: a\n...\n---\n# nothing\n"),
              ElementsAre("m.yaml:3 Namespace a", "m.yaml:8 ConfigMap a/b"));
}

TEST(ManifestsTest, ReadsJsonAndLists) {
  EXPECT_THAT(Found(R"({"apiVersion":"v1","kind":"List","items":[
    {"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}},
    {"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"a"}}]})"),
              ElementsAre("m.yaml:1 Namespace a", "m.yaml:1 Secret a/s"));
  EXPECT_THAT(Found("{apiVersion: v1, kind: Namespace, metadata: {name: a}}"),
              ElementsAre("m.yaml:1 Namespace a"));
  EXPECT_THAT(Found("--- {apiVersion: v1, kind: Namespace, metadata: {name: a}}"),
              ElementsAre("m.yaml:1 Namespace a"));
}

TEST(ManifestsTest, ABlockScalarMayContainDashes) {
  EXPECT_THAT(Found("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: |\n    ---\n"
                    "    a: b\n"),
              ElementsAre("m.yaml:1 ConfigMap a"));
}

TEST(ManifestsTest, ErrorsNameTheLineInTheFile) {
  struct Case {
    std::string text;
    std::string error;
  };
  const std::string good = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n";
  for (const Case& test : std::vector<Case>{
           {good + "---\n- 1\n", "m.yaml:5: must be an object with apiVersion"},
           {good + "---\nkind: X\n", "m.yaml:5: apiVersion: must be set"},
           {good + "---\napiVersion: v1\nmetadata: {name: a}\n", "m.yaml:5: kind: must be set"},
           {good + "---\napiVersion: v1\nkind: X\n", "m.yaml:5: metadata.name: must be set"},
           {good + "---\n" + good, "m.yaml:5: Namespace a: is also at m.yaml:1: remove one"},
           {good + "---\na: [\n", "m.yaml:7:1: not YAML"},
           {good + "---\na: 1\na: 2\n", "m.yaml:6:1: duplicate key"}}) {
    EXPECT_THAT(ParseManifests(test.text, "m.yaml"),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(test.error)));
  }
}

}  // namespace
}  // namespace kgpu::kube

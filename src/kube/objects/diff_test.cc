#include "src/kube/objects/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <string>
#include <vector>

namespace kgpu::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> Diff(const char* before, const char* after) {
  std::vector<std::string> lines;
  for (const FieldChange& change :
       DiffObjects(boost::json::parse(before), boost::json::parse(after))) {
    lines.push_back(TextOf(change));
  }
  return lines;
}

TEST(DiffTest, NamesTheFieldsThatDiffer) {
  EXPECT_THAT(Diff(R"({"spec":{"a":1,"b":{"c":[1,2]},"gone":true}})",
                   R"({"spec":{"a":2,"b":{"c":[1]},"new":"x"}})"),
              ElementsAre("spec.a: 1 -> 2", "spec.b.c: [1,2] -> [1]", "spec.gone: - true",
                          "spec.new: + \"x\""));
}

TEST(DiffTest, MatchesItemsOfListsByName) {
  EXPECT_THAT(Diff(R"({"c":[{"name":"x","image":"1"},{"name":"y"}]})",
                   R"({"c":[{"name":"z"},{"name":"x","image":"2"}]})"),
              ElementsAre("c[x].image: \"1\" -> \"2\"", "c[y]: - {\"name\":\"y\"}",
                          "c[z]: + {\"name\":\"z\"}"));
}

TEST(DiffTest, IgnoresWhatTheServerKeepsItself) {
  EXPECT_THAT(Diff(R"({"metadata":{"name":"a","resourceVersion":"1","generation":1,"uid":"u",
                      "creationTimestamp":"t","managedFields":[1]},"status":{"x":1}})",
                   R"({"metadata":{"name":"a","resourceVersion":"2"}})"),
              IsEmpty());
}

TEST(DiffTest, HidesTheValuesOfASecret) {
  EXPECT_THAT(Diff(R"({"kind":"Secret","data":{"token":"YQ=="}})",
                   R"({"kind":"Secret","data":{"token":"Yg==","x":"eA=="}})"),
              ElementsAre("data.token: (hidden) -> (hidden)", "data.x: + (hidden)"));
}

}  // namespace
}  // namespace kgpu::kube

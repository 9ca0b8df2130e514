#include "src/platform/doc/located.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>

#include "testing/status_matchers.h"

namespace kgpu::doc {
namespace {

// "3:7" of the value, behind the place of its key where it has one.
std::string ValueOf(const Place& place) {
  return fmt::format("{}:{}", place.value.line, place.value.column);
}
std::string KeyOf(const Place& place) {
  return fmt::format("{}:{}", place.key.line, place.key.column);
}

TEST(LocatedTest, YamlValuesKnowTheirPlaces) {
  const auto located = ParseLocated("# first\na: 1\npools:\n- x: [1, 'é', last]\n  y: {z: 2}\n",
                                    Format::kYaml, "x.yaml");
  ASSERT_OK(located);
  EXPECT_EQ(PrintLine(located->root), R"({"a":1,"pools":[{"x":[1,"é","last"],"y":{"z":2}}]})");
  const Place& pools = located->place.children.at(1);
  EXPECT_EQ(KeyOf(pools), "3:1");
  EXPECT_EQ(ValueOf(pools.children.at(0)), "4:3");
  EXPECT_EQ(ValueOf(pools.children.at(0).children.at(0).children.at(2)), "4:16");
  const Place& z = pools.children.at(0).children.at(1).children.at(0);
  EXPECT_EQ(KeyOf(z), "5:7");
  EXPECT_EQ(ValueOf(z), "5:10");
}

TEST(LocatedTest, AValueLeftOutStandsAtItsKey) {
  const auto located = ParseLocated("a:\n\n\nb: 1\n", Format::kYaml, "x.yaml");
  ASSERT_OK(located);
  EXPECT_EQ(ValueOf(located->place.children.at(0)), "1:1");
}

TEST(LocatedTest, NothingStandsAtTheStart) {
  const auto located = ParseLocated("# nothing\n", Format::kYaml, "x.yaml");
  ASSERT_OK(located);
  EXPECT_TRUE(located->root.is_null());
  EXPECT_EQ(ValueOf(located->place), "1:1");
}

TEST(LocatedTest, JsonValuesKnowTheirPlaces) {
  const auto located =
      ParseLocated("{\n  \"a\\\"}\": [ 1 ,\"]\",{}, [],\n null],\n\t\"b\" :{\"c\":-1.5e3 }\n}\n",
                   Format::kJson, "x.json");
  ASSERT_OK(located);
  const Place& a = located->place.children.at(0);
  EXPECT_EQ(KeyOf(a), "2:3");
  EXPECT_EQ(ValueOf(a), "2:11");
  ASSERT_EQ(a.children.size(), 5U);
  EXPECT_EQ(ValueOf(a.children[1]), "2:16");
  EXPECT_EQ(ValueOf(a.children[3]), "2:24");
  EXPECT_EQ(ValueOf(a.children[4]), "3:2");
  const Place& b = located->place.children.at(1);
  EXPECT_EQ(ValueOf(b), "4:7");
  EXPECT_EQ(KeyOf(b.children.at(0)), "4:8");
  EXPECT_EQ(ValueOf(b.children.at(0)), "4:12");
}

TEST(LocatedTest, RefusesWhatParseRefuses) {
  EXPECT_THAT(ParseLocated("[1", Format::kJson, "x"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseLocated("a: 1\na: 2\n", Format::kYaml, "x"),
              StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("x:2:1")));
}

}  // namespace
}  // namespace kgpu::doc

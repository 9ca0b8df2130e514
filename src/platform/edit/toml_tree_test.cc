#include "src/platform/edit/toml_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "testing/status_matchers.h"

namespace kgpu::edit {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

TEST(TomlTreeTest, HoldsWhatATextSays) {
  const auto tree = ParseTomlTree("a.b = [1, 2.5, true]\n[c]\nd = 'x'\n", "f");
  ASSERT_THAT(tree, IsOk());
  EXPECT_EQ(*tree, json::parse(R"({"a": {"b": [1, 2.5, true]}, "c": {"d": "x"}})"));
}

TEST(TomlTreeTest, TagsWhatJsonHasNoWordFor) {
  const auto tree = ParseTomlTree("a = 1979-05-27\nb = nan\n", "f");
  ASSERT_THAT(tree, IsOk());
  EXPECT_EQ(*tree,
            json::parse(R"({"a": {"toml:date": "1979-05-27"}, "b": {"toml:number": "nan"}})"));
}

TEST(TomlTreeTest, SaysWhereATextIsWrong) {
  EXPECT_THAT(ParseTomlTree("a = 1\n[a]\n", "f"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("f:2:")));
}

TEST(TomlTreeTest, PrintsValuesThatComeBack) {
  for (const char* text :
       {R"("a\"\\\n\t\u0001")", "true", "-7", "2.5", "1e30", R"(["a", [1, 2]])"}) {
    const json::value value = json::parse(text);
    const auto printed = PrintTomlValue(value);
    ASSERT_THAT(printed, IsOk());
    const auto tree = ParseTomlTree(fmt::format("x = {}\n", *printed), "f");
    ASSERT_THAT(tree, IsOk());
    EXPECT_EQ(tree->at("x"), value) << *printed;
  }
  EXPECT_THAT(PrintTomlValue(json::object()), StatusIs(StatusCode::kInvalidArgument));
}

TEST(TomlTreeTest, QuotesNamesThatNeedIt) {
  EXPECT_EQ(PrintTomlName("runc_2-x"), "runc_2-x");
  EXPECT_EQ(PrintTomlName("io.containerd"), "\"io.containerd\"");
  EXPECT_EQ(PrintTomlName(""), "\"\"");
}

}  // namespace
}  // namespace kgpu::edit

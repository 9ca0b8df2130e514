#include "src/platform/doc/saved_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace kgpu::doc {
namespace {

using ::testing::Optional;
using ::testing::SizeIs;

TEST(SavedFieldsTest, ReadsWhatHasTheRightType) {
  const boost::json::value file = boost::json::parse(
      R"({"text": "a", "flag": true, "number": 5000000000, "list": [{"text": "b"}, 7, {}]})");
  const SavedFields fields(file.as_object());
  EXPECT_EQ(fields.Text("text"), "a");
  EXPECT_TRUE(fields.Flag("flag"));
  EXPECT_THAT(fields.Number("number"), Optional(5'000'000'000U));
  EXPECT_EQ(fields.Number("number", 10), std::nullopt);
  EXPECT_EQ(fields.Small("number"), std::nullopt);
  ASSERT_THAT(fields.List("list"), SizeIs(2));
  EXPECT_EQ(fields.List("list")[0].Text("text"), "b");
}

TEST(SavedFieldsTest, AnythingElseReadsAsNone) {
  const boost::json::value file =
      boost::json::parse(R"({"a": 1, "b": "true", "c": -1, "d": 1.5, "e": {"text": "b"}})");
  const SavedFields fields(file.as_object());
  for (const char* key : {"a", "b", "c", "d", "e", "f"}) {
    EXPECT_FALSE(fields.Flag(key)) << key;
    EXPECT_THAT(fields.List(key), SizeIs(0)) << key;
  }
  EXPECT_EQ(fields.Text("a"), "");
  for (const char* key : {"b", "c", "d", "e", "f"}) {
    EXPECT_EQ(fields.Number(key), std::nullopt) << key;
  }
}

}  // namespace
}  // namespace kgpu::doc

#include "src/cli/base/kinds_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <array>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::HasSubstr;

constexpr std::array<report::Kind, 2> kKinds = {
    {{"gpu-lost", report::Severity::kError, "A GPU is lost", "yes"},
     {"merge-key", report::Severity::kInfo, "A key `<<`", "no"}}};

TEST(KindsViewTest, PeopleGetColumnsWithoutMarkdown) {
  EXPECT_EQ(KindsTable({.kinds = kKinds, .name = "checks"}),
            "FINDING    SEVERITY  FOUND WHEN\n"
            "gpu-lost   error     A GPU is lost\n"
            "merge-key  info      A key <<\n");
  EXPECT_THAT(KindsTable({.kinds = kKinds, .name = "rules", .extra = "FIXED"}),
              HasSubstr("A GPU is lost  yes\n"));
}

TEST(KindsViewTest, ProgramsGetTheSame) {
  const boost::json::value json =
      KindsJson({.kinds = kKinds, .name = "rules", .extra = "FIXED", .extra_key = "fixed"});
  EXPECT_EQ(boost::json::serialize(json),
            R"({"rules":[{"id":"gpu-lost","severity":"error","title":"A GPU is lost",)"
            R"("fixed":"yes"},{"id":"merge-key","severity":"info","title":"A key <<",)"
            R"("fixed":"no"}]})");
}

TEST(KindsViewTest, AnotherFormatIsRefused) {
  EXPECT_THAT(PrintKinds("xml", {.kinds = kKinds, .name = "rules"}, ""),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("markdown")));
}

}  // namespace
}  // namespace kgpu::cli

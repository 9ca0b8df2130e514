#include "testing/simhost/companions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::simhost {
namespace {

using ::testing::HasSubstr;

TEST(CompanionsTest, WordsComeBackAsText) {
  for (const std::string_view text : {"none", "imex=4,gds,gdrcopy,mofed=2", "gds", "mofed=64"}) {
    const auto companions = ParseCompanions(text);
    ASSERT_OK(companions);
    EXPECT_EQ(ToString(*companions), text);
  }
}

TEST(CompanionsTest, AWordWithoutNumberIsOne) {
  const auto companions = ParseCompanions("mofed,imex");
  ASSERT_OK(companions);
  EXPECT_EQ(*companions, (Companions{.imex_channels = 1, .rdma_cards = 1}));
}

TEST(CompanionsTest, OtherWordsAreReportedWithTheKnownOnes) {
  EXPECT_THAT(ParseCompanions("gds,gpu"),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("\"gpu\" must be gds, gdrcopy, mofed[=CARDS] or imex")));
  EXPECT_THAT(ParseCompanions("imex=0"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("imex=1 to imex=4096")));
  for (const std::string_view text : {"mofed=65", "imex=x", "imex=", "gds=2", ",", "gds,"}) {
    EXPECT_FALSE(ParseCompanions(text).ok()) << text;
  }
}

}  // namespace
}  // namespace kgpu::simhost

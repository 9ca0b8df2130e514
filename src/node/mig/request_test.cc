#include "src/node/mig/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ParseEntriesTest, ReadsEveryForm) {
  const auto entries = ParseEntries(
      "1g.10gb, 3x1g.10gb 1g.20gb:2,1c.3g.40gb,3g.40gb@4:idle,4g.40gb@0:movable,1g.24gb+me.all");
  ASSERT_OK(entries);
  EXPECT_THAT(*entries,
              ElementsAre(Entry{.profile = "1g.10gb"}, Entry{.profile = "1g.10gb", .count = 3},
                          Entry{.profile = "1g.20gb", .count = 2},
                          Entry{.profile = "3g.40gb", .compute = 1},
                          Entry{.profile = "3g.40gb", .start = 4, .use = Use::kIdle},
                          Entry{.profile = "4g.40gb", .start = 0, .use = Use::kMovable},
                          Entry{.profile = "1g.24gb+me.all"}));
  EXPECT_THAT(ParseEntries(" , "), IsOkAndHolds(IsEmpty()));
}

TEST(ParseEntriesTest, NamesTheEntryThatIsWrong) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"1g.10gb,9x", "\"9x\""},
           {"0x1g.10gb", "the count must be 1 to 1024"},
           {"1g.10gb:99999", "the count must be 1 to 1024"},
           {"3g.40gb@x", "the memory slice behind @"},
           {"3g.40gb@99", "the memory slice behind @"},
           {"2x3g.40gb@0", "only one instance"},
           {"3c.4g.40gb", "compute instances of 4g.40gb have 1, 2, 4 slices"},
           {"5c.3g.40gb", "compute instances of 3g.40gb have 1, 2, 3 slices"},
           {"1000x1g.10gb,1000x1g.10gb", "more than 1024 instances"}}) {
    EXPECT_THAT(ParseEntries(text).status(), StatusIs(StatusCode::kInvalidArgument, HasSubstr(why)))
        << text;
  }
}

TEST(DemandsOfTest, CountsKindsAndPacksComputeInstances) {
  const auto entries = ParseEntries("1g.10gb,1g.10gb,4x1c.3g.40gb,2c.3g.40gb,3c.3g.40gb");
  ASSERT_OK(entries);
  const auto demands = DemandsOf(*entries);
  ASSERT_OK(demands);
  EXPECT_EQ(DemandText(*demands),
            "2 x 1g.10gb, 1 x 3g.40gb, 1 x 3g.40gb (1c+1c+1c), 1 x 3g.40gb (2c+1c)");
  EXPECT_EQ(DemandText({}), "none");
}

TEST(SlicesOfNameTest, ReadsTheNumberBeforeTheG) {
  EXPECT_EQ(SlicesOfName("7g.141gb"), 7U);
  EXPECT_EQ(SlicesOfName("1g.24gb+me.all"), 1U);
  EXPECT_EQ(SlicesOfName("gb"), 0U);
}

}  // namespace
}  // namespace kgpu::mig

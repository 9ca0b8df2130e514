#include "src/gpu/health/xid_counts.h"

#include <gmock/gmock.h>

namespace kgpu::health {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};

TEST(XidCountsTest, CountsAnXidOnceThoughTwoSourcesTellOfIt) {
  for (const Source first : {Source::kDriverEvent, Source::kKernelLog}) {
    const Source second = first == Source::kDriverEvent ? Source::kKernelLog : Source::kDriverEvent;
    XidCounts counts;
    EXPECT_TRUE(counts.Note(79, first, kStart));
    EXPECT_FALSE(counts.Note(79, second, kStart + milliseconds(10)));
    EXPECT_TRUE(counts.Note(79, second, kStart + milliseconds(20)));
    ASSERT_EQ(counts.counts().size(), 1U);
    EXPECT_EQ(counts.counts()[0].count, 2U);
  }
}

TEST(XidCountsTest, AStormReportedByBothIsCountedOnceHoweverTheyInterleave) {
  XidCounts counts;
  for (int i = 0; i < 1000; ++i) {
    counts.Note(13, Source::kDriverEvent, kStart + milliseconds(i));
    if (i % 100 == 99) {
      for (int j = 0; j < 100; ++j) {
        counts.Note(13, Source::kKernelLog, kStart + milliseconds(i));
      }
    }
  }
  EXPECT_EQ(counts.counts()[0].count, 1000U);
}

TEST(XidCountsTest, TheOtherSourceMuchLaterIsAnotherXid) {
  XidCounts counts;
  EXPECT_TRUE(counts.Note(48, Source::kDriverEvent, kStart));
  EXPECT_TRUE(counts.Note(48, Source::kKernelLog, kStart + seconds(6)));
  EXPECT_EQ(counts.counts()[0].count, 2U);
}

TEST(XidCountsTest, OneSourceAloneIsCountedWhole) {
  XidCounts counts;
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(counts.Note(31, Source::kKernelLog, kStart + seconds(i)));
  }
  EXPECT_EQ(counts.counts()[0].count, 10U);
}

TEST(XidCountsTest, CodesWithoutEndAreCountedTogether) {
  XidCounts counts;
  for (uint64_t xid = 0; xid < 1000; ++xid) {
    counts.Note(xid, Source::kDriverEvent, kStart);
  }
  ASSERT_EQ(counts.counts().size(), XidCounts::kMaxCodes + 1);
  EXPECT_EQ(counts.counts().back().xid, XidCounts::kOther);
  EXPECT_EQ(counts.counts().back().count, 1000 - XidCounts::kMaxCodes);
}

}  // namespace
}  // namespace kgpu::health

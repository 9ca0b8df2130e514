#include "src/base/bytes.h"

#include <gtest/gtest.h>

namespace kgpu {
namespace {

TEST(BytesTest, FormatsInTheLargestFittingUnit) {
  EXPECT_EQ(FormatBytes(Bytes{0}), "0 B");
  EXPECT_EQ(FormatBytes(Bytes{1023}), "1023 B");
  EXPECT_EQ(FormatBytes(Bytes{1024}), "1 KiB");
  EXPECT_EQ(FormatBytes(MebiBytes(512)), "512 MiB");
  EXPECT_EQ(FormatBytes(GibiBytes(80)), "80 GiB");
}

TEST(BytesTest, RoundsToOneDecimal) {
  EXPECT_EQ(FormatBytes(MebiBytes(81559)), "79.6 GiB");
  EXPECT_EQ(FormatBytes(MebiBytes(1536)), "1.5 GiB");
}

TEST(BytesTest, FormatsTheLargestAmountWithoutOverflow) {
  EXPECT_EQ(FormatBytes(Bytes{UINT64_MAX}), "16384 PiB");
}

}  // namespace
}  // namespace kgpu

#include "src/platform/base/bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

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

TEST(QuantityTest, TakesKubernetesUnits) {
  EXPECT_THAT(ParseQuantity("40Gi"), IsOkAndHolds(GibiBytes(40)));
  EXPECT_THAT(ParseQuantity("79.5Gi"), IsOkAndHolds(MebiBytes(81408)));
  EXPECT_THAT(ParseQuantity("0.001k"), IsOkAndHolds(Bytes{1}));
  EXPECT_THAT(ParseQuantity("80G"), IsOkAndHolds(Bytes{80'000'000'000}));
  EXPECT_THAT(ParseQuantity("0"), IsOkAndHolds(Bytes{0}));
  EXPECT_THAT(ParseQuantity("18446744073709551615"), IsOkAndHolds(Bytes{UINT64_MAX}));
}

TEST(QuantityTest, RefusesTheRest) {
  for (const char* text : {"", "Gi", "40GB", "40 Gi", "-1Gi", "40gi", "1.2345Gi", "1.Gi", ".5Gi",
                           "1.2.3Gi", "18446744073709551616", "16384Pi", "1e3"}) {
    EXPECT_THAT(ParseQuantity(text),
                StatusIs(StatusCode::kInvalidArgument, ::testing::HasSubstr("40Gi")))
        << text;
  }
}

TEST(QuantityTest, IsWrittenInTheLargestUnitThatHoldsItWhole) {
  EXPECT_EQ(FormatQuantity(GibiBytes(40)), "40Gi");
  EXPECT_EQ(FormatQuantity(MebiBytes(81559)), "81559Mi");
  EXPECT_EQ(FormatQuantity(Bytes{1025}), "1025");
  EXPECT_EQ(FormatQuantity(Bytes{0}), "0");
}

}  // namespace
}  // namespace kgpu

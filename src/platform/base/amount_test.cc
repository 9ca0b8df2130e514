#include "src/platform/base/amount.h"

#include <gtest/gtest.h>

#include <optional>

namespace kgpu {
namespace {

TEST(AmountTest, ReadsEverySpelling) {
  const std::pair<const char*, int64_t> rows[] = {
      {"2", 2000},
      {"0", 0},
      {"500m", 500},
      {"0.5", 500},
      {"1.25", 1250},
      {"1k", 1'000'000},
      {"1Ki", 1'024'000},
      {"1e3", 1'000'000},
      {"2E0", 2000},
      {"5e-1", 500},
      {"1n", 1},
      {"100u", 1},
      {"1.5Gi", 1'610'612'736'000},
      {"+3", 3000},
      {".5", 500},
      {"1.0000000000001", 1000},
      {"99999999999999E", INT64_MAX},
      {"123456789012345678901234567890", INT64_MAX},
      {"1.000000000Ti", 1'099'511'627'776'000},
  };
  for (const auto& [text, milli] : rows) {
    EXPECT_EQ(ParseAmount(text).value_or(Amount{-1}).milli, milli) << text;
  }
}

TEST(AmountTest, RefusesWhatIsNoQuantity) {
  for (const char* text : {"", "x", "-1", "1 Gi", "1gi", "m", ".", "1e", "1e99", "--1"}) {
    EXPECT_EQ(ParseAmount(text), std::nullopt) << text;
  }
}

TEST(AmountTest, SumsStayWithinTheirBounds) {
  const Amount most{INT64_MAX};
  EXPECT_EQ(most + Amount{1}, most);
  EXPECT_EQ((Amount{INT64_MIN} - Amount{1}).milli, INT64_MIN);
}

TEST(AmountTest, IsWrittenAsTheResourceUsuallyIs) {
  EXPECT_EQ(AmountText("nvidia.com/gpu", {2000}), "2");
  EXPECT_EQ(AmountText("cpu", {1500}), "1500m");
  EXPECT_EQ(AmountText("memory", {int64_t{40} * 1000 << 30}), "40Gi");
}

}  // namespace
}  // namespace kgpu

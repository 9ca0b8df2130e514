#include "src/gpu/cuda/version.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::cuda {
namespace {

using ::testing::HasSubstr;

TEST(VersionTest, ReadsNumbersWithDots) {
  EXPECT_THAT(ParseVersionNumbers("12"), IsOkAndHolds(VersionNumbers{12}));
  EXPECT_THAT(ParseVersionNumbers("12.4"), IsOkAndHolds(VersionNumbers{12, 4}));
  EXPECT_THAT(ParseVersionNumbers("535.104.05"), IsOkAndHolds(VersionNumbers{535, 104, 5}));
  EXPECT_THAT(ParseVersionNumbers("550.40.07.01"), IsOkAndHolds(VersionNumbers{550, 40, 7, 1}));
  EXPECT_THAT(ParseVersionNumbers("470."), IsOkAndHolds(VersionNumbers{470}));
  EXPECT_THAT(ParseVersionNumbers("999999999"), IsOkAndHolds(VersionNumbers{999999999}));
}

TEST(VersionTest, RefusesEverythingElse) {
  for (const std::string_view text :
       {"", ".", ".5", "12..4", "12.4a", "v12", "-1", "1,2", "1.2.3.4.5", "9999999999", " 12"}) {
    EXPECT_THAT(ParseVersionNumbers(text),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr("must be a version")))
        << text;
  }
}

TEST(VersionTest, ComparesNumbersNotText) {
  EXPECT_LT(*DriverVersion::Parse("535.54.03"), *DriverVersion::Parse("535.104.05"));
  EXPECT_LT(*DriverVersion::Parse("99"), *DriverVersion::Parse("470"));
  EXPECT_EQ(*DriverVersion::Parse("580"), *DriverVersion::Parse("580.0.0"));
  EXPECT_LT(*CudaVersion::Parse("12.9"), *CudaVersion::Parse("12.10"));
  EXPECT_EQ(*CudaVersion::Parse("12.4.1"), *CudaVersion::Parse("12.4"));
}

TEST(VersionTest, DriversAreWrittenAsNvidiaWritesThem) {
  for (const std::string_view text :
       {"535.104.05", "455.32", "580", "610.43.02", "450.80.02", "550.40.07.01"}) {
    EXPECT_EQ(DriverVersion::Parse(text)->str(), text);
  }
}

TEST(VersionTest, CudaIsWrittenWithItsMinor) {
  EXPECT_EQ(CudaVersion::Parse("12")->str(), "12.0");
  EXPECT_EQ(CudaVersion::Parse("12.4.1")->str(), "12.4");
}

}  // namespace
}  // namespace kgpu::cuda

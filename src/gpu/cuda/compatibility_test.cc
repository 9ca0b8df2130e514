#include "src/gpu/cuda/compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kgpu::cuda {
namespace {

DriverVersion Driver(std::string_view text) {
  return DriverVersion::Parse(text).value();
}

CudaVersion Cuda(std::string_view text) {
  return CudaVersion::Parse(text).value();
}

std::string Text(const std::optional<CudaVersion>& cuda) {
  return cuda ? cuda->str() : "none";
}

std::string Text(const std::optional<DriverVersion>& driver) {
  return driver ? driver->str() : "none";
}

struct DriverRow {
  std::string_view driver;
  std::string_view cuda;
};

TEST(CompatibilityTest, DriversSupportCudaUpToAVersion) {
  constexpr DriverRow kRows[] = {
      {"352.30", "none"},     {"352.31", "7.5"},     {"375.26", "8.0"},      {"384.81", "9.0"},
      {"390.46", "9.1"},      {"410.48", "10.0"},    {"440.33.01", "10.2"},  {"450.51.05", "11.0"},
      {"450.80.02", "11.0"},  {"470.57.02", "11.4"}, {"470.256.02", "11.4"}, {"520.61.05", "11.8"},
      {"525.60.12", "11.8"},  {"525.60.13", "12.0"}, {"535.54.02", "12.1"},  {"535.54.03", "12.2"},
      {"535.104.05", "12.2"}, {"550.54.13", "12.3"}, {"550.54.14", "12.4"},  {"565.57.01", "12.6"},
      {"570.26", "12.8"},     {"575.57.08", "12.9"}, {"580.65.06", "13.0"},  {"595.45.04", "13.2"},
      {"610.43.02", "13.3"},  {"700", "13.3"},
  };
  for (const DriverRow& row : kRows) {
    EXPECT_EQ(Text(HighestCuda(Driver(row.driver))), row.cuda) << row.driver;
  }
}

TEST(CompatibilityTest, CudaNeedsADriver) {
  constexpr DriverRow kRows[] = {
      {"352.31", "7.0"},     {"367.48", "8.0"},     {"410.48", "10.0"},    {"440.33", "10.2"},
      {"450.51.05", "11.0"}, {"455.23", "11.1"},    {"510.39.01", "11.6"}, {"520.61.05", "11.8"},
      {"525.60.13", "12.0"}, {"550.54.14", "12.4"}, {"560.28.03", "12.6"}, {"570.26", "12.7"},
      {"570.26", "12.8"},    {"580.65.06", "13.0"}, {"610.43.02", "13.3"}, {"none", "13.4"},
  };
  for (const DriverRow& row : kRows) {
    EXPECT_EQ(Text(LeastDriver(Cuda(row.cuda))), row.driver) << row.cuda;
  }
}

TEST(CompatibilityTest, ADriverSaysNoUpdates) {
  const auto toolkit = LeastToolkit({12, 4, 1});
  ASSERT_TRUE(toolkit.has_value());
  EXPECT_EQ(toolkit->cuda.str(), "12.5") << "a driver says 12.4, never 12.4.1";
}

TEST(CompatibilityTest, EveryToolkitIsAtMostWhatItsDriverSupports) {
  for (const Toolkit& toolkit : Toolkits()) {
    EXPECT_EQ(HighestCuda(toolkit.least_driver), toolkit.cuda) << toolkit.least_driver.str();
    EXPECT_EQ(FitOf(toolkit.cuda, toolkit.least_driver), Fit::kWhole) << toolkit.cuda.str();
  }
}

struct FitRow {
  std::string_view cuda;
  std::string_view driver;
  Fit fit;
};

TEST(CompatibilityTest, MinorVersionsRunOnTheirMajorsFirstDriver) {
  constexpr FitRow kRows[] = {
      {"11.8", "450.80.01", Fit::kNone},   {"11.8", "450.80.02", Fit::kMinor},
      {"11.8", "520.61.05", Fit::kWhole},  {"12.9", "520.61.05", Fit::kNone},
      {"12.9", "525.60.13", Fit::kMinor},  {"12.4", "535.104.05", Fit::kMinor},
      {"12.2", "535.104.05", Fit::kWhole}, {"11.0", "535.104.05", Fit::kWhole},
      {"13.2", "575.57.08", Fit::kNone},   {"13.2", "580.65.06", Fit::kMinor},
      {"10.2", "410.48", Fit::kNone},      {"10.0", "410.48", Fit::kWhole},
      {"13.9", "580.65.06", Fit::kMinor},  {"14.0", "610.43.02", Fit::kUnknown},
  };
  for (const FitRow& row : kRows) {
    EXPECT_EQ(FitOf(Cuda(row.cuda), Driver(row.driver)), row.fit) << row.cuda << " " << row.driver;
  }
}

TEST(CompatibilityTest, AnUpdateHasALeastDriverOfItsOwn) {
  EXPECT_EQ(Text(LeastDriver({12, 4}, 1)), "550.54.15");
  EXPECT_EQ(Text(LeastDriver({12, 6}, 2)), "560.35.03") << "that of update 1";
  EXPECT_EQ(Text(LeastDriver({12, 1}, 1)), "530.30.02") << "that of the first release";
  EXPECT_EQ(FitOf({12, 4}, Driver("550.54.14"), 1), Fit::kMinor);
  EXPECT_EQ(FitOf({12, 4}, Driver("550.54.15"), 1), Fit::kWhole);
  EXPECT_EQ(UpdateOf({12, 4, 1}), 1U);
  EXPECT_EQ(UpdateOf({11, 0, 3}), 1U);
  EXPECT_EQ(UpdateOf({11, 0, 2}), 0U);
  EXPECT_EQ(UpdateOf({12, 4, 127}), 0U);
  EXPECT_EQ(UpdateOf({10, 2, 89}), 0U);
}

TEST(CompatibilityTest, NewDriversDropOldGpus) {
  EXPECT_EQ(LastDriverBranch({3, 7}), 470U);
  EXPECT_EQ(LastDriverBranch({7, 0}), 580U);
  EXPECT_EQ(LastDriverBranch({7, 5}), std::nullopt);
}

TEST(CompatibilityTest, NewCudaDropsOldGpus) {
  EXPECT_EQ(LeastCompute(13), (ComputeCapability{7, 5}));
  EXPECT_EQ(LeastCompute(12), (ComputeCapability{5, 0}));
  EXPECT_EQ(LeastCompute(14), std::nullopt);
  EXPECT_EQ(LastCudaMajor({7, 0}), 12U);
  EXPECT_EQ(LastCudaMajor({6, 1}), 12U);
  EXPECT_EQ(LastCudaMajor({3, 5}), 11U);
  EXPECT_EQ(LastCudaMajor({3, 0}), 10U);
  EXPECT_EQ(LastCudaMajor({7, 5}), std::nullopt) << "no CUDA has dropped Turing";
  EXPECT_EQ(LastCudaMajor({1, 3}), std::nullopt) << "older than all we know";
}

TEST(CompatibilityTest, NewGpusNeedANewCuda) {
  EXPECT_EQ(FirstCuda({9, 0}), (CudaVersion{11, 8}));
  EXPECT_EQ(FirstCuda({8, 9}), (CudaVersion{11, 0})) << "code for 8.0 runs on 8.9";
  EXPECT_EQ(FirstCuda({12, 0}), (CudaVersion{12, 8}));
  EXPECT_EQ(FirstCuda({13, 0}), std::nullopt);
}

TEST(CompatibilityTest, CompatLibrariesRunOverSomeBranches) {
  EXPECT_TRUE(TakesCompat(Cuda("12.4"), Driver("470.57.02")));
  EXPECT_TRUE(TakesCompat(Cuda("13.0"), Driver("535.309.01")));
  EXPECT_FALSE(TakesCompat(Cuda("13.0"), Driver("545.23.08")));
  EXPECT_FALSE(TakesCompat(Cuda("13.0"), Driver("470.57.02"))) << "left behind by 12.9";
  EXPECT_FALSE(TakesCompat(Cuda("13.2"), Driver("550.54.15"))) << "left behind by 13.2";
  EXPECT_FALSE(TakesCompat(Cuda("12.4"), Driver("450.51.06"))) << "left behind by 12.3";
  EXPECT_TRUE(HasCompat(Cuda("10.0")));
  EXPECT_FALSE(HasCompat(Cuda("9.2")));
}

}  // namespace
}  // namespace kgpu::cuda

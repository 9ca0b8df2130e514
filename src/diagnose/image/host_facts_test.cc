#include "src/diagnose/image/host_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/diagnose/image/gpu_models.h"
#include "testing/status_matchers.h"

namespace kgpu::image {
namespace {

using ::testing::HasSubstr;

struct ModelRow {
  std::string_view name;
  std::string_view compute;  // empty: not known
  std::optional<bool> is_data_center;
};

TEST(GpuModelTest, ModelsAreKnownByTheWordsOfTheirNames) {
  constexpr ModelRow kRows[] = {
      {"NVIDIA A100-SXM4-80GB", "8.0", true},
      {"H100-SXM5-80GB", "9.0", true},
      {"NVIDIA GH200 480GB", "9.0", true},
      {"NVIDIA B200", "10.0", true},
      {"Tesla V100-SXM2-16GB", "7.0", true},
      {"Tesla T4", "7.5", true},
      {"NVIDIA L40S", "8.9", true},
      {"NVIDIA GeForce RTX 4090", "8.9", false},
      {"GeForce RTX 5090", "12.0", false},
      {"GeForce GTX 1660", "7.5", false},
      {"GeForce GTX 1080 Ti", "6.1", false},
      {"RTX 6000 Ada Generation", "8.9", std::nullopt},
      {"NVIDIA RTX A6000", "8.6", std::nullopt},
      {"Quadro RTX 6000", "", std::nullopt},
      {"NVIDIA RTX PRO 6000 Blackwell", "12.0", std::nullopt},
      {"something", "", std::nullopt},
      {"", "", std::nullopt},
  };
  for (const ModelRow& row : kRows) {
    const auto model = FindGpuModel(row.name);
    EXPECT_EQ(model ? model->compute.str() : "", row.compute) << row.name;
    EXPECT_EQ(model ? model->is_data_center : std::nullopt, row.is_data_center) << row.name;
  }
}

TEST(HostFactsTest, WordsMakeAHost) {
  const auto host = FactsOfWords({"535.104.05", "8.6", "something new", "arm64"});
  ASSERT_OK(host);
  EXPECT_EQ(host->driver.str(), "535.104.05");
  EXPECT_EQ(host->architecture, "arm64");
  ASSERT_EQ(host->gpus.size(), 1U);
  EXPECT_EQ(host->gpus[0].compute, (cuda::ComputeCapability{8, 6}));
  EXPECT_EQ(host->gpus[0].is_data_center, std::nullopt);
}

TEST(HostFactsTest, WordsThatAreWrongAreNamed) {
  EXPECT_THAT(FactsOfWords({"new", "", "", ""}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--driver")));
  EXPECT_THAT(FactsOfWords({"535", "x", "", ""}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--gpu-arch")));
  EXPECT_THAT(FactsOfWords({"535", "", "something new", ""}).status(),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--gpu-arch")));
}

TEST(HostFactsTest, ASnapshotTellsDriverAndGpus) {
  device::Snapshot snapshot;
  snapshot.driver.version = "535.104.05";
  snapshot.driver.cuda_major = 12;
  snapshot.driver.cuda_minor = 2;
  device::Gpu gpu;
  gpu.name = "NVIDIA A100-SXM4-80GB";
  gpu.brand = "NVIDIA";
  snapshot.gpus = {gpu};
  const auto host = FactsOfSnapshot(snapshot, "amd64");
  ASSERT_OK(host);
  EXPECT_EQ(host->cuda, "12.2");
  ASSERT_EQ(host->gpus.size(), 1U);
  EXPECT_EQ(host->gpus[0].is_data_center, true);
  EXPECT_EQ(host->gpus[0].brand, "nvidia");
}

TEST(HostFactsTest, AHostWithoutADriverSaysWhy) {
  device::Snapshot snapshot;
  snapshot.driver.reason = "the module is not loaded";
  EXPECT_THAT(FactsOfSnapshot(snapshot, "amd64").status(),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("the module is not loaded")));
}

TEST(HostFactsTest, MachinesHaveTheNamesThatImagesUse) {
  EXPECT_EQ(ImageArchitecture("x86_64"), "amd64");
  EXPECT_EQ(ImageArchitecture("aarch64"), "arm64");
  EXPECT_EQ(ImageArchitecture("riscv64"), "riscv64");
}

}  // namespace
}  // namespace kgpu::image

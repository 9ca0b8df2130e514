#include "src/cli/program/host_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using commands::Candidate;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kInformation =
    "Model: \t\t NVIDIA A100-SXM4-80GB\nIRQ:   \t\t 0\nGPU UUID: \t GPU-0000\nDevice Minor: \t 0\n";

TEST(HostValuesTest, OffersUuidsOfTheKernel) {
  const TempDir dir;
  dir.WriteFile("proc/driver/nvidia/gpus/0000:07:00.0/information", std::string(kInformation));
  const HostSource source{.host_root = dir.path(), .run_dir = dir.At("run")};
  EXPECT_THAT(HostValuesOf(source, "GPU"),
              ElementsAre(Candidate{"GPU-0000", "NVIDIA A100-SXM4-80GB"}));
  EXPECT_THAT(HostValuesOf(source, "FILE"), IsEmpty());
}

TEST(HostValuesTest, AHostWithoutGpusOffersNone) {
  const TempDir dir;
  EXPECT_THAT(HostValuesOf({.host_root = dir.path(), .run_dir = ""}, "GPU"), IsEmpty());
  EXPECT_THAT(HostValuesOf({.host_root = dir.At("none"), .run_dir = ""}, "GPU"), IsEmpty());
}

TEST(HostValuesTest, OffersMigDevicesOfTheAgentToo) {
  const auto offered = GpusOfAgent(
      R"({"gpus": [{"index": 0, "uuid": "GPU-1", "name": "A100",
                    "migDevices": [{"uuid": "MIG-1", "profile": "1g.10gb"}]}]})");
  ASSERT_OK(offered);
  EXPECT_THAT(*offered, ElementsAre(Candidate{"0", "A100"}, Candidate{"GPU-1", "A100"},
                                    Candidate{"MIG-1", "1g.10gb"}));
  EXPECT_THAT(GpusOfAgent("[]"), StatusIs(StatusCode::kInvalidArgument));
}

TEST(HostValuesTest, OffersTheIndexesOfTheAgentNotPositions) {
  const auto offered = GpusOfAgent(
      R"({"gpus": [{"index": 1, "uuid": "GPU-1"}, {"uuid": "GPU-2"},
                   {"index": 3, "uuid": "GPU-3"}]})");
  ASSERT_OK(offered);
  EXPECT_THAT(*offered, ElementsAre(Candidate{"1", ""}, Candidate{"3", ""}, Candidate{"GPU-1", ""},
                                    Candidate{"GPU-2", ""}, Candidate{"GPU-3", ""}));
}

TEST(HostValuesTest, AFlagOfTheLineNamesTheHost) {
  const commands::TypedLine line{.words = {"validate", "--host-root", "/sim", "--run-dir=/r"},
                                 .current = ""};
  EXPECT_EQ(HostSourceOf(line, {"KGPU_HOST_ROOT=/other"}).host_root, "/sim");
  EXPECT_EQ(HostSourceOf(line, {}).run_dir, "/r");
  EXPECT_EQ(HostSourceOf({}, {"KGPU_HOST_ROOT=/other"}).host_root, "/other");
  EXPECT_EQ(HostSourceOf({}, {}).run_dir, "/run/kgpu");
}

}  // namespace
}  // namespace kgpu::cli

#include "src/node/dra/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/platform/base/stable_hash.h"
#include "testing/status_matchers.h"

namespace kgpu::dra {
namespace {

using ::testing::HasSubstr;

Checkpoint Full() {
  Checkpoint checkpoint{.boot_id = "b1"};
  PreparedDevice made{.request = "r",
                      .pool = "n1",
                      .device = "gpu-0-mig-1g10gb-19-6",
                      .cdi_ids = {"k8s.gpu.nvidia.com/claim=u1-gpu-0"},
                      .made = MadeInstance{.gpu = "GPU-1", .profile = "1g.10gb", .start = 6}};
  PreparedDevice shared{.request = "s",
                        .pool = "n1",
                        .device = "gpu-1-20gi",
                        .share_id = "s1",
                        .device_uuid = "GPU-2",
                        .slots = {"GPU-2::0", "GPU-2::1"},
                        .mps = MpsLimits{.threads = 40, .memory = GibiBytes(7)},
                        .time_slice = TimeSlice::kLong,
                        .is_admin = true};
  checkpoint.claims["u1"] = {.space = "ml", .name = "c", .devices = {made, shared}};
  checkpoint.claims["u2"] = {.space = "ml", .name = "d", .is_complete = true};
  return checkpoint;
}

// A file of another version with this state.
std::string File(std::string_view head, std::string_view state) {
  return fmt::format(R"({{{},"checksum":"{:016x}","state":{}}})", head, StableHash(state), state);
}

TEST(CheckpointTest, ReadsWhatItHasWritten) {
  const auto read = ParseCheckpoint(PrintCheckpoint(Full()));
  ASSERT_OK(read);
  EXPECT_EQ(*read, Full());
}

TEST(CheckpointTest, EveryDamageIsSeen) {
  const std::string text = PrintCheckpoint(Full());
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = damaged[at] == '7' ? '8' : '7';
    const auto read = ParseCheckpoint(damaged);
    // Another number of the version does no harm.
    EXPECT_TRUE(!read.ok() || *read == Full()) << damaged;
  }
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    EXPECT_FALSE(ParseCheckpoint(text.substr(0, length)).ok()) << length;
  }
}

TEST(CheckpointTest, LeavesOutFieldsOfLaterVersions) {
  const auto read = ParseCheckpoint(File(
      R"("version":2,"lowestReader":1)",
      R"({"bootID":"b","claims":{"u":{"namespace":"n","name":"c","complete":true,"later":1,"devices":[]}}})"));
  ASSERT_OK(read);
  EXPECT_TRUE(read->claims.at("u").is_complete);
}

TEST(CheckpointTest, RefusesWhatOnlyALaterProgramUnderstands) {
  const auto read =
      ParseCheckpoint(File(R"("version":3,"lowestReader":2)", R"({"bootID":"b","claims":{}})"));
  EXPECT_EQ(read.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(read.status())), HasSubstr("version 3"));
}

}  // namespace
}  // namespace kgpu::dra

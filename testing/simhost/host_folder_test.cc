#include "testing/simhost/host_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "testing/driver/command.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

// A host that shows the state of its boot.
class HostFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteReport report;
    CreateOptions options;
    options.folder = dir_.At("host");
    options.profile = "4xT4";
    StatusOr<HostFolder> host = HostFolder::Create(options, report);
    ASSERT_OK(host);
    ASSERT_GT(report.written, 100U);
    host_ = std::make_unique<HostFolder>(*std::move(host));
    auto state = host_->BootState();
    ASSERT_OK(state);
    state_ = *std::move(state);
  }
  bool Exists(const std::string& path) const { return access(host_->At(path).c_str(), F_OK) == 0; }

  TempDir dir_;
  std::unique_ptr<HostFolder> host_;
  std::unique_ptr<sim::SimState> state_;
};

TEST_F(HostFolderTest, WritesNothingForWhatTheTreeDoesNotShow) {
  ASSERT_OK(sim::ApplyCommand(*state_, "xid 0 48"));
  ASSERT_OK(sim::ApplyCommand(*state_, "temp 1 80"));
  // Without the manifest a look at the tree, or a write to it, would make one.
  ASSERT_TRUE(std::filesystem::remove(host_->At(kManifestFile)));
  const StatusOr<WriteReport> report = host_->Show(*state_);
  ASSERT_OK(report);
  EXPECT_EQ(report->written + report->removed, 0U);
  EXPECT_FALSE(Exists(std::string(kManifestFile)));
}

TEST_F(HostFolderTest, WritesOnlyWhatAChangeShows) {
  ASSERT_OK(sim::ApplyCommand(*state_, "lose 2"));
  const StatusOr<WriteReport> lost = host_->Show(*state_);
  ASSERT_OK(lost);
  EXPECT_EQ(lost->written, 1U);
  EXPECT_EQ(lost->removed, 0U);
}

TEST_F(HostFolderTest, ShowsTheCgroupOfAProcessThatThisMachineHas) {
  const std::string file = fmt::format("proc/{}/cgroup", getpid());
  ASSERT_OK(sim::ApplyCommand(*state_, fmt::format("process 0 {} 64", getpid())));
  ASSERT_OK(host_->Show(*state_));
  EXPECT_TRUE(Exists(file));
  ASSERT_OK(sim::ApplyCommand(*state_, fmt::format("process-end 0 {}", getpid())));
  ASSERT_OK(host_->Show(*state_));
  EXPECT_FALSE(Exists(file));
}

TEST_F(HostFolderTest, LooksAgainWhenTheTreeIsNotAsItWasLeft) {
  std::filesystem::remove_all(host_->At("sys"));
  ASSERT_OK(sim::ApplyCommand(*state_, "lose 2"));
  ASSERT_OK(host_->Show(*state_));
  EXPECT_TRUE(Exists("sys/module/nvidia/version"));
}

}  // namespace
}  // namespace kgpu::simhost

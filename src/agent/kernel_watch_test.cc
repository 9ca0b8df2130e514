#include "src/agent/kernel_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::HasSubstr;

// A host that runs 6.1.0-55 with the driver, and a disk that does everything at once.
class KernelWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile("proc/sys/kernel/osrelease", "6.1.0-55-amd64\n");
    AddKernel("6.1.0-55-amd64", "updates/dkms/nvidia.ko:");
    root_.emplace(*sys::Root::Open(dir_.path()));
  }
  void AddKernel(const std::string& release, const std::string& modules) {
    dir_.WriteFile("lib/modules/" + release + "/modules.builtin", "");
    dir_.WriteFile("lib/modules/" + release + "/modules.dep", modules + "\n");
  }
  void Start() {
    watch_.emplace(
        loop_, *root_,
        [this](const DiskWorker::Job& job, const DiskWorker::Failed&) {
          ++jobs_;
          job()();
          return true;
        },
        [this] { ++changes_; });
  }

  TempDir dir_;
  std::optional<sys::Root> root_;
  FakeLoop loop_;
  int jobs_ = 0;
  int changes_ = 0;
  std::optional<KernelWatch> watch_;
};

TEST_F(KernelWatchTest, IsSilentWhileTheNewestKernelHasTheDriver) {
  Start();
  EXPECT_EQ(watch_->problem(), "");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(jobs_, 13);
}

TEST_F(KernelWatchTest, AKernelThatCameWithoutTheDriverIsReportedOnceAndForgottenWhenItIsBuilt) {
  Start();
  AddKernel("6.1.0-56-amd64", "");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_THAT(watch_->problem(), HasSubstr("kernel 6.1.0-56-amd64 is installed"));
  EXPECT_EQ(changes_, 1);
  AddKernel("6.1.0-56-amd64", "updates/dkms/nvidia.ko:");
  loop_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(watch_->problem(), "");
  EXPECT_EQ(changes_, 2);
}

TEST_F(KernelWatchTest, AKernelThatGoesIsNoProblemAnyMore) {
  AddKernel("6.1.0-56-amd64", "");
  Start();
  EXPECT_NE(watch_->problem(), "");
  std::filesystem::remove_all(dir_.At("lib/modules/6.1.0-56-amd64"));
  loop_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(watch_->problem(), "");
}

TEST_F(KernelWatchTest, AnAnswerAfterTheEndIsForNobody) {
  DiskWorker::Done late;
  watch_.emplace(
      loop_, *root_,
      [&late](const DiskWorker::Job& job, const DiskWorker::Failed&) {
        late = job();
        return true;
      },
      [this] { ++changes_; });
  AddKernel("6.1.0-56-amd64", "");
  watch_.reset();
  late();
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace kgpu::agent

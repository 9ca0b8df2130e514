#include "src/node/watch/kernel_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/log.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::watch {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A host that runs 6.1.0-55 with the driver, and a disk that does everything at once.
class KernelWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile("proc/sys/kernel/osrelease", "6.1.0-55-amd64\n");
    AddKernel("6.1.0-55-amd64", "updates/dkms/nvidia.ko:");
    root_.emplace(*sys::Root::Open(dir_.path()));
    SetLogSink([this](LogLevel, std::string_view line) { log_.emplace_back(line); });
  }
  void TearDown() override { SetLogSink({}); }
  void AddKernel(const std::string& release, const std::string& modules) {
    dir_.WriteFile("lib/modules/" + release + "/modules.builtin", "");
    dir_.WriteFile("lib/modules/" + release + "/modules.dep", modules + "\n");
  }
  void Start() {
    watch_.emplace(loop_, *root_,
                   [this](const sys::DiskWorker::Job& job, const sys::DiskWorker::Failed&) {
                     ++jobs_;
                     job()();
                     return true;
                   });
  }
  std::string Line() const {
    node::StatusPage page;
    watch_->ShowStatus({}, page);
    return page.head;
  }

  TempDir dir_;
  std::vector<std::string> log_;
  std::optional<sys::Root> root_;
  FakeLoop loop_;
  int jobs_ = 0;
  std::optional<KernelWatch> watch_;
};

TEST_F(KernelWatchTest, IsSilentWhileTheNewestKernelHasTheDriver) {
  Start();
  EXPECT_EQ(Line(), "");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(jobs_, 13);
}

TEST_F(KernelWatchTest, AKernelThatCameWithoutTheDriverIsReportedOnceAndForgottenWhenItIsBuilt) {
  Start();
  AddKernel("6.1.0-56-amd64", "");
  loop_.Advance(std::chrono::hours(1));
  EXPECT_THAT(Line(), HasSubstr("kernel    kernel 6.1.0-56-amd64 is installed"));
  EXPECT_THAT(log_, SizeIs(1));
  metrics::Exposition page;
  watch_->WriteSeries({}, page);
  EXPECT_THAT(page.text(), HasSubstr("\nkgpu_next_kernel_ok 0\n"));
  AddKernel("6.1.0-56-amd64", "updates/dkms/nvidia.ko:");
  loop_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(Line(), "");
}

TEST_F(KernelWatchTest, AKernelThatGoesIsNoProblemAnyMore) {
  AddKernel("6.1.0-56-amd64", "");
  Start();
  EXPECT_NE(Line(), "");
  std::filesystem::remove_all(dir_.At("lib/modules/6.1.0-56-amd64"));
  loop_.Advance(std::chrono::minutes(5));
  EXPECT_EQ(Line(), "");
}

TEST_F(KernelWatchTest, AnAnswerAfterTheEndIsForNobody) {
  sys::DiskWorker::Done late;
  AddKernel("6.1.0-56-amd64", "");
  watch_.emplace(loop_, *root_,
                 [&late](const sys::DiskWorker::Job& job, const sys::DiskWorker::Failed&) {
                   late = job();
                   return true;
                 });
  watch_.reset();
  late();
}

}  // namespace
}  // namespace kgpu::watch

#include "src/agent/privilege_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A container whose host lacks nothing but /proc, which comes and goes.
class PrivilegeWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"dev", "sys", "usr", "etc", "run", "boot", "var/log/pods"}) {
      dir_.MakeDir(folder);
    }
    options_.kubelet_dir = options_.state_dir = dir_.path();
    root_.emplace(*sys::Root::Open(dir_.path()));
  }
  void Start() {
    watch_.emplace(
        loop_, *root_, options_,
        [this](const sys::DiskWorker::Job& job, const sys::DiskWorker::Failed&) {
          late_ = job();
          if (!is_slow_) {
            late_();
          }
          return true;
        },
        [this] { ++changes_; });
  }

  TempDir dir_;
  AgentOptions options_;
  std::optional<sys::Root> root_;
  FakeLoop loop_;
  bool is_slow_ = false;
  sys::DiskWorker::Done late_;
  int changes_ = 0;
  std::optional<PrivilegeWatch> watch_;
};

TEST_F(PrivilegeWatchTest, ReportsAChangeOnce) {
  dir_.MakeDir("proc");
  Start();
  EXPECT_THAT(watch_->missing(), IsEmpty());
  EXPECT_EQ(changes_, 0);
  std::filesystem::remove(dir_.At("proc"));
  loop_.Advance(std::chrono::hours(1));
  ASSERT_THAT(watch_->missing(), SizeIs(1));
  EXPECT_THAT(watch_->missing()[0].what, HasSubstr("/proc"));
  EXPECT_EQ(changes_, 1);
}

TEST_F(PrivilegeWatchTest, LooksAgainWhenItIsAsked) {
  Start();
  EXPECT_THAT(watch_->missing(), SizeIs(1));
  dir_.MakeDir("proc");
  watch_->Look();
  EXPECT_THAT(watch_->missing(), IsEmpty());
  EXPECT_EQ(changes_, 2);
}

TEST_F(PrivilegeWatchTest, AnAnswerAfterTheEndIsForNobody) {
  is_slow_ = true;
  Start();
  watch_.reset();
  late_();
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace kgpu::agent

#include "src/gpu/health/kernel_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/sys/read_fd.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::health {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A pipe as the kernel's log: it can be polled as the device can.
class KernelLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.MakeDir("dev");
    root_ = std::make_unique<sys::Root>(*sys::Root::Open(dir_.path()));
    log_ = std::make_unique<KernelLog>(loop_, *root_, [this](const KernelFault& fault) {
      codes_.push_back(fault.code);
      if (codes_.size() == stop_after_) {
        log_->Stop();
      }
    });
  }
  void MakePipe() {
    ASSERT_EQ(mkfifo(dir_.At("dev/kmsg").c_str(), 0600), 0);
    // Read and write: as long as it is open the pipe has both ends.
    writer_ = UniqueFd(open(dir_.At("dev/kmsg").c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    ASSERT_TRUE(writer_.is_valid());
  }
  void Write(std::string_view text) {
    ASSERT_OK(sys::WriteAll(writer_.get(), text));
    loop_.RunUntilIdle();
  }

  TempDir dir_;
  FakeLoop loop_;
  std::unique_ptr<sys::Root> root_;
  std::unique_ptr<KernelLog> log_;
  UniqueFd writer_;
  std::vector<uint64_t> codes_;
  size_t stop_after_ = 0;
};

TEST_F(KernelLogTest, TellsOfFaultsAsTheyComeAndOfNothingElse) {
  MakePipe();
  log_->Start();
  Write("6,1,1,-;NVRM: loading\n4,2,2,-;NVRM: Xid (PCI:0000:07:00): 79, x\n SUBSYSTEM=pci\n");
  Write("4,3,3,-;NVRM: Xid (PCI:0000:07:00): 48, y\n");
  EXPECT_THAT(codes_, ElementsAre(79, 48));
  EXPECT_THAT(log_->problem(), IsEmpty());
}

TEST_F(KernelLogTest, KnowsTheRecordOfTheLastFault) {
  MakePipe();
  log_->Start();
  Write("4,7,2,-;NVRM: Xid (PCI:0000:07:00): 79, x\n4,8,3,-;another\n");
  EXPECT_EQ(log_->position(), 7U);
}

TEST_F(KernelLogTest, ALineMayComeInPieces) {
  MakePipe();
  log_->Start();
  Write("4,2,2,-;NVRM: Xid (PCI:00");
  EXPECT_THAT(codes_, IsEmpty());
  Write("00:07:00): 79, x\n4,3,3,-;NVRM: Xid (PCI:0000:07:00): 6");
  Write("2, y\n");
  EXPECT_THAT(codes_, ElementsAre(79, 62));
}

TEST_F(KernelLogTest, ALineWithoutEndCostsNoMemory) {
  MakePipe();
  log_->Start();
  for (int i = 0; i < 100; ++i) {
    Write(std::string(4000, 'x'));
  }
  Write("\n4,3,3,-;NVRM: Xid (PCI:0000:07:00): 48, y\n");
  EXPECT_THAT(codes_, ElementsAre(48));
}

TEST_F(KernelLogTest, ALogThatIsNotThereIsTriedAgain) {
  log_->Start();
  EXPECT_THAT(log_->problem(), HasSubstr("/dev/kmsg"));
  MakePipe();
  loop_.Advance(seconds(30));
  EXPECT_THAT(log_->problem(), IsEmpty());
  Write("4,3,3,-;NVRM: Xid (PCI:0000:07:00): 48, y\n");
  EXPECT_THAT(codes_, ElementsAre(48));
}

TEST_F(KernelLogTest, AFileThatCannotBeFollowedIsAProblem) {
  dir_.WriteFile("dev/kmsg", "4,3,3,-;NVRM: Xid (PCI:0000:07:00): 48, y\n");
  log_->Start();
  loop_.RunUntilIdle();
  EXPECT_THAT(codes_, IsEmpty());
  EXPECT_EQ(loop_.timers(), 1U);
}

TEST_F(KernelLogTest, WhenItsWriterEndsItIsOpenedAgain) {
  MakePipe();
  log_->Start();
  writer_.Reset();
  loop_.RunUntilIdle();
  EXPECT_THAT(log_->problem(), HasSubstr("nothing writes"));
  EXPECT_EQ(loop_.watches(), 0U);
}

TEST_F(KernelLogTest, MayBeStoppedByItsListener) {
  MakePipe();
  stop_after_ = 1;
  log_->Start();
  Write("4,2,2,-;NVRM: Xid (PCI:0000:07:00): 79, x\n4,3,3,-;NVRM: Xid (PCI:0000:07:00): 48, y\n");
  EXPECT_THAT(codes_, ElementsAre(79));
  EXPECT_EQ(loop_.watches(), 0U);
  EXPECT_EQ(loop_.timers(), 0U);
}

// The device itself, where this machine lets us read it: it can be polled, and what was
// there before gives its number and nothing else.
TEST_F(KernelLogTest, FollowsTheRealDevice) {
  const UniqueFd probe(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!probe.is_valid()) {
    GTEST_SKIP() << "/dev/kmsg cannot be read here";
  }
  const sys::Root real = *sys::Root::Open("/");
  auto loop = *EpollLoop::Create();
  KernelLog log(*loop, real, [this](const KernelFault& fault) { codes_.push_back(fault.code); });
  log.Start();
  EXPECT_THAT(log.problem(), IsEmpty());
  for (int i = 0; i < 1000 && !log.position(); ++i) {
    loop->After(seconds(0), [&] { loop->Quit(); });
    loop->Run();
  }
  EXPECT_TRUE(log.position().has_value());
  EXPECT_THAT(codes_, IsEmpty());
}

}  // namespace
}  // namespace kgpu::health

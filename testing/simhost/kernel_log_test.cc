#include "testing/simhost/kernel_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "testing/driver/faults.h"
#include "testing/driver/gpus.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A host of one GPU at 0000:07:00.
class KernelLogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sim::SimGpu gpu = {};
    gpu.pci.bus = 7;
    gpu.minor = 0;
    (void)sim::SetText(gpu.uuid, sizeof(gpu.uuid), "uuid", "GPU-1");
    ASSERT_OK(sim::AddGpu(*now_, gpu));
    before_ = std::make_unique<sim::SimState>(*now_);
    ASSERT_OK(log_.Make());
  }
  UniqueFd Reader() const {
    return UniqueFd(open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }
  static std::string ReadAll(const UniqueFd& fd) {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t size = 0; (size = read(fd.get(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<size_t>(size));
    }
    return text;
  }
  void Inject(uint32_t xid, sim::XidTarget target = {}) {
    *before_ = *now_;
    ASSERT_OK(sim::InjectXid(*now_, 0, xid, target));
  }

  TempDir dir_;
  std::string path_ = dir_.At("kmsg");
  std::unique_ptr<sim::SimState> now_ = sim::NewState();
  std::unique_ptr<sim::SimState> before_;
  KernelLog log_{path_};
};

TEST_F(KernelLogTest, WritesAnXidAsTheModuleDoes) {
  const UniqueFd reader = Reader();
  Inject(79);
  log_.Notify(*before_, *now_);
  const std::string text = ReadAll(reader);
  EXPECT_THAT(text, AllOf(StartsWith("4,0,"), HasSubstr(",-;NVRM: GPU at PCI:0000:07:00: GPU-1\n"),
                          EndsWith(",-;NVRM: Xid (PCI:0000:07:00): 79, pid='<unknown>', "
                                   "name=<unknown>, GPU has fallen off the bus.\n")));
}

TEST_F(KernelLogTest, NamesTheInstanceOfAnXidOnIt) {
  Inject(31, {.gpu_instance = 2, .compute_instance = 0});
  EXPECT_THAT(XidLine(now_->gpus[0], now_->events[0]),
              StartsWith("Xid (PCI:0000:07:00 GPU-I:02 GPU-CI:00): 31, "));
}

TEST_F(KernelLogTest, AReaderGetsWhatComesAfterItWasOpened) {
  Inject(48);
  log_.Notify(*before_, *now_);
  UniqueFd reader = Reader();
  Inject(79);
  log_.Notify(*before_, *now_);
  EXPECT_THAT(ReadAll(reader), AllOf(Not(HasSubstr("): 48,")), HasSubstr("): 79,")));
  reader.Reset();
  Inject(94);
  log_.Notify(*before_, *now_);
  reader = Reader();
  Inject(95);
  log_.Notify(*before_, *now_);
  EXPECT_THAT(ReadAll(reader), AllOf(Not(HasSubstr("): 94,")), HasSubstr("): 95,")));
}

TEST_F(KernelLogTest, SkipsWhatTheDriverAloneTells) {
  const UniqueFd reader = Reader();
  Inject(48);
  log_.SkipNext();
  log_.Notify(*before_, *now_);
  EXPECT_EQ(ReadAll(reader), "");
  Inject(79);
  log_.Notify(*before_, *now_);
  EXPECT_THAT(ReadAll(reader), HasSubstr("): 79,"));
}

TEST_F(KernelLogTest, AStormThatNobodyReadsIsDropped) {
  const UniqueFd reader = Reader();
  for (int i = 0; i < 100; ++i) {
    *before_ = *now_;
    for (int k = 0; k < 200; ++k) {
      ASSERT_OK(sim::InjectXid(*now_, 0, 79));
    }
    log_.Notify(*before_, *now_);
  }
  EXPECT_THAT(ReadAll(reader), AllOf(StartsWith("4,0,"), EndsWith("bus.\n")));
}

}  // namespace
}  // namespace kgpu::simhost

#include "src/node/slices/slice_publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "testing/elf_library.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

using std::chrono::seconds;

class SlicePublisherTest : public ::testing::Test {
 protected:
  SlicePublisherTest() {
    dir_.WriteFile("lib.so", ElfLibrary("x"));
    publisher_ = std::make_unique<SlicePublisher>(
        loop_,
        [this](std::function<std::function<void()>()> job,
               const std::function<void(const Status&)>&) {
          ++jobs_;
          if (is_full_) {
            return false;
          }
          results_.push_back(job());
          return true;
        },
        slices::SliceFilesOptions{
            .library = dir_.At("lib.so"), .folder = dir_.At("share"), .engine_folder = "/s"},
        [this] { ++changes_; });
  }
  static std::vector<slices::SliceSlot> Slots(const char* id) {
    return {{.id = id, .device_uuid = "GPU-a", .memory = GibiBytes(20)}};
  }
  void Finish() {
    const auto results = std::exchange(results_, {});
    for (const auto& result : results) {
      result();
    }
  }

  TempDir dir_;
  FakeLoop loop_;
  std::vector<std::function<void()>> results_;
  int jobs_ = 0;
  int changes_ = 0;
  bool is_full_ = false;
  std::unique_ptr<SlicePublisher> publisher_;
};

TEST_F(SlicePublisherTest, WritesOncePerChange) {
  publisher_->Set({});
  EXPECT_EQ(jobs_, 0);
  publisher_->Set(Slots("GPU-a::0"));
  EXPECT_FALSE(publisher_->paths());
  Finish();
  ASSERT_TRUE(publisher_->paths());
  ASSERT_OK(*publisher_->paths());
  EXPECT_EQ(changes_, 1);
  publisher_->Set(Slots("GPU-a::0"));
  EXPECT_EQ(jobs_, 1);
}

TEST_F(SlicePublisherTest, LooksOnceAMinuteWhetherTheFilesAreStillThere) {
  publisher_->Set(Slots("GPU-a::0"));
  Finish();
  for (int minute = 0; minute < 60; ++minute) {
    loop_.Advance(seconds(60));
    Finish();
  }
  EXPECT_EQ(jobs_, 61);
  EXPECT_EQ(changes_, 1) << "nothing has changed";
  std::filesystem::remove_all(dir_.At("share"));
  loop_.Advance(seconds(60));
  Finish();
  EXPECT_NE(dir_.ReadFile("share/ld.so.preload"), "");
  publisher_->Set({});
  loop_.Advance(std::chrono::hours(1));
  EXPECT_EQ(jobs_, 62) << "no slots, no work";
}

TEST_F(SlicePublisherTest, AnAnswerAboutEarlierSlotsIsIgnored) {
  publisher_->Set(Slots("GPU-a::0"));
  const auto late = std::exchange(results_, {});
  publisher_->Set(Slots("GPU-a::1"));
  late.front()();
  EXPECT_FALSE(publisher_->paths());
  Finish();
  EXPECT_TRUE(publisher_->paths());
}

TEST_F(SlicePublisherTest, TriesAgainAfterAFailure) {
  std::filesystem::remove(dir_.At("lib.so"));
  publisher_->Set(Slots("GPU-a::0"));
  Finish();
  EXPECT_NE(publisher_->problem(), "");
  EXPECT_EQ(changes_, 1);
  loop_.Advance(seconds(31));
  Finish();
  EXPECT_EQ(changes_, 1) << "the same problem is no change";
  dir_.WriteFile("lib.so", ElfLibrary("x"));
  loop_.Advance(seconds(31));
  Finish();
  EXPECT_EQ(publisher_->problem(), "");
  EXPECT_EQ(changes_, 2);
}

TEST_F(SlicePublisherTest, NewTenantsGetNewLedgersOnce) {
  publisher_->Set(Slots("GPU-a::0"));
  Finish();
  const std::string ledger = dir_.At("share/GPU-a_0.ledger");
  std::filesystem::create_hard_link(ledger, dir_.At("first"));
  publisher_->Set(Slots("GPU-a::0"));
  EXPECT_EQ(jobs_, 1);
  std::filesystem::remove(dir_.At("lib.so"));
  publisher_->Set(Slots("GPU-a::0"), {"GPU-a::0"});
  Finish();
  EXPECT_TRUE(std::filesystem::equivalent(ledger, dir_.At("first"))) << "it could not be done";
  dir_.WriteFile("lib.so", ElfLibrary("x"));
  loop_.Advance(seconds(31));
  Finish();
  EXPECT_FALSE(std::filesystem::equivalent(ledger, dir_.At("first")));
  std::filesystem::create_hard_link(ledger, dir_.At("second"));
  loop_.Advance(seconds(61));
  Finish();
  EXPECT_TRUE(std::filesystem::equivalent(ledger, dir_.At("second"))) << "it is the tenant's now";
}

TEST_F(SlicePublisherTest, WaitsForAFullQueueAndOutlivesItsEnd) {
  is_full_ = true;
  publisher_->Set(Slots("GPU-a::0"));
  is_full_ = false;
  loop_.Advance(seconds(31));
  ASSERT_EQ(results_.size(), 1U);
  publisher_.reset();
  Finish();
  EXPECT_EQ(changes_, 0);
}

}  // namespace
}  // namespace kgpu::slices

#include "src/node/inventory/triggers.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "src/node/inventory/test_host.h"
#include "testing/fake_loop.h"

namespace kgpu::inventory {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class TriggersTest : public ::testing::Test {
 protected:
  TriggersTest()
      : root_(host_.Open()),
        triggers_(loop_, root_.host, {}, [this] { ++changes_; }, [this] { ++polls_; }) {}

  TestHost host_;
  host::DriverRoot root_;
  FakeLoop loop_;
  int changes_ = 0;
  int polls_ = 0;
  Triggers triggers_;
};

TEST_F(TriggersTest, AreQuietWhileNothingChanges) {
  loop_.Advance(milliseconds(29999));
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(polls_, 0);
  loop_.Advance(seconds(31));
  EXPECT_EQ(changes_, 0);
  EXPECT_EQ(polls_, 2);
}

TEST_F(TriggersTest, ANodeOfNvidiasIsReportedAtOnceAndAgainAWhile) {
  host_.AddNode(3);
  loop_.RunUntilIdle();
  loop_.Advance(milliseconds(2));
  EXPECT_EQ(changes_, 1);
  loop_.Advance(milliseconds(900));
  EXPECT_EQ(changes_, 4);
}

TEST_F(TriggersTest, SeveralNodesAtATimeAreOneChange) {
  host_.AddNode(3);
  host_.AddNode(4);
  loop_.RunUntilIdle();
  host_.RemoveNode(3);
  loop_.RunUntilIdle();
  loop_.Advance(milliseconds(2));
  EXPECT_EQ(changes_, 1);
}

TEST_F(TriggersTest, CompanionsAreReportedAtOnce) {
  int before = 0;
  for (const std::string node : {"nvidia-fs0", "gdrdrv", "infiniband"}) {
    host_.dir().WriteFile("dev/" + node, "");
    loop_.RunUntilIdle();
    loop_.Advance(milliseconds(2));
    EXPECT_GT(changes_, before) << node;
    loop_.Advance(seconds(2));
    before = changes_;
  }
}

TEST_F(TriggersTest, AChannelInItsFolderIsReportedWithinTwoSeconds) {
  const std::string folder = "dev/nvidia-caps-imex-channels";
  host_.dir().MakeDir(folder);
  // Any time but this moment's, which the channel may have too.
  std::filesystem::last_write_time(
      host_.dir().At(folder),
      std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  loop_.RunUntilIdle();
  loop_.Advance(seconds(3));
  const int before = changes_;
  host_.dir().WriteFile(folder + "/channel0", "");
  loop_.Advance(seconds(1));
  EXPECT_EQ(changes_, before + 1);
}

TEST_F(TriggersTest, OtherNodesAreNotOurs) {
  host_.dir().WriteFile("dev/sda", "");
  loop_.RunUntilIdle();
  loop_.Advance(milliseconds(100));
  EXPECT_EQ(changes_, 0);
}

TEST_F(TriggersTest, AnInstanceThatAppearsInProcIsReportedWithinTwoSeconds) {
  host_.dir().MakeDir("proc/driver/nvidia/capabilities/gpu0/mig/gi7/ci0");
  loop_.Advance(seconds(2));
  EXPECT_EQ(changes_, 1);
  loop_.Advance(seconds(10));
  EXPECT_EQ(changes_, 1);
}

TEST_F(TriggersTest, WhatAFullLookMetAndThenWentIsReported) {
  const char* instance = "proc/driver/nvidia/capabilities/gpu0/mig/gi7";
  host_.dir().MakeDir(instance);
  triggers_.OnFullLook();
  std::filesystem::remove_all(host_.dir().At("proc/driver/nvidia/capabilities/gpu0/mig"));
  loop_.Advance(seconds(2));
  EXPECT_EQ(changes_, 1);
}

}  // namespace
}  // namespace kgpu::inventory

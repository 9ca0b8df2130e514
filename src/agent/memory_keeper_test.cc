#include "src/agent/memory_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using std::chrono::milliseconds;

class MemoryKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override { loop_.Advance(milliseconds(50)); }
  std::string Kept() const { return dir_.ReadFile("memory"); }

  TempDir dir_;
  FakeLoop loop_;
  std::string now_;
  int printed_ = 0;
  int problems_ = 0;
  MemoryKeeper keeper_{loop_, dir_.At("memory"),
                       [this] {
                         ++printed_;
                         return now_;
                       },
                       [this] { ++problems_; }};
};

TEST_F(MemoryKeeperTest, AChangeIsWrittenAtOnceButNotFromWithinIt) {
  now_ = "a";
  keeper_.Note();
  EXPECT_EQ(printed_, 0);
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(Kept(), "a");
}

TEST_F(MemoryKeeperTest, ChangesThatFollowAreWrittenTogether) {
  keeper_.Note();
  for (int i = 0; i < 1000; ++i) {
    now_ += "x";
    keeper_.Note();
    loop_.Advance(milliseconds(1));
  }
  EXPECT_LE(printed_, 22);
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(Kept(), std::string(1000, 'x'));
}

TEST_F(MemoryKeeperTest, WhatFollowsUnnoticedIsWrittenToo) {
  now_ = "driver";
  keeper_.Note();
  loop_.Advance(milliseconds(0));
  now_ = "driver, kernel";
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(Kept(), "driver, kernel");
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(loop_.timers(), 0U) << "nothing changes: nothing is done";
}

TEST_F(MemoryKeeperTest, AStartIsNotHeldUp) {
  MemoryKeeper young(loop_, dir_.At("young"), [] { return "a"; }, [] {});
  young.Note();
  loop_.Advance(milliseconds(49));
  EXPECT_EQ(dir_.ReadFile("young"), "");
  young.Flush();
  EXPECT_EQ(dir_.ReadFile("young"), "a");
}

TEST_F(MemoryKeeperTest, WhatCanNotBeWrittenIsToldAndTriedAgain) {
  dir_.MakeDir("memory/in-the-way");  // no file can take the place of a folder
  now_ = "a";
  keeper_.Note();
  loop_.Advance(milliseconds(0));
  EXPECT_THAT(keeper_.problem(), ::testing::HasSubstr("make room"));
  EXPECT_EQ(problems_, 1);
  const int printed = printed_;
  loop_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(problems_, 1) << "the same problem is told once";
  EXPECT_LE(printed_, printed + 60);
  std::filesystem::remove_all(dir_.At("memory"));
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(Kept(), "a");
  EXPECT_EQ(keeper_.problem(), "");
  EXPECT_EQ(problems_, 2);
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::agent

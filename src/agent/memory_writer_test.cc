#include "src/agent/memory_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using std::chrono::milliseconds;

class MemoryWriterTest : public ::testing::Test {
 protected:
  void SetUp() override { loop_.Advance(milliseconds(50)); }
  std::string Kept() const { return dir_.ReadFile("memory"); }

  TempDir dir_;
  FakeLoop loop_;
  std::string now_;
  int printed_ = 0;
  int problems_ = 0;
  MemoryWriter writer_{loop_, dir_.At("memory"),
                       [this] {
                         ++printed_;
                         return now_;
                       },
                       [this] { ++problems_; }};
};

TEST_F(MemoryWriterTest, AChangeIsWrittenAtOnceButNotFromWithinIt) {
  now_ = "a";
  writer_.Note();
  EXPECT_EQ(printed_, 0);
  loop_.Advance(milliseconds(0));
  EXPECT_EQ(Kept(), "a");
}

TEST_F(MemoryWriterTest, ChangesThatFollowAreWrittenTogether) {
  writer_.Note();
  for (int i = 0; i < 1000; ++i) {
    now_ += "x";
    writer_.Note();
    loop_.Advance(milliseconds(1));
  }
  EXPECT_LE(printed_, 22);
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(Kept(), std::string(1000, 'x'));
}

TEST_F(MemoryWriterTest, WhatFollowsUnnoticedIsWrittenToo) {
  now_ = "driver";
  writer_.Note();
  loop_.Advance(milliseconds(0));
  now_ = "driver, kernel";
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(Kept(), "driver, kernel");
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(loop_.timers(), 0U) << "nothing changes: nothing is done";
}

TEST_F(MemoryWriterTest, AStartIsNotHeldUp) {
  MemoryWriter young(loop_, dir_.At("young"), [] { return "a"; }, [] {});
  young.Note();
  loop_.Advance(milliseconds(49));
  EXPECT_EQ(dir_.ReadFile("young"), "");
  young.Flush();
  EXPECT_EQ(dir_.ReadFile("young"), "a");
}

TEST_F(MemoryWriterTest, WhatCannotBeWrittenIsReportedAndTriedAgain) {
  dir_.MakeDir("memory/in-the-way");  // no file can take the place of a folder
  now_ = "a";
  writer_.Note();
  loop_.Advance(milliseconds(0));
  EXPECT_THAT(writer_.problem(), ::testing::HasSubstr("free disk space"));
  EXPECT_EQ(problems_, 1);
  const int printed = printed_;
  loop_.Advance(std::chrono::minutes(10));
  EXPECT_EQ(problems_, 1) << "the same problem is reported once";
  EXPECT_LE(printed_, printed + 60);
  std::filesystem::remove_all(dir_.At("memory"));
  loop_.Advance(std::chrono::seconds(10));
  EXPECT_EQ(Kept(), "a");
  EXPECT_EQ(writer_.problem(), "");
  EXPECT_EQ(problems_, 2);
  loop_.Advance(milliseconds(50));
  EXPECT_EQ(loop_.timers(), 0U);
}

}  // namespace
}  // namespace kgpu::agent

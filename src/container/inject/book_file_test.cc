#include "src/container/inject/book_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::inject {
namespace {

using ::testing::HasSubstr;

class BookFileTest : public ::testing::Test {
 protected:
  BookFileTest() : root_(sys::Root::Open(dir_.path()).value()) { dir_.MakeDir("run"); }

  static Book BookOf(const std::string& driver_version) {
    Book book;
    book.driver_version = driver_version;
    return book;
  }

  TempDir dir_;
  sys::Root root_;
};

TEST_F(BookFileTest, WhatIsWrittenIsRead) {
  EXPECT_THAT(WriteBook(root_, BookOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_THAT(ReadBook(root_), IsOkAndHolds(BookOf("535.104.05")));
}

TEST_F(BookFileTest, ABookThatIsRightIsLeftAlone) {
  EXPECT_THAT(WriteBook(root_, BookOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_THAT(WriteBook(root_, BookOf("535.104.05")), IsOkAndHolds(false));
  EXPECT_THAT(WriteBook(root_, BookOf("550.54.15")), IsOkAndHolds(true));
}

TEST_F(BookFileTest, EverybodyMayRead) {
  EXPECT_THAT(WriteBook(root_, BookOf("535.104.05")), IsOkAndHolds(true));
  struct stat status{};
  ASSERT_EQ(stat(dir_.At("run/kgpu/injection.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  ASSERT_EQ(stat(dir_.At("run/kgpu").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0755U, 0755U);
}

TEST_F(BookFileTest, LinksAreFollowedBelowTheRoot) {
  dir_.MakeDir("real");
  std::filesystem::remove(dir_.At("run"));
  std::filesystem::create_symlink("/real", dir_.At("run"));
  EXPECT_THAT(WriteBook(root_, BookOf("535.104.05")), IsOkAndHolds(true));
  EXPECT_TRUE(std::filesystem::exists(dir_.At("real/kgpu/injection.json")));
}

TEST_F(BookFileTest, NoBookIsNotFound) {
  EXPECT_THAT(ReadBook(root_),
              StatusIs(StatusCode::kNotFound, HasSubstr("run/kgpu/injection.json")));
}

TEST_F(BookFileTest, AHostWithoutRunIsAnError) {
  std::filesystem::remove(dir_.At("run"));
  EXPECT_FALSE(WriteBook(root_, BookOf("535.104.05")).ok());
}

}  // namespace
}  // namespace kgpu::inject

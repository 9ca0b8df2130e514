// Marks on open files that go from process to process.
#include "src/preload/file_tag.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/platform/base/unique_fd.h"

namespace kgpu::preload {
namespace {

constexpr FileTag kTag{.name = (uint64_t{1} << 61) + 12345, .size = 1048576000};

// As the driver's descriptors are: all of one device node.
UniqueFd OpenNode() {
  return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

TEST(FileTagTest, GoesWithTheDescriptionAndNotWithTheFile) {
  const UniqueFd file = OpenNode();
  const UniqueFd other = OpenNode();
  FileTag found{};
  EXPECT_FALSE(ReadFileTag(file.get(), &found));
  ASSERT_TRUE(TagFile(file.get(), kTag));
  ASSERT_TRUE(ReadFileTag(file.get(), &found));
  EXPECT_EQ(found.name, kTag.name);
  EXPECT_EQ(found.size, kTag.size);
  EXPECT_FALSE(ReadFileTag(other.get(), &found)) << "it is the same node";
  const UniqueFd copy(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  EXPECT_TRUE(ReadFileTag(copy.get(), &found));
  EXPECT_TRUE(TagFile(other.get(), kTag)) << "the same memory may have two descriptors";
  EXPECT_TRUE(ReadFileTag(other.get(), &found));
}

TEST(FileTagTest, TheSameTagTwiceIsOne) {
  const UniqueFd file = OpenNode();
  FileTag found{};
  ASSERT_TRUE(TagFile(file.get(), kTag));
  ASSERT_TRUE(TagFile(file.get(), kTag));
  ASSERT_TRUE(ReadFileTag(file.get(), &found));
  EXPECT_EQ(found.size, kTag.size);
}

TEST(FileTagTest, LocksOfOthersAreNoTags) {
  const UniqueFd file = OpenNode();
  FileTag found{};
  struct flock lock = {};
  lock.l_type = F_RDLCK;
  lock.l_start = 100;
  lock.l_len = 50;
  ASSERT_EQ(fcntl(file.get(), F_OFD_SETLK, &lock), 0);
  EXPECT_FALSE(ReadFileTag(file.get(), &found));
  ASSERT_TRUE(TagFile(file.get(), kTag));
  EXPECT_TRUE(ReadFileTag(file.get(), &found));
  ASSERT_TRUE(TagFile(file.get(), {.name = MakeTagName(1), .size = 1}));
  EXPECT_FALSE(ReadFileTag(file.get(), &found)) << "two names are none";
}

TEST(FileTagTest, RefusesWhatCannotBe) {
  FileTag found{};
  EXPECT_FALSE(ReadFileTag(-1, &found));
  EXPECT_FALSE(TagFile(-1, kTag));
  EXPECT_FALSE(TagFile(OpenNode().get(), {.name = kTag.name, .size = 0}));
  EXPECT_FALSE(TagFile(OpenNode().get(), {.name = kTag.name, .size = uint64_t{1} << 50}));
  const UniqueFd largest = OpenNode();
  ASSERT_TRUE(
      TagFile(largest.get(), {.name = MakeTagName(UINT64_MAX), .size = (uint64_t{1} << 50) - 1}));
  ASSERT_TRUE(ReadFileTag(largest.get(), &found));
  EXPECT_EQ(found.name, MakeTagName(UINT64_MAX));
}

}  // namespace
}  // namespace kgpu::preload

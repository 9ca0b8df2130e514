#include "src/host/inspect/ldcache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/host_files.h"
#include "testing/status_matchers.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<CacheLine> Lines() {
  return {
      {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", kCacheX8664, 0},
      {"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", kCacheI386, 0},
      {"libc.so.6", "/usr/lib/aarch64-linux-gnu/libc.so.6", kCacheAarch64, 0},
      {"libm.so.6", "/usr/lib/glibc-hwcaps/x86-64-v3/libm.so.6", kCacheX8664, uint64_t{1} << 62},
  };
}

std::vector<LdCacheEntry> Expected() {
  return {
      {"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", ElfMachine::kX86_64, false},
      {"libcuda.so.1", "/usr/lib/i386-linux-gnu/libcuda.so.1", ElfMachine::kI386, false},
      {"libc.so.6", "/usr/lib/aarch64-linux-gnu/libc.so.6", ElfMachine::kAarch64, false},
      {"libm.so.6", "/usr/lib/glibc-hwcaps/x86-64-v3/libm.so.6", ElfMachine::kX86_64, true},
  };
}

TEST(LdCacheTest, ReadsNewFormat) {
  EXPECT_THAT(ParseLdCache(MakeLdCache(Lines())), IsOkAndHolds(Expected()));
}

TEST(LdCacheTest, ReadsNewFormatBehindTheOldTable) {
  EXPECT_THAT(ParseLdCache(MakeLdCache(Lines(), /*has_old_table=*/true)), IsOkAndHolds(Expected()));
}

TEST(LdCacheTest, LeavesOutEntriesThatAreNotForLibc6) {
  EXPECT_THAT(ParseLdCache(MakeLdCache({{"libc.so.5", "/lib/libc.so.5", 0x0002, 0}})),
              IsOkAndHolds(IsEmpty()));
}

TEST(LdCacheTest, NamesForeignArchitecturesUnknown) {
  const auto entries = ParseLdCache(MakeLdCache({{"libc.so.6", "/lib/libc.so.6", 0x0503, 0}}));
  ASSERT_OK(entries);
  EXPECT_THAT(*entries, ElementsAre(LdCacheEntry{"libc.so.6", "/lib/libc.so.6"}));
}

TEST(LdCacheTest, RejectsForeignMagic) {
  EXPECT_THAT(ParseLdCache("not a cache"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("run ldconfig")));
  EXPECT_THAT(ParseLdCache(""), StatusIs(StatusCode::kInvalidArgument));
}

TEST(LdCacheTest, RejectsOldTableAlone) {
  EXPECT_THAT(ParseLdCache(std::string("ld.so-1.7.0\0\0\0\0\0", 16)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("glibc before 2.2")));
}

TEST(LdCacheTest, RejectsMoreEntriesThanBytes) {
  std::string bytes = MakeLdCache(Lines());
  bytes[20] = '\xff';
  bytes[23] = '\x7f';
  EXPECT_THAT(ParseLdCache(bytes), StatusIs(StatusCode::kInvalidArgument, HasSubstr("claims")));
}

TEST(LdCacheTest, RejectsEntryBeyondEndOfFile) {
  std::string bytes = MakeLdCache(Lines());
  bytes[48 + 24 + 10] = '\x7f';  // the second entry's path
  EXPECT_THAT(ParseLdCache(bytes),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("entry 1 points beyond")));
}

TEST(LdCacheTest, RejectsStringWithoutEnd) {
  std::string bytes = MakeLdCache(Lines());
  bytes.pop_back();
  EXPECT_THAT(ParseLdCache(bytes), StatusIs(StatusCode::kInvalidArgument, HasSubstr("entry 3")));
}

TEST(LdCacheTest, RejectsBigEndianCache) {
  std::string bytes = MakeLdCache(Lines());
  bytes[28] = 3;
  EXPECT_THAT(ParseLdCache(bytes), StatusIs(StatusCode::kInvalidArgument, HasSubstr("byte order")));
}

TEST(LdCacheTest, SurvivesEveryTruncation) {
  const std::string bytes = MakeLdCache(Lines(), /*has_old_table=*/true);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THAT(ParseLdCache(bytes.substr(0, size)), StatusIs(StatusCode::kInvalidArgument))
        << size;
  }
}

}  // namespace
}  // namespace kgpu::host

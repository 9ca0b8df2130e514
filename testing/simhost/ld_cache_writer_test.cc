#include "testing/simhost/ld_cache_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>

#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::HasSubstr;

// What the C library's own tool reads from `cache`.
std::string Ldconfig(const std::string& cache) {
  const TempDir dir;
  dir.WriteFile("cache", cache);
  const std::string command = "/sbin/ldconfig -p -C " + dir.At("cache") + " 2>&1";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "re"), pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr && fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) {
    text += buffer.data();
  }
  return text;
}

TEST(LdCacheWriterTest, IsReadByTheRealLdconfig) {
  const std::string text =
      Ldconfig(LdCache({{"libcuda.so.1", "/usr/lib64/libcuda.so.1", ElfMachine::kX86_64},
                        {"libcuda.so.1", "/usr/lib/libcuda.so.1", ElfMachine::kX86},
                        {"libnvidia-ml.so.1", "/usr/lib64/libnvidia-ml.so.1"}}));
  EXPECT_THAT(text, HasSubstr("3 libs found in cache"));
  EXPECT_THAT(text, HasSubstr("libcuda.so.1 (libc6,x86-64) => /usr/lib64/libcuda.so.1"));
  EXPECT_THAT(text, HasSubstr("libcuda.so.1 (libc6) => /usr/lib/libcuda.so.1"));
}

TEST(LdCacheWriterTest, MarksAarch64) {
  EXPECT_THAT(Ldconfig(LdCache({{"libcuda.so.1", "/lib/libcuda.so.1", ElfMachine::kAarch64}})),
              HasSubstr("libcuda.so.1 (libc6,AArch64) => /lib/libcuda.so.1"));
}

TEST(LdCacheWriterTest, WritesAnEmptyCache) {
  EXPECT_THAT(Ldconfig(LdCache({})), HasSubstr("0 libs found in cache"));
}

TEST(LdCacheWriterTest, ComparesNumbersAsNumbers) {
  EXPECT_LT(CompareLibraryNames("libx.so.9", "libx.so.10"), 0);
  EXPECT_GT(CompareLibraryNames("libx.so.1", "libx.so"), 0);
  EXPECT_LT(CompareLibraryNames("liba.so.1", "libb.so.1"), 0);
  EXPECT_EQ(CompareLibraryNames("libx.so.1", "libx.so.1"), 0);
}

}  // namespace
}  // namespace kgpu::simhost

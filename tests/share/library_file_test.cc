// The file that ships: what it needs, what it exports, what it costs programs that use no GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "testing/shell.h"

namespace kgpu::share {
namespace {

std::string Output(const std::string& command) {
  const Outcome outcome = Shell(command);
  EXPECT_EQ(outcome.code, 0) << command;
  return outcome.text;
}

// Versions of glibc since 2.17 would keep it from loading into older images.
TEST(ShareFileTest, LoadsWithEveryGlibcSince217) {
  std::istringstream versions(Output("objdump -T " KGPU_SHARE_LIBRARY
                                     " | grep -o 'GLIBC_[0-9.]*' | sort -u | cut -d_ -f2"));
  std::string version;
  int count = 0;
  for (; std::getline(versions, version); ++count) {
    char* rest = nullptr;
    const long major = strtol(version.c_str(), &rest, 10);
    ASSERT_EQ(*rest, '.') << version;
    EXPECT_LE(major * 1000 + strtol(rest + 1, nullptr, 10), 2017) << version;
  }
  EXPECT_GT(count, 0);
}

TEST(ShareFileTest, NeedsTheCLibraryAlone) {
  EXPECT_EQ(Output("objdump -p " KGPU_SHARE_LIBRARY " | awk '/NEEDED/ {print $2}'"), "libc.so.6\n");
}

TEST(ShareFileTest, ExportsNamesOfTheDriverAndTheLoaderOnly) {
  EXPECT_EQ(
      Output("nm -D --defined-only " KGPU_SHARE_LIBRARY
             " | awk '{print $3}' | grep -v '^cu[A-Z]' | sort"),
      "dlmopen\ndlopen\ndlsym\ndlvsym\nnvmlDeviceGetMemoryInfo\nnvmlDeviceGetMemoryInfo_v2\n");
}

// The one entry of the array is the compiler's own, which does nothing here.
TEST(ShareFileTest, HasNoConstructors) {
  EXPECT_EQ(Output("readelf -d " KGPU_SHARE_LIBRARY " | awk '/INIT_ARRAYSZ/ {print $3}'"), "8\n");
}

TEST(ShareFileTest, KnowsNoPathButOneFolder) {
  EXPECT_EQ(Output("strings -d -n 4 " KGPU_SHARE_LIBRARY " | grep -E '^/' | grep -v '^/proc/'"),
            "/usr/lib/kgpu/slots\n/usr/lib/kgpu/slots/\n");
}

// Nothing of the environment is read at all.
TEST(ShareFileTest, ReadsNoEnvironment) {
  EXPECT_EQ(Output("nm -D --undefined-only " KGPU_SHARE_LIBRARY " | grep -c getenv || true"),
            "0\n");
}

// RTLD_NEXT is about the caller: a preloaded wrapper of malloc must find malloc behind itself.
TEST(ShareFileTest, LeavesOtherLookUpsToTheirCallers) {
  EXPECT_EQ(Output("LD_PRELOAD=" KGPU_SHARE_LIBRARY
                   " /bin/sh -c 'printf %s ok' && LD_PRELOAD=" KGPU_SHARE_LIBRARY " /bin/true"),
            "ok");
}

}  // namespace
}  // namespace kgpu::share

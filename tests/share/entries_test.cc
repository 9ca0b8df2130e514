// Every way in which a program finds the driver's functions.
#include <gmock/gmock.h>

#include <filesystem>

#include "testing/shell.h"
#include "tests/share/container.h"

namespace kgpu::share {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// 20,180 MiB in pieces of 512.
constexpr char kPieces[] = "39";

TEST(ShareEntriesTest, LooksUpByScopeAndThroughTheCLibrary) {
  const Container container;
  for (const char* way : {"dlsym", "default", "dlvsym-of-dlsym"}) {
    EXPECT_THAT(container.Steps("init ctx alloc:20181 alloc:20180", way),
                EndsWith("alloc 2\nalloc 0\n"))
        << way;
  }
}

TEST(ShareEntriesTest, ProgramsThatAreLinkedWithTheDriver) {
  const Container container;
  EXPECT_EQ(container.Run("share_linked_client"), std::string("linked ") + kPieces + "\n");
}

TEST(ShareEntriesTest, PluginsWithDeepBinding) {
  for (const char* how : {"0", "1"}) {
    const Container container;
    EXPECT_EQ(container.Run("share_plugin_client " KGPU_SHARE_FOLDER "/plugin.so deepbind " +
                            std::string(how)),
              std::string("plugin ") + kPieces + "\n");
  }
}

TEST(ShareEntriesTest, PluginsInNamespacesOfTheirOwn) {
  for (const char* how : {"0", "1"}) {
    const Container container;
    EXPECT_EQ(container.Run("share_plugin_client " KGPU_SHARE_FOLDER "/plugin.so dlmopen " +
                            std::string(how)),
              std::string("plugin ") + kPieces + "\n")
        << how;
  }
}

TEST(ShareEntriesTest, FunctionsFromTheDriverItself) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx proc:cuMemAlloc@12000 proc:cuMemAllocAsync@12000 "
                              "proc:cuCtxGetCurrent@12000 proc:cuGetProcAddress@12000"),
              EndsWith("proc 0 as dlsym\nproc 0 as dlsym\nproc 0 as dlsym\n"
                       "proc 0 as dlsym\n"));
  // One name may mean another function than in older versions.
  EXPECT_THAT(container.Steps("init proc:cuGraphInstantiate@12000"), EndsWith("proc 0 other\n"));
}

TEST(ShareEntriesTest, RefusesFunctionsThatItDoesNotKnow) {
  const Container container;
  EXPECT_THAT(container.Steps("init ctx future:10 proc:cuMemAllocFuture@14000"),
              EndsWith("future -1\nproc 500 null\n"));
  EXPECT_THAT(container.Stderr(),
              HasSubstr("driver function cuMemAllocFuture is unknown and refused: update kgpu"));
}

TEST(ShareEntriesTest, RefusesFunctionsThatItDoesNotKnowToProgramsThatAreLinkedWithThem) {
  const Container container;
  EXPECT_EQ(container.Run("share_future_client"), "future 500\nlinked 39\n");
  EXPECT_THAT(container.Stderr(), HasSubstr("an unknown function of the driver was called"));
  const Container flagged("unknown flag\n");
  EXPECT_EQ(flagged.Run("share_future_client"), "future 0\nlinked 39\n");
}

TEST(ShareEntriesTest, RefusesANewVersionOfAKnownFunction) {
  const Container container;
  EXPECT_THAT(container.Steps("init proc:cuMemFree@12000 proc:cuMemFree@14000"),
              EndsWith("proc 0 as dlsym\nproc 500 null\n"));
}

TEST(ShareEntriesTest, ReportsUnknownFunctionsWhereThatIsConfigured) {
  const Container container("unknown flag\n");
  EXPECT_THAT(container.Steps("init ctx future:10 proc:cuMemAllocFuture@14000"),
              HasSubstr("future 0\nproc 0 as dlsym"));
  EXPECT_THAT(container.Stderr(), HasSubstr("what it allocates is not counted"));
}

TEST(ShareEntriesTest, KnowsTheTablesOfTheRuntimeOnly) {
  const Container container;
  EXPECT_THAT(container.Steps("init table:0 table:1"), EndsWith("table 0\ntable 500\n"));
  EXPECT_THAT(container.Stderr(), HasSubstr("the driver's table 000000"));
}

// glibc 2.31, whose dlsym is in libdl.so.2. tests/engines/fetch_suites.sh unpacks it.
TEST(ShareEntriesTest, ReleasesWhoseLoaderIsInALibraryOfItsOwn) {
  const std::string libraries = KGPU_SOURCE_DIR "/build/engines/bullseye/lib/x86_64-linux-gnu";
  if (!std::filesystem::exists(libraries + "/ld-2.31.so")) {
    GTEST_SKIP() << "no Debian 11 here: run tests/engines/fetch_suites.sh";
  }
  const Container container;
  container.Write(0, "version 1\ndevice GPU-00000000-0000-0000-0000-000000000000\nmemory " +
                         std::to_string(20480 * kMiB) + "\ncontext 1\n");
  const Outcome old =
      Shell("cd " + container.folder().path() + " && " + libraries +
            "/ld-2.31.so --preload " KGPU_SHARE_TEST_LIBRARY " --library-path " + libraries +
            ":" KGPU_SHARE_FOLDER "/bare " KGPU_SHARE_FOLDER "/share_old_client");
  EXPECT_EQ(old.text, "old 39\n");
}

// Our own names are in every process; they are not to be taken for the driver's.
TEST(ShareEntriesTest, FindsNoDriverWhereThereIsNone) {
  const Outcome found =
      Shell("LD_PRELOAD=" KGPU_SHARE_TEST_LIBRARY
            " python3 -c 'import ctypes; print(hasattr(ctypes.CDLL(None), \"cuMemAlloc_v2\"))'");
  EXPECT_EQ(found.text, "False\n");
}

}  // namespace
}  // namespace kgpu::share

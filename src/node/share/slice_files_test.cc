#include "src/node/share/slice_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::share {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SliceFilesTest : public ::testing::Test {
 protected:
  SliceFilesTest() { dir_.WriteFile("libkgpu-share.so", "first"); }

  SliceFilesOptions Options() const {
    return {.library = dir_.At("libkgpu-share.so"),
            .folder = dir_.At("lib/kgpu/share"),
            .engine_folder = "/var/lib/kgpu/share"};
  }
  std::string Read(std::string_view name) const {
    return dir_.ReadFile(fmt::format("lib/kgpu/share/{}", name));
  }
  std::string At(std::string_view name) const {
    return dir_.At(fmt::format("lib/kgpu/share/{}", name));
  }
  static SliceSlot Slot(std::string_view id, uint64_t gibi = 20) {
    return {.id = std::string(id),
            .device_uuid = "GPU-a",
            .memory = GibiBytes(gibi),
            .share = {.by = config::ShareBy::kMemory}};
  }

  TempDir dir_;
};

TEST_F(SliceFilesTest, WritesWhatContainersGet) {
  const auto paths = WriteSliceFiles(Options(), {Slot("GPU-a::0"), Slot("GPU-a::1")});
  ASSERT_OK(paths);
  EXPECT_EQ(paths->folder, "/var/lib/kgpu/share");
  EXPECT_THAT(paths->library, StartsWith("libkgpu-share-"));
  EXPECT_EQ(Read(paths->library), "first");
  EXPECT_EQ(Read("ld.so.preload"), "/usr/lib/kgpu/libkgpu-share.so\n");
  EXPECT_EQ(Read("GPU-a_1.limits"),
            "version 1\ndevice GPU-a\nmemory 21474836480\ncontext 335544320\npinned 0\n"
            "unknown refuse\n");
  struct stat info{};
  ASSERT_EQ(stat(At("GPU-a_1.ledger").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0666U);
  EXPECT_EQ(static_cast<size_t>(info.st_size), kLedgerBytes);
  EXPECT_GE(static_cast<size_t>(info.st_blocks) * 512, kLedgerBytes) << "no holes";
}

TEST_F(SliceFilesTest, ANewLibraryLeavesTheOldOneAndTheLedgers) {
  const auto before = WriteSliceFiles(Options(), {Slot("GPU-a::0")});
  ASSERT_OK(before);
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger", std::string(kLedgerBytes, 'x'));
  dir_.WriteFile("libkgpu-share.so", "second");
  const auto after = WriteSliceFiles(Options(), {Slot("GPU-a::0", 10)});
  ASSERT_OK(after);
  EXPECT_NE(before->library, after->library);
  EXPECT_EQ(Read(before->library), "first");
  EXPECT_EQ(Read(after->library), "second");
  EXPECT_EQ(Read("GPU-a_0.ledger"), std::string(kLedgerBytes, 'x'));
  EXPECT_THAT(Read("GPU-a_0.limits"), HasSubstr("memory 10737418240\n"));
}

TEST_F(SliceFilesTest, ALedgerThatAContainerMadeLongerIsCut) {
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  dir_.WriteFile("lib/kgpu/share/GPU-a_0.ledger", std::string(10 * kLedgerBytes, 'x'));
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  EXPECT_EQ(Read("GPU-a_0.ledger"), std::string(kLedgerBytes, 'x'));
}

// What containerd makes where it finds no file for a mount.
TEST_F(SliceFilesTest, ReplacesFoldersThatAnEngineMade) {
  for (const char* name : {"ld.so.preload", "GPU-a_0.limits", "GPU-a_0.ledger"}) {
    dir_.MakeDir(fmt::format("lib/kgpu/share/{}", name));
  }
  ASSERT_OK(WriteSliceFiles(Options(), {Slot("GPU-a::0")}));
  EXPECT_THAT(Read("GPU-a_0.limits"), HasSubstr("version 1"));
  EXPECT_EQ(Read("GPU-a_0.ledger").size(), kLedgerBytes);
}

TEST_F(SliceFilesTest, KeepsABoundedNumberOfOldFiles) {
  SliceFilesOptions options = Options();
  options.most_kept = 3;
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(WriteSliceFiles(options, {Slot(fmt::format("MIG-{}::0", i))}));
  }
  const std::filesystem::directory_iterator entries(At(""));
  // Library, list, limits and ledger of the newest, and three old ones.
  EXPECT_EQ(std::distance(begin(entries), end(entries)), 4 + 3);
  EXPECT_THAT(Read("MIG-19_0.limits"), HasSubstr("version 1"));
}

TEST_F(SliceFilesTest, SaysWhyThereAreNone) {
  SliceFilesOptions options = Options();
  options.library = "";
  EXPECT_THAT(
      WriteSliceFiles(options, {Slot("GPU-a::0")}),
      StatusIs(StatusCode::kNotFound, HasSubstr("libkgpu-share.so is missing in ../lib/kgpu")));
  options.library = dir_.At("none.so");
  EXPECT_THAT(WriteSliceFiles(options, {Slot("GPU-a::0")}),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.so")));
}

}  // namespace
}  // namespace kgpu::share

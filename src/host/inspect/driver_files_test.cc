#include "src/host/inspect/driver_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "testing/host_files.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::string_view kVersion = "535.104.05";

class DriverFilesTest : public ::testing::Test {
 protected:
  // Writes <folder>/<stem>.<version> and its SONAME link.
  void AddLibrary(const std::string& folder, const std::string& stem,
                  std::string_view version = kVersion, uint16_t machine = kElfX8664) {
    const std::string name = stem + "." + std::string(version);
    dir_.WriteFile(folder + "/" + name, MakeElf({.machine = machine, .soname = stem + ".1"}));
    dir_.Symlink(name, folder + "/" + stem + ".1");
  }

  StatusOr<DriverFiles> Find(std::string_view preferred = {}) const {
    const auto root = sys::Root::Open(dir_.path());
    return root.ok() ? FindDriverFiles(*root, preferred) : StatusOr<DriverFiles>(root.status());
  }

  static std::vector<std::string> Paths(const DriverFiles& files) {
    std::vector<std::string> paths;
    paths.reserve(files.libraries.size());
    for (const DriverLibrary& library : files.libraries) {
      paths.push_back(library.path);
    }
    return paths;
  }

  TempDir dir_;
};

TEST_F(DriverFilesTest, FindsUbuntuLayout) {
  const std::string folder = "usr/lib/x86_64-linux-gnu";
  AddLibrary(folder, "libcuda.so");
  AddLibrary(folder, "libnvidia-ml.so");
  AddLibrary(folder, "libc.so", "2.36");
  dir_.WriteFile(folder + "/vdpau/libvdpau_nvidia.so.535.104.05",
                 MakeElf({.soname = "libvdpau_nvidia.so.1"}));

  const auto files = Find();

  ASSERT_OK(files);
  EXPECT_EQ(files->version, kVersion);
  EXPECT_EQ(files->machine, ElfMachine::kX86_64);
  EXPECT_THAT(Paths(*files),
              ElementsAre("/usr/lib/x86_64-linux-gnu/libcuda.so.535.104.05",
                          "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05",
                          "/usr/lib/x86_64-linux-gnu/vdpau/libvdpau_nvidia.so.535.104.05"));
  EXPECT_EQ(files->libraries[0].soname, "libcuda.so.1");
  EXPECT_THAT(files->problems, IsEmpty());
}

TEST_F(DriverFilesTest, FollowsDebiansAlternatives) {
  AddLibrary("usr/lib/x86_64-linux-gnu/nvidia/current", "libcuda.so");
  dir_.Symlink("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.1",
               "etc/alternatives/nvidia--libcuda.so.1");
  dir_.Symlink("/etc/alternatives/nvidia--libcuda.so.1", "usr/lib/x86_64-linux-gnu/libcuda.so.1");
  dir_.WriteFile("etc/ld.so.cache",
                 MakeLdCache({{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"}}));

  const auto files = Find();

  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files),
              ElementsAre("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.104.05"));
}

TEST_F(DriverFilesTest, FindsDebiansLibrariesBesideTheLinks) {
  AddLibrary("usr/lib/x86_64-linux-gnu/nvidia/current", "libcuda.so");
  dir_.Symlink("nvidia/current/libcuda.so.1", "usr/lib/x86_64-linux-gnu/libcuda.so.1");
  AddLibrary("usr/lib/x86_64-linux-gnu", "libnvidia-glcore.so");
  dir_.WriteFile("etc/ld.so.cache",
                 MakeLdCache({{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1"},
                              {"libnvidia-glcore.so.535.104.05",
                               "/usr/lib/x86_64-linux-gnu/libnvidia-glcore.so.535.104.05"}}));

  const auto files = Find();

  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files),
              ElementsAre("/usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.104.05",
                          "/usr/lib/x86_64-linux-gnu/libnvidia-glcore.so.535.104.05"));
}

TEST_F(DriverFilesTest, FindsFoldersThatOnlyTheCacheKnows) {
  AddLibrary("opt/odd/place", "libcuda.so");
  dir_.WriteFile("etc/ld.so.cache", MakeLdCache({{"libcuda.so.1", "/opt/odd/place/libcuda.so.1"}}));
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files), ElementsAre("/opt/odd/place/libcuda.so.535.104.05"));
}

TEST_F(DriverFilesTest, FindsRhelAndGkeLayouts) {
  AddLibrary("lib64", "libcuda.so");  // GKE: lib64 directly below the root
  auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files), ElementsAre("/lib64/libcuda.so.535.104.05"));

  AddLibrary("usr/lib64", "libcuda.so");
  files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files), ElementsAre("/usr/lib64/libcuda.so.535.104.05"));
}

TEST_F(DriverFilesTest, TellsMachinesByTheirElfHeaders) {
  AddLibrary("usr/lib/aarch64-linux-gnu", "libcuda.so", kVersion, kElfAarch64);
  AddLibrary("usr/lib/i386-linux-gnu", "libcuda.so", kVersion, kElfI386);
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_EQ(files->machine, ElfMachine::kAarch64);
  EXPECT_THAT(files->libraries, ElementsAre(Field(&DriverLibrary::machine, ElfMachine::kI386),
                                            Field(&DriverLibrary::machine, ElfMachine::kAarch64)));
}

TEST_F(DriverFilesTest, PrefersTheVersionOfTheModule) {
  AddLibrary("usr/lib64", "libcuda.so", "535.104.05");
  AddLibrary("usr/local/lib64", "libcuda.so", "550.54.15");
  auto files = Find();
  ASSERT_OK(files);
  EXPECT_EQ(files->version, "550.54.15");
  EXPECT_THAT(files->versions, ElementsAre("535.104.05", "550.54.15"));

  files = Find("535.104.05");
  ASSERT_OK(files);
  EXPECT_EQ(files->version, "535.104.05");
  EXPECT_THAT(Paths(*files), ElementsAre("/usr/lib64/libcuda.so.535.104.05"));
}

TEST_F(DriverFilesTest, FindsPreferredVersionBehindANewerLink) {
  AddLibrary("usr/lib64", "libcuda.so", "550.54.15");
  dir_.WriteFile("usr/lib64/libcuda.so.535.104.05", MakeElf({.soname = "libcuda.so.1"}));
  const auto files = Find("535.104.05");
  ASSERT_OK(files);
  EXPECT_EQ(files->version, "535.104.05");
}

TEST_F(DriverFilesTest, OrdersVersionsByNumber) {
  AddLibrary("usr/lib64", "libcuda.so", "1000.1");
  AddLibrary("usr/local/lib64", "libcuda.so", "999.54.15");
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_EQ(files->version, "1000.1");
}

TEST_F(DriverFilesTest, WorksWithoutLinks) {
  dir_.WriteFile("usr/lib64/libcuda.so.535.104.05", MakeElf({.soname = "libcuda.so.1"}));
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files), ElementsAre("/usr/lib64/libcuda.so.535.104.05"));
}

TEST_F(DriverFilesTest, TakesLibrariesWithVersionsOfTheirOwn) {
  AddLibrary("usr/lib64", "libcuda.so");
  dir_.WriteFile("usr/lib64/libnvidia-egl-gbm.so.1.1.0",
                 MakeElf({.soname = "libnvidia-egl-gbm.so.1"}));
  dir_.Symlink("libnvidia-egl-gbm.so.1.1.0", "usr/lib64/libnvidia-egl-gbm.so.1");
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(Paths(*files), Contains("/usr/lib64/libnvidia-egl-gbm.so.1.1.0"));
}

TEST_F(DriverFilesTest, ReportsDamagedLibraryAndKeepsTheOthers) {
  AddLibrary("usr/lib64", "libcuda.so");
  dir_.WriteFile("usr/lib64/libnvidia-ptxjitcompiler.so.535.104.05", "not an ELF file");
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(files->libraries, SizeIs(1));
  EXPECT_THAT(files->problems, ElementsAre(AllOf(HasSubstr("ptxjitcompiler"), HasSubstr("ELF"))));
}

TEST_F(DriverFilesTest, ReportsDamagedCacheAndFallsBackToFolders) {
  AddLibrary("usr/lib64", "libcuda.so");
  dir_.WriteFile("etc/ld.so.cache", "garbage");
  const auto files = Find();
  ASSERT_OK(files);
  EXPECT_THAT(files->problems, ElementsAre(HasSubstr("run ldconfig")));
}

TEST_F(DriverFilesTest, SaysThatARootHasNoDriver) {
  EXPECT_THAT(Find(), StatusIs(StatusCode::kNotFound,
                               AllOf(HasSubstr(dir_.path()), HasSubstr("--driver-root"))));
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  EXPECT_THAT(FindDriverVersions(*root), IsEmpty());
  EXPECT_THAT(FindNvmlLibrary(*root),
              StatusIs(StatusCode::kNotFound, HasSubstr("libnvidia-ml.so.1")));
}

TEST_F(DriverFilesTest, FindsNvmlOfTheNativeMachineOnly) {
  const bool is_x86 = NativeMachine() == ElfMachine::kX86_64;
  AddLibrary("usr/lib64", "libnvidia-ml.so", kVersion, is_x86 ? kElfAarch64 : kElfX8664);
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  EXPECT_THAT(FindNvmlLibrary(*root), StatusIs(StatusCode::kNotFound, HasSubstr("is for")));

  AddLibrary("usr/local/lib64", "libnvidia-ml.so", kVersion, is_x86 ? kElfX8664 : kElfAarch64);
  EXPECT_THAT(FindNvmlLibrary(*root),
              IsOkAndHolds(std::string("/usr/local/lib64/libnvidia-ml.so.535.104.05")));
}

}  // namespace
}  // namespace kgpu::host

#include "src/host/facts/package_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include "testing/status_matchers.h"
#include "testing/test_host.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// rpm of a host: prints `files`.
class FakeRpm final : public sys::ProgramRunner {
 public:
  std::string files;
  int code = 0;

  StatusOr<sys::RunResult> Run(const sys::RunRequest& /*request*/) override {
    sys::RunResult result;
    result.exit.code = code;
    result.out = files;
    return result;
  }
};

class PackageFilesTest : public ::testing::Test {
 protected:
  PackageFiles Check() {
    const auto root = sys::Root::Open(host_.path());
    EXPECT_OK(root);
    return root.ok() ? CheckPackageFiles(*root, rpm_) : PackageFiles{};
  }
  void Write(const std::string& path, std::string_view text) const {
    host_.dir().WriteFile(path, text);
  }
  void Remove(const std::string& path) const {
    ASSERT_EQ(unlink(host_.dir().At(path).c_str()), 0) << path;
  }

  TestHost host_;
  FakeRpm rpm_;
};

// A Debian with three packages of the driver, all their files and an alternative.
class DebianFilesTest : public PackageFilesTest {
 protected:
  static constexpr const char* kConfig = "etc/nvidia/current/nvidia-modprobe.conf";
  static constexpr const char* kFirmware = "usr/lib/firmware/nvidia/535.1/";

  DebianFilesTest() {
    host_.AddProgram("usr/bin/apt-get");
    host_.dir().Symlink("usr/lib", "lib");
    std::string status;
    for (const char* name : {"firmware-nvidia-gsp", "libcuda1", "nvidia-kernel-support", "bash"}) {
      status +=
          fmt::format("Package: {}\nStatus: install ok installed\nVersion: 535.1-1\n\n", name);
    }
    Write("var/lib/dpkg/status",
          status + "Package: libnvidia-ml1\nStatus: deinstall ok config-files\nVersion: 1\n");
    AddList("firmware-nvidia-gsp",
            "/.\n/lib\n/lib/firmware\n/lib/firmware/nvidia\n/lib/firmware/nvidia/535.1\n"
            "/lib/firmware/nvidia/535.1/gsp_ga10x.bin\n/lib/firmware/nvidia/535.1/gsp_tu10x.bin\n");
    AddList("libcuda1:amd64",
            "/.\n/usr/lib/libcuda.so.535.1\n/usr/lib/libcuda.so.1\n/usr/lib/placeholder\n"
            "/usr/share/doc/libcuda1/copyright\n");
    AddList("nvidia-kernel-support", fmt::format("/{}\n", kConfig));
    AddList("bash", "/bin/bash\n");
    AddList("libnvidia-ml1", "/etc/left-behind\n");
    Write("var/lib/dpkg/info/libcuda1:amd64.md5sums",
          "d41d8cd98f00b204e9800998ecf8427e  usr/lib/placeholder\n");
    Write(std::string(kFirmware) + "gsp_ga10x.bin", "firmware");
    Write(std::string(kFirmware) + "gsp_tu10x.bin", "firmware");
    Write("usr/lib/libcuda.so.535.1", "ELF");
    Write("usr/lib/placeholder", "");
    host_.dir().Symlink("libcuda.so.535.1", "usr/lib/libcuda.so.1");
    Write(kConfig, "alias nvidia nvidia-current\n");
    Write("var/lib/dpkg/alternatives/nvidia",
          "auto\n/usr/lib/nvidia/nvidia\nnvidia--modprobe.conf\n/etc/modprobe.d/nvidia.conf\n"
          "nvidia--absent\n/usr/lib/absent\n\n/usr/lib/nvidia/current\n535\n"
          "/etc/nvidia/current/nvidia-modprobe.conf\n/usr/lib/nvidia/absent\n\n");
    host_.dir().Symlink("/usr/lib/nvidia/current", "etc/alternatives/nvidia");
    host_.dir().Symlink("/etc/nvidia/current/nvidia-modprobe.conf", "etc/modprobe.d/nvidia.conf");
  }
  void AddList(const std::string& package, std::string_view text) const {
    Write(fmt::format("var/lib/dpkg/info/{}.list", package), text);
  }
};

TEST_F(DebianFilesTest, PassesWhatIsWhole) {
  const PackageFiles seen = Check();
  EXPECT_THAT(seen.failed, IsEmpty());
  EXPECT_EQ(seen.packages, 3U);
}

TEST_F(DebianFilesTest, FindsAnEmptyLibrary) {
  Write("usr/lib/libcuda.so.535.1", "");
  EXPECT_THAT(Check().failed,
              ElementsAre("package libcuda1:amd64: /usr/lib/libcuda.so.535.1 is empty: "
                          "apt-get install --reinstall libcuda1:amd64"));
}

TEST_F(DebianFilesTest, TellsArchitecturesOfOnePackageApart) {
  AddList("libcuda1:i386", "/.\n/usr/lib32/libcuda.so.535.1\n");
  const PackageFiles seen = Check();
  EXPECT_EQ(seen.packages, 4U);
  EXPECT_THAT(seen.failed, ElementsAre("package libcuda1:i386: /usr/lib32/libcuda.so.535.1 is "
                                       "missing: apt-get install --reinstall libcuda1:i386"));
}

TEST_F(DebianFilesTest, PassesOverPackagesThatOnlyResembleTheDriver) {
  constexpr const char* kToolkit = "nvidia-cuda-toolkit";
  Write("var/lib/dpkg/status",
        fmt::format("Package: {}\nStatus: install ok installed\nVersion: 11.8\n", kToolkit));
  AddList(kToolkit, "/.\n/usr/bin/nvcc\n");
  const PackageFiles seen = Check();
  EXPECT_EQ(seen.packages, 0U);
  EXPECT_THAT(seen.failed, IsEmpty());
}

TEST_F(DebianFilesTest, FindsAFolderOfFirmwareThatIsGone) {
  Remove(std::string(kFirmware) + "gsp_ga10x.bin");
  Remove(std::string(kFirmware) + "gsp_tu10x.bin");
  ASSERT_EQ(rmdir(host_.dir().At(kFirmware).c_str()), 0);
  EXPECT_THAT(
      Check().failed,
      ElementsAre("package firmware-nvidia-gsp: /lib/firmware/nvidia/535.1/gsp_ga10x.bin is "
                  "missing, and 1 more of its files are missing or empty: apt-get install "
                  "--reinstall firmware-nvidia-gsp"));
}

TEST_F(DebianFilesTest, FindsAFileOfTheConfiguration) {
  Remove(kConfig);
  EXPECT_THAT(Check().failed,
              ElementsAre(HasSubstr("apt-get install --reinstall -o "
                                    "DPkg::Options::=--force-confmiss nvidia-kernel-support")));
}

TEST_F(DebianFilesTest, FindsALinkOfAnAlternative) {
  Remove("etc/modprobe.d/nvidia.conf");
  EXPECT_THAT(Check().failed,
              ElementsAre("alternative nvidia: /etc/modprobe.d/nvidia.conf is missing, the link to "
                          "/etc/nvidia/current/nvidia-modprobe.conf: update-alternatives --auto "
                          "nvidia"));
}

TEST_F(DebianFilesTest, LeavesFilesThatAnotherPackageDiverted) {
  Write("var/lib/dpkg/diversions", "/usr/lib/libcuda.so.535.1\n/usr/lib/elsewhere\nother\n");
  Remove("usr/lib/libcuda.so.535.1");
  EXPECT_THAT(Check().failed, IsEmpty());
}

TEST_F(PackageFilesTest, AsksRpmWhereThatIsTheDatabase) {
  host_.AddProgram("usr/bin/rpm");
  host_.AddProgram("usr/bin/dnf");
  rpm_.files =
      "libnvidia-ml\t\t3\t/usr/lib64/libnvidia-ml.so.1\nlibnvidia-ml\td\t3\t/opt/readme\n"
      "nvidia-driver-cuda\t\t0\t/usr/lib64/empty\nnvidia-driver-cuda\t\t9\t/usr/bin/nvidia-smi\n"
      "nvidia-container-toolkit\t\t9\t/usr/bin/nvidia-ctk\n";
  Write("usr/lib64/libnvidia-ml.so.1", "ELF");
  Write("usr/lib64/empty", "");
  const PackageFiles seen = Check();
  EXPECT_EQ(seen.packages, 2U);
  EXPECT_THAT(seen.failed,
              ElementsAre("package nvidia-driver-cuda: /usr/bin/nvidia-smi is missing: "
                          "dnf reinstall nvidia-driver-cuda"));
}

TEST_F(PackageFilesTest, SaysWhatRpmDoesNotList) {
  host_.AddProgram("usr/bin/rpm");
  rpm_.code = 1;
  EXPECT_THAT(Check().skipped, ElementsAre(HasSubstr("the files of the driver's packages")));
}

TEST_F(PackageFilesTest, HasNothingToLookAtWithoutADatabase) {
  EXPECT_EQ(Check().packages, 0U);
}

}  // namespace
}  // namespace kgpu::host

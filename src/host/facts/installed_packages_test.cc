#include "src/host/facts/installed_packages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

TEST(DpkgStatusTest, HasWhatIsInstalledAndWhatIsHeld) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok installed\nVersion: 1:2-3\n\n"
                              "Package: b\nStatus: deinstall ok config-files\nVersion: 1\n\n"
                              "Package: c\nVersion: 4\nStatus: hold ok installed\n"),
              ElementsAre(Pair("a", InstalledPackage{"1:2-3", false}),
                          Pair("c", InstalledPackage{"4", true})));
  EXPECT_THAT(ParseDpkgStatus("Status: install ok installed\n\n"), IsEmpty());
}

TEST(DpkgStatusTest, HasWhatIsNotConfigured) {
  EXPECT_THAT(ParseDpkgStatus("Package: a\nStatus: install ok half-configured\nVersion: 1\n\n"
                              "Package: b\nStatus: install ok unpacked\nVersion: 2\n\n"
                              "Package: c\nStatus: install ok half-installed\nVersion: 3\n\n"
                              "Package: d\nStatus: install ok triggers-awaited\nVersion: 4\n\n"),
              ElementsAre(Pair("a", InstalledPackage{"1", false, true}),
                          Pair("b", InstalledPackage{"2", false, true}),
                          Pair("d", InstalledPackage{"4", false, false})));
}

TEST(RpmListTest, HasNamesAndVersions) {
  EXPECT_THAT(ParseRpmList("kernel-core\t5.14.0-570.el9\nno version\n\t1\n"),
              ElementsAre(Pair("kernel-core", InstalledPackage{"5.14.0-570.el9", false})));
}

TEST(UpstreamVersionTest, LeavesOutWhatThePackagersAdded) {
  EXPECT_EQ(UpstreamVersion("3:580.95.05-1.el9"), "580.95.05");
  EXPECT_EQ(UpstreamVersion("535.261.03-1~deb12u1"), "535.261.03");
  EXPECT_EQ(UpstreamVersion("580.95.05_k6.4.0_150600-1"), "580.95.05");
}

TEST(DriverPackageTest, KnowsThoseOfEveryDistribution) {
  for (const std::string_view name : {"nvidia-driver",
                                      "nvidia-driver-cuda-libs",
                                      "nvidia-driver-G06-kmp-default",
                                      "nvidia-open",
                                      "nvidia-open-580",
                                      "nvidia-open-kernel-dkms",
                                      "nvidia-open-driver-G06-signed-kmp-default",
                                      "nvidia-340",
                                      "nvidia-dkms-535-server",
                                      "nvidia-kernel-source-535-open",
                                      "nvidia-firmware-535-535.261.03",
                                      "nvidia-headless-no-dkms-580-server-open",
                                      "nvidia-utils-580-server",
                                      "nvidia-compute-utils-580",
                                      "nvidia-computeG05",
                                      "nvidia-gl-G06",
                                      "nvidia-fabric-manager",
                                      "nvidia-fabricmanager-580",
                                      "nvidia-cuda-mps",
                                      "nvidia-smi",
                                      "nvidia-tesla-470-smi",
                                      "nvidia-legacy-390xx-driver",
                                      "nvidia-egl-icd",
                                      "nvidia-opencl-icd",
                                      "nvidia-kmod-common",
                                      "nvidia-libXNVCtrl",
                                      "firmware-nvidia-gsp",
                                      "linux-modules-nvidia-580-server-open-6.8.0-85-generic",
                                      "linux-objects-nvidia-535-server",
                                      "kmod-nvidia-open-dkms",
                                      "akmod-nvidia",
                                      "libcuda1",
                                      "libcuda1-340",
                                      "libcudadebugger1",
                                      "libnvidia-compute-580",
                                      "libnvidia-ml1",
                                      "libnvidia-nscq",
                                      "libnvidia-tesla-470-cuda1",
                                      "libnvcuvid1",
                                      "libnvoptix1",
                                      "libnvsdm",
                                      "libegl-nvidia0",
                                      "libgles-nvidia2",
                                      "libgl1-nvidia-glvnd-glx",
                                      "libglx-nvidia0",
                                      "libxnvctrl0",
                                      "xserver-xorg-video-nvidia-535",
                                      "xorg-x11-drv-nvidia-cuda",
                                      "x11-video-nvidiaG05",
                                      "cuda-drivers-fabricmanager-535"}) {
    EXPECT_TRUE(IsDriverPackage(name)) << name;
  }
}

TEST(DriverPackageTest, LeavesOutWhatOnlyResemblesOne) {
  for (const std::string_view name : {"libnvme1",
                                      "libnvme-dev",
                                      "libnvpair3linux",
                                      "libnvtt2",
                                      "libcudart11.0",
                                      "libcudnn8",
                                      "nvidia-cuda-toolkit",
                                      "nvidia-cuda-dev",
                                      "nvidia-cuda-gdb",
                                      "nvidia-opencl-dev",
                                      "nvidia-openjdk-8-jre",
                                      "nvidia-visual-profiler",
                                      "nvidia-profiler",
                                      "nvidia-vaapi-driver",
                                      "nvidia-container-toolkit",
                                      "nvidia-docker2",
                                      "libnvidia-container1",
                                      "libnvidia-ml-dev",
                                      "libnvidia-egl-wayland1",
                                      "nvidia-driver-assistant",
                                      "nvidia-gds",
                                      "nvidia-prime",
                                      "nvidia-gpu-firmware",
                                      "firmware-nvidia-graphics",
                                      "mate-sensors-applet-nvidia",
                                      "mir-platform-graphics-eglstream-kms20",
                                      "bumblebee-nvidia",
                                      "cuda-compat-12-4",
                                      "cuda-toolkit-12-4",
                                      "nvidia",
                                      "nvidia-"}) {
    EXPECT_FALSE(IsDriverPackage(name)) << name;
  }
}

class RpmRunner : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    argv_ = request.argv;
    return result_;
  }
  void Answer(int code, const std::string& out) {
    result_.exit.code = code;
    result_.out = out;
  }
  const std::vector<std::string>& argv() const { return argv_; }

 private:
  std::vector<std::string> argv_;
  sys::RunResult result_;
};

TEST(AskRpmTest, GivesWhatMatches) {
  const TempDir dir;
  dir.WriteFile("usr/bin/rpm", "");
  const sys::Root root = sys::Root::Open(dir.path()).value();
  RpmRunner runner;
  runner.Answer(0, "nvidia-driver\t580.95.05-1.el9\n");
  const auto packages = AskRpm(root, runner, "*nvidia*");
  ASSERT_OK(packages);
  EXPECT_THAT(*packages, ElementsAre(Pair("nvidia-driver", InstalledPackage{"580.95.05-1.el9"})));
  EXPECT_EQ(runner.argv().front(), "/usr/bin/rpm");
  EXPECT_EQ(runner.argv().back(), "*nvidia*");
}

TEST(AskRpmTest, SaysWhyItKnowsNothing) {
  const TempDir dir;
  const sys::Root root = sys::Root::Open(dir.path()).value();
  RpmRunner runner;
  EXPECT_THAT(AskRpm(root, runner, "*"),
              StatusIs(StatusCode::kNotFound, HasSubstr("rpm not found")));
  EXPECT_THAT(runner.argv(), IsEmpty());
  dir.WriteFile("usr/bin/rpm", "");
  runner.Answer(1, "");
  EXPECT_THAT(AskRpm(root, runner, "*"),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("rpm: ")));
}

}  // namespace
}  // namespace kgpu::host

#include "src/host/inspect/driver_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/host_files.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using device::DriverState;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::string_view kProprietary =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
    "GCC version:  gcc version 12.2.0 (Debian 12.2.0-14)\n";
constexpr std::string_view kOpen =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build  "
    "(builder@host)  Tue Mar  5 22:15:33 UTC 2024\n";

TEST(ModulesTest, ReadsNamesAndStates) {
  EXPECT_THAT(ParseModules("nvidia_uvm 1540096 0 - Live 0x0000000000000000 (POE)\n"
                           "nvidia 56807424 2 nvidia_uvm, Unloading 0x0 (POE)\n"
                           "short line\n"
                           "nouveau many 0 - Live 0x0\n"),
              ElementsAre(KernelModule{"nvidia", false}, KernelModule{"nvidia_uvm", true}));
}

TEST(NvrmVersionTest, ReadsProprietaryAndOpenModules) {
  EXPECT_THAT(ParseNvrmVersion(kProprietary), IsOkAndHolds(NvrmVersion{"535.104.05", false}));
  EXPECT_THAT(ParseNvrmVersion(kOpen), IsOkAndHolds(NvrmVersion{"550.54.15", true}));
}

TEST(NvrmVersionTest, RejectsTextWithoutVersion) {
  EXPECT_THAT(ParseNvrmVersion(""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseNvrmVersion("NVRM version: none at all\n"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("none at all")));
}

TEST(DriverVersionTest, IsTwoToFourGroupsOfDigits) {
  for (const std::string_view good : {"535.104.05", "390.157", "1.2.3.4"}) {
    EXPECT_TRUE(IsDriverVersion(good)) << good;
  }
  for (const std::string_view bad : {"", "535", "535.", ".1", "535.a", "1.2.3.4.5", "535 .1"}) {
    EXPECT_FALSE(IsDriverVersion(bad)) << bad;
  }
}

TEST(CharMajorsTest, LeavesOutBlockDevices) {
  EXPECT_THAT(ParseCharMajors("Character devices:\n  1 mem\n195 nvidia\n195 nvidiactl\n"
                              "509 nvidia-uvm\n\nBlock devices:\n  8 sd\n"),
              ElementsAre(Pair("mem", 1), Pair("nvidia", 195), Pair("nvidia-uvm", 509),
                          Pair("nvidiactl", 195)));
}

TEST(CapMinorTest, ReadsTheMinor) {
  EXPECT_THAT(ParseCapMinor("DeviceFileMinor: 30\nDeviceFileMode: 256\nDeviceFileModify: 1\n"),
              IsOkAndHolds(30U));
  EXPECT_THAT(ParseCapMinor("DeviceFileMode: 256\n"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseCapMinor("DeviceFileMinor: -1\n"), StatusIs(StatusCode::kInvalidArgument));
}

class DriverFactsTest : public ::testing::Test {
 protected:
  void LoadModule() {
    dir_.WriteFile("proc/modules", "nvidia 1 0 - Live 0x0 (POE)\nnvidia_uvm 1 0 - Live 0x0\n");
    dir_.WriteFile("proc/driver/nvidia/version", kProprietary);
    dir_.WriteFile("proc/devices", "Character devices:\n195 nvidia\n1 mem\n");
  }

  void Install(const std::string& version) {
    const std::string folder = "usr/lib/x86_64-linux-gnu/";
    dir_.WriteFile(folder + "libnvidia-ml.so." + version, MakeElf({.soname = "libnvidia-ml.so.1"}));
    dir_.Symlink("libnvidia-ml.so." + version, folder + "libnvidia-ml.so.1");
  }

  DriverFacts Read() {
    auto root = OpenDriverRoot(dir_.path(), "", "");
    EXPECT_OK(root);
    return ReadDriverFacts(*root);
  }

  TempDir dir_;
};

// An agent sees its host below a folder that the people on the host do not have.
TEST_F(DriverFactsTest, TheDriversFolderIsNamedAsTheHostNamesIt) {
  dir_.MakeDir("run/nvidia/driver");
  const auto root = OpenDriverRoot(dir_.path(), "/run/nvidia/driver", "");
  ASSERT_OK(root);
  EXPECT_EQ(ReadDriverFacts(*root).driver_root, "/run/nvidia/driver");
  const auto simulated = OpenDriverRoot(dir_.path(), "", "/");
  ASSERT_OK(simulated);
  EXPECT_EQ(ReadDriverFacts(*simulated).driver_root, dir_.path()) << "a folder, not a host";
}

TEST_F(DriverFactsTest, ReadsACompleteDriver) {
  LoadModule();
  Install("535.104.05");
  const bool has_node = dir_.MakeCharDevice("dev/nvidiactl", 195, 255);

  const DriverFacts facts = Read();

  EXPECT_EQ(facts.driver_root, "/") << "as the host calls it";
  EXPECT_TRUE(facts.is_nvidia_loaded);
  EXPECT_TRUE(facts.is_nvidia_live);
  EXPECT_TRUE(facts.is_uvm_loaded);
  EXPECT_EQ(facts.rival, "");
  EXPECT_EQ(facts.module_version, "535.104.05");
  EXPECT_THAT(facts.nvidia_majors, ElementsAre(Pair("nvidia", 195)));
  EXPECT_THAT(facts.library_versions, ElementsAre("535.104.05"));
  EXPECT_EQ(facts.has_control_node, has_node);
  EXPECT_THAT(facts.problems, IsEmpty());
#if defined(__x86_64__)
  EXPECT_EQ(facts.nvml_library, "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.535.104.05");
#endif
}

TEST_F(DriverFactsTest, TakesVersionFromSysfsWhenProcIsHidden) {
  dir_.WriteFile("sys/module/nvidia/version", "535.104.05\n");
  const DriverFacts facts = Read();
  EXPECT_TRUE(facts.is_nvidia_loaded);
  EXPECT_EQ(facts.module_version, "535.104.05");
}

TEST_F(DriverFactsTest, SaysWhatCannotBeRead) {
  const DriverFacts facts = Read();
  EXPECT_THAT(facts.problems, ElementsAre(HasSubstr("proc/modules"), HasSubstr("proc/devices")));
  const DriverVerdict verdict = ExplainDriver(facts, {}, LibraryAnswer::kNotAsked);
  EXPECT_EQ(verdict.state, DriverState::kFailed);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("proc/modules"), HasSubstr("--host-root")));
}

TEST_F(DriverFactsTest, ReadsMigCapabilities) {
  const std::string folder = "proc/driver/nvidia/capabilities/gpu2/mig/gi3";
  dir_.WriteFile(folder + "/access", "DeviceFileMinor: 48\n");
  dir_.WriteFile(folder + "/ci0/access", "DeviceFileMinor: 49\n");
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  EXPECT_EQ(GpuInstanceCapMinor(*root, 2, 3), 48U);
  EXPECT_EQ(ComputeInstanceCapMinor(*root, 2, 3, 0), 49U);
  EXPECT_EQ(ComputeInstanceCapMinor(*root, 2, 3, 1), std::nullopt);
}

// A driver that is whole; each case below takes something away.
DriverFacts Whole() {
  DriverFacts facts;
  facts.driver_root = "/";
  facts.is_nvidia_loaded = true;
  facts.is_nvidia_live = true;
  facts.module_version = "535.104.05";
  facts.library_versions = {"535.104.05"};
  facts.nvml_library = "/usr/lib/libnvidia-ml.so.535.104.05";
  facts.has_control_node = true;
  return facts;
}

std::vector<PciDevice> OneGpu() {
  PciDevice gpu;
  gpu.class_code = 0x030200;
  return {gpu};
}

TEST(ExplainDriverTest, NoDriverOnHostWithGpus) {
  DriverFacts facts;
  facts.driver_root = "/opt/drv";
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kNotAsked);
  EXPECT_EQ(verdict.state, DriverState::kMissing);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("/opt/drv"), HasSubstr("--driver-root")));
}

TEST(ExplainDriverTest, NoGpuAtAll) {
  const DriverVerdict verdict = ExplainDriver({}, {}, LibraryAnswer::kNotAsked);
  EXPECT_EQ(verdict.state, DriverState::kMissing);
  EXPECT_THAT(verdict.reason, HasSubstr("no NVIDIA GPU"));
}

TEST(ExplainDriverTest, NouveauHoldsTheGpus) {
  DriverFacts facts;
  facts.rival = "nouveau";
  facts.library_versions = {"535.104.05"};
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kDriverNotLoaded);
  EXPECT_EQ(verdict.state, DriverState::kNouveau);
  EXPECT_THAT(verdict.reason, HasSubstr("blacklist nouveau"));
}

// Source: beclab/Olares#3963.
TEST(ExplainDriverTest, NovaHoldsTheGpus) {
  std::vector<PciDevice> pci = OneGpu();
  pci[0].kernel_driver = "NovaCore";
  DriverFacts facts;
  facts.library_versions = {"580.95.05"};
  const DriverVerdict verdict = ExplainDriver(facts, pci, LibraryAnswer::kDriverNotLoaded);
  EXPECT_EQ(verdict.state, DriverState::kNouveau);
  EXPECT_THAT(verdict.reason, HasSubstr("nova_core uses the GPUs"));
}

TEST(ExplainDriverTest, InstalledButNotLoaded) {
  DriverFacts facts;
  facts.library_versions = {"535.104.05"};
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kDriverNotLoaded);
  EXPECT_EQ(verdict.state, DriverState::kNotLoaded);
  EXPECT_THAT(verdict.reason, HasSubstr("modprobe nvidia"));
}

TEST(ExplainDriverTest, ModuleIsUnloading) {
  DriverFacts facts = Whole();
  facts.is_nvidia_live = false;
  EXPECT_EQ(ExplainDriver(facts, OneGpu(), LibraryAnswer::kDriverNotLoaded).state,
            DriverState::kNotLoaded);
}

TEST(ExplainDriverTest, LibraryAndModuleDiffer) {
  DriverFacts facts = Whole();
  facts.library_versions = {"550.54.15"};
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kOther, "Unknown");
  EXPECT_EQ(verdict.state, DriverState::kVersionMismatch);
  EXPECT_THAT(verdict.reason,
              AllOf(HasSubstr("535.104.05"), HasSubstr("550.54.15"), HasSubstr("restart")));
}

TEST(ExplainDriverTest, LibrarySaysMismatchItself) {
  EXPECT_EQ(ExplainDriver(Whole(), OneGpu(), LibraryAnswer::kVersionMismatch).state,
            DriverState::kVersionMismatch);
}

TEST(ExplainDriverTest, NoLibrary) {
  DriverFacts facts = Whole();
  facts.nvml_library.clear();
  facts.library_versions.clear();
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kLibraryNotFound);
  EXPECT_EQ(verdict.state, DriverState::kNoLibrary);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("535.104.05"), HasSubstr("libnvidia-ml.so.1")));
}

TEST(ExplainDriverTest, NoPermission) {
  const DriverVerdict verdict = ExplainDriver(Whole(), OneGpu(), LibraryAnswer::kNoPermission);
  EXPECT_EQ(verdict.state, DriverState::kNoPermission);
  EXPECT_THAT(verdict.reason, HasSubstr("run as root"));
}

TEST(ExplainDriverTest, NoControlNode) {
  DriverFacts facts = Whole();
  facts.has_control_node = false;
  const DriverVerdict verdict = ExplainDriver(facts, OneGpu(), LibraryAnswer::kDriverNotLoaded);
  EXPECT_EQ(verdict.state, DriverState::kNotLoaded);
  EXPECT_THAT(verdict.reason, HasSubstr("nvidia-modprobe"));
}

TEST(ExplainDriverTest, AnythingElseQuotesTheLibrary) {
  const DriverVerdict verdict =
      ExplainDriver(Whole(), OneGpu(), LibraryAnswer::kOther, "GPU is lost\x1b[31m");
  EXPECT_EQ(verdict.state, DriverState::kFailed);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr("GPU is lost"), HasSubstr("\\x1b")));
}

TEST(CudaObstaclesTest, AreTheNodeAndTheLibrariesOfADriverThatRuns) {
  DriverFacts facts = Whole();
  facts.has_uvm_node = true;
  EXPECT_THAT(CudaObstacles(facts), IsEmpty());
  facts.has_uvm_node = false;
  facts.missing_libraries = {"libcuda.so.535.104.05"};
  EXPECT_THAT(CudaObstacles(facts), ElementsAre(HasSubstr("nvidia-modprobe -u -c=0"),
                                                HasSubstr("libcuda.so.535.104.05 not found")));
  facts.is_nvidia_live = false;
  EXPECT_THAT(CudaObstacles(facts), IsEmpty());
}

TEST(ExplainUnmanagedGpuTest, NamesTheHolder) {
  PciDevice gpu;
  gpu.kernel_driver = "vfio-pci";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("vfio-pci"));
  gpu.kernel_driver = "nouveau";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("nouveau"));
  gpu.kernel_driver = "NovaCore";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("blacklist nova_core"));
  gpu.kernel_driver = "xe";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("Bound to the kernel driver xe"));
  gpu.kernel_driver = "nvidia";
  EXPECT_EQ(ExplainUnmanagedGpu(gpu, {DriverState::kMissing, "reason"}), "reason");
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("does not report"));
  gpu.kernel_driver.clear();
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}), HasSubstr("No kernel driver"));
}

// Source: NVIDIA/open-gpu-kernel-modules#259.
TEST(ExplainUnmanagedGpuTest, NamesModulesThatDoNotSupportIt) {
  PciDevice gpu;
  gpu.device_id = 0x1b38;
  gpu.kernel_driver = "nvidia";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}, {"580.95.05", true}),
              HasSubstr("kgpu driver install --module proprietary"));
  gpu.kernel_driver = "";
  EXPECT_THAT(ExplainUnmanagedGpu(gpu, {}, {"590.44.01", false}), HasSubstr("branch 580"));
}

TEST(ExplainUnmanagedGpuTest, AFileThatCannotBeReadIsTheLastReason) {
  PciDevice gpu;
  gpu.kernel_driver = "nvidia";
  gpu.problem = "class: no such file";
  EXPECT_EQ(ExplainUnmanagedGpu(gpu, {}), "class: no such file");
  EXPECT_EQ(ExplainUnmanagedGpu(gpu, {DriverState::kMissing, "reason"}), "reason");
}

TEST(ExplainUnmanagedGpuTest, OffTheBusIsTheFirstReason) {
  PciDevice gpu;
  gpu.kernel_driver = "nvidia";
  gpu.problem = "off the bus";
  gpu.is_off_bus = true;
  EXPECT_EQ(ExplainUnmanagedGpu(gpu, {DriverState::kMissing, "reason"}), "off the bus");
}

}  // namespace
}  // namespace kgpu::host

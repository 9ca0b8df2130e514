// kgpu doctor on simulated hosts: what the driver says, and what cannot be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "testing/shell.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kGpuChecks =
    "driver-unresponsive,gpu-lost,gpu-not-listed,gpu-fault,gpu-hot,gpu-nvlink-down,gpu-degraded,"
    "mig-pending,mig-empty,gpu-ecc-uncorrected,gpu-row-remap-pending,gpu-row-remap-failed";

class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be made here: run as root with CAP_MKNOD";
    }
  }
};

TEST_F(DoctorTest, HealthyGpusHaveNoFindings) {
  const SimHost host("8xA100-SXM4-80GB");
  const Result result = host.Kgpu({"doctor", "--only", kGpuChecks});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("12 checks: 0 errors, 0 warnings"));
}

TEST_F(DoctorTest, ADriverThatHangsIsReported) {
  SimHost host("2xL40S");
  host.Inject("hang");
  Result result = host.Kgpu({"doctor", "--only", kGpuChecks});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("driver-unresponsive"), HasSubstr("within 3 s"),
                                HasSubstr("dmesg"), HasSubstr("1 error,")));
  host.Inject("heal");
  // One call that hangs is enough: measuring comes after everything else.
  host.Inject("hang", {"--call", "nvmlDeviceGetFieldValues"});
  result = host.Kgpu({"doctor", "--only", kGpuChecks});
  EXPECT_EQ(result.code, 7) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("driver-unresponsive"));
}

TEST_F(DoctorTest, MemoryErrorsAreReportedWithTheirGpu) {
  SimHost host("8xA100-SXM4-80GB");
  host.Inject("ecc", {"2", "--double", "1"});
  const Result result = host.Kgpu({"doctor", "--only", kGpuChecks});
  EXPECT_EQ(result.code, 7) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("gpu-ecc-uncorrected"),
                                HasSubstr("1 uncorrected ECC error since the driver was loaded"),
                                HasSubstr("gpu-row-remap-pending"),
                                HasSubstr("--gpu-reset -i GPU-"), HasSubstr("1 error, 1 warning")));
}

TEST_F(DoctorTest, HeatLinksAndMigModeAreReported) {
  SimHost host("8xA100-SXM4-80GB");
  host.Inject("throttle", {"1", "hw-thermal"});
  host.Inject("nvlink", {"2", "0", "--down"});
  host.Inject("mig", {"4", "--enable"});
  const Result result = host.Kgpu({"doctor", "--only", kGpuChecks});
  EXPECT_EQ(result.code, 9) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("gpu-hot"), HasSubstr("ThermalSlowdown"),
                                HasSubstr("gpu-nvlink-down"), HasSubstr("11 links are up"),
                                HasSubstr("mig-empty"), HasSubstr("kgpu mig apply --gpu 4")));
  const Result health = host.Kgpu({"health"});
  EXPECT_EQ(health.code, 0) << "warnings only";
  EXPECT_THAT(health.out, AllOf(HasSubstr("ThermalSlowdown"), HasSubstr("NvLinkDown")));
}

TEST_F(DoctorTest, AMissingLibraryIsTheCauseAndNotTheCdiFile) {
  const SimHost host("2xL40S");
  ASSERT_EQ(host.Kgpu({"cdi", "generate"}).code, 0);
  const std::filesystem::recursive_directory_iterator files(
      host.path() + "/usr/lib", std::filesystem::directory_options::skip_permission_denied);
  for (const auto& file : files) {
    if (file.path().filename().string().starts_with("libcuda.so")) {
      std::filesystem::remove(file.path());
    }
  }
  const Result result =
      host.Kgpu({"doctor", "--only", "driver-libraries-missing,cdi-stale,driver-ldcache-stale"});
  EXPECT_EQ(result.code, 7) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("driver-libraries-missing"), HasSubstr("libcuda.so."),
                                Not(HasSubstr("cdi-stale")), HasSubstr("1 error, 0 warnings")));
  EXPECT_THAT(host.Kgpu({"devices"}).err, HasSubstr("which CUDA needs"));
}

// Source: beclab/Olares#3963.
TEST_F(DoctorTest, NovaIsOneFindingForDoctorAndVerify) {
  SimHost host("2xL40S");
  host.Inject("unload");
  const std::string sys = host.path() + "/sys/";
  std::filesystem::create_directories(sys + "bus/pci/drivers/NovaCore");
  for (const auto& gpu : std::filesystem::directory_iterator(sys + "bus/pci/devices")) {
    const std::filesystem::path folder = std::filesystem::canonical(gpu.path());
    std::ifstream vendor(folder / "vendor");
    std::string id;
    if (vendor >> id && id == "0x10de") {
      std::filesystem::remove(folder / "driver");
      std::filesystem::create_symlink("/sys/bus/pci/drivers/NovaCore", folder / "driver");
    }
  }
  std::ofstream(host.path() + "/proc/modules", std::ios::app)
      << "nova_core 2433024 1 - Live 0x0000000000000000\n";
  const Result doctor =
      host.Kgpu({"doctor", "--only",
                 "driver-nouveau-loaded,pci-gpu-held-by-other-driver,driver-module-not-loaded"});
  EXPECT_EQ(doctor.code, 7) << doctor.out << doctor.err;
  EXPECT_THAT(doctor.out, AllOf(HasSubstr("driver-nouveau-loaded"),
                                HasSubstr("blacklist nova_core"), HasSubstr("3 checks: 1 error")));
  const Result verify = RunProgram({"kgpu", "driver", "verify", "--host-root", host.path()});
  EXPECT_THAT(verify.out, HasSubstr("nova_core is loaded and uses the GPUs"));
  EXPECT_THAT(host.Kgpu({"devices"}).out, HasSubstr("nova_core uses the GPUs"));
}

TEST_F(DoctorTest, AGpuThatLeftTheBusIsReportedOnce) {
  SimHost host("8xA100-SXM4-80GB");
  host.Inject("lose", {"3"});
  const Result result =
      host.Kgpu({"doctor", "--only", std::string(kGpuChecks) + ",pci-gpu-off-bus"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("pci-gpu-off-bus"), Not(HasSubstr("gpu-lost")),
                                HasSubstr("1 error, 0 warnings")));
}

TEST_F(DoctorTest, SpecsAreReadAsTheEngineSeesThem) {
  const SimHost host("2xL40S");
  // The engine of this machine calls / what we do, so its paths begin with the host's folder.
  Result result = host.Kgpu({"cdi", "generate"});
  ASSERT_EQ(result.code, 0) << result.err;
  result = host.Kgpu({"doctor", "--only", "cdi-stale"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("1 check: 0 errors"));
  result = RunProgram({"kgpu", "doctor", "--only", "cdi-stale", "--host-root", host.path()});
  EXPECT_EQ(result.code, 7) << "an engine within the host's folder would not find them";
}

TEST(DoctorImageOfAnotherHostTest, EnginesOfThisMachineAreNotAsked) {
  const TempDir host;
  host.WriteFile("etc/os-release", "ID=debian\n");
  const Result result = RunProgram(
      {"kgpu", "doctor", "image", "app:1", "--driver", "535.104.05", "--host-root", host.path()});
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("no engine below " + host.path()),
                    HasSubstr("docker is not installed"), HasSubstr("crictl is not installed")));
}

TEST_F(DoctorTest, AFixThatIsNoFileIsLeftToThePerson) {
  SimHost host("2xL40S");
  host.Inject("nouveau");
  const Result result =
      host.Kgpu({"doctor", "--only", "driver-nouveau-loaded", "--fix", "--dry-run"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.err, HasSubstr("nothing to write: the fixes below are commands"));
  EXPECT_EQ(host.Kgpu({"doctor", "--only", "pci-acs-redirects", "--fix"}).err, "");
}

TEST_F(DoctorTest, EveryCommandSuggestsTheSameEngine) {
  const SimHost host("2xL40S", {"--distro", "rhel"});
  const Result doctor = host.Kgpu({"doctor", "--only", "engine-missing"});
  EXPECT_EQ(doctor.code, 7) << doctor.err;
  EXPECT_THAT(doctor.out, HasSubstr("kgpu runtime install --engine podman"));
  EXPECT_THAT(RunProgram({"kgpu", "runtime", "check", "--host-root", host.path()}).err,
              HasSubstr("kgpu runtime install, which installs podman"));
  const Result install =
      RunProgram({"kgpu", "runtime", "install", "--host-root", host.path(), "--dry-run"});
  EXPECT_EQ(install.code, 0) << install.err;
  EXPECT_THAT(install.out, HasSubstr("# install podman from the packages of Red Hat"));
  EXPECT_THAT(install.err, HasSubstr("dnf not found"));
  const Result up = RunProgram({"kgpu", "node", "up", "--dry-run", "--skip",
                                "driver,agent,validate", "--host-root", host.path()});
  EXPECT_THAT(up.out, AllOf(HasSubstr("No container engine"), HasSubstr("installs podman")));
}

TEST(DoctorListTest, IsATableForPeopleAndAPageForDocs) {
  const Result table = RunProgram({"kgpu", "doctor", "--list"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out,
              AllOf(HasSubstr("FINDING"), HasSubstr("\npci-no-gpu "), Not(HasSubstr("|"))));
  EXPECT_THAT(RunProgram({"kgpu", "doctor", "--list", "-o", "markdown"}).out,
              HasSubstr("| `pci-no-gpu` | error |"));
  EXPECT_THAT(RunProgram({"kgpu", "doctor", "--list", "-o", "json"}).out,
              HasSubstr("\"id\": \"pci-no-gpu\""));
}

TEST(DoctorContainerTest, AContainerThatSeesNoHostIsNotCalledHealthy) {
  const TempDir container;
  container.WriteFile(".dockerenv", "");
  const Result result = RunProgram({"kgpu", "doctor", "--host-root", container.path()});
  EXPECT_EQ(result.code, 6) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("Nothing of the host could be checked"));
}

TEST(CollectTest, OneArchiveHasAllThatSupportNeeds) {
  const SimHost host("4xT4");
  host.dir().WriteFile("host/etc/kgpu/config.yaml", "# password: s3cr3t\n");
  const std::string file = host.dir().At("n1.tar.gz");
  const Result result =
      RunProgram({"kgpu", "collect", "--host-root", host.dir().At("host"), "--file", file});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, file + "\n");
  ASSERT_EQ(Shell(fmt::format("tar -xzf {} -C {}", file, host.dir().path())).code, 0);
  const auto read = [&](const std::string& path) {
    return host.dir().ReadFile("kgpu-collect/" + path);
  };
  EXPECT_THAT(read("commands/devices.json"), HasSubstr("\"gpus\""));
  EXPECT_THAT(read("commands/doctor.json"), HasSubstr("findings"));
  EXPECT_EQ(read("files/etc/kgpu/config.yaml"), "# password: \"<removed>\"\n");
  EXPECT_THAT(read("removed.txt"), HasSubstr("files/etc/kgpu/config.yaml"));
}

}  // namespace
}  // namespace kgpu::e2e

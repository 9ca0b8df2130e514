// Kernels that the distribution did not build: the headers that are installed and DKMS serve every
// one of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "src/setup/driver/offers.h"
#include "src/setup/driver/planner.h"
#include "testing/scripted_runner.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kDebian =
    "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\nPRETTY_NAME=\"Debian 12\"\n";
constexpr const char* kUbuntu =
    "ID=ubuntu\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy\nPRETTY_NAME=\"Ubuntu 22.04\"\n";
constexpr const char* kPop =
    "ID=pop\nID_LIKE=\"ubuntu debian\"\nVERSION_ID=\"22.04\"\nUBUNTU_CODENAME=jammy\n";
constexpr const char* kRocky =
    "ID=rocky\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.4\"\nPLATFORM_ID=\"platform:el9\"\n";

struct ForeignKernel {
  std::string name;
  std::string os_release;
  std::string release;
  std::string headers;  // the package that has them
};

// A host with one A100, whose kernel is running.
class ForeignKernelTest : public ::testing::Test {
 protected:
  void Make(const ForeignKernel& kernel, bool has_headers) const {
    dir_.WriteFile("etc/os-release", kernel.os_release);
    dir_.WriteFile("proc/sys/kernel/osrelease", kernel.release + "\n");
    dir_.WriteFile(fmt::format("lib/modules/{}/modules.dep", kernel.release), "");
    dir_.WriteFile("var/lib/dpkg/status", "");
    if (has_headers) {
      dir_.WriteFile(fmt::format("lib/modules/{}/build/Makefile", kernel.release), "");
      Install(kernel.headers);
    }
    const std::string gpu = "sys/bus/pci/devices/0000:01:00.0/";
    dir_.WriteFile(gpu + "vendor", "0x10de\n");
    dir_.WriteFile(gpu + "device", "0x20b5\n");
    dir_.WriteFile(gpu + "class", "0x030200\n");
  }
  void Install(const std::string& package) const {
    dir_.WriteFile("var/lib/dpkg/status",
                   fmt::format("{}Package: {}\nStatus: install ok installed\nVersion: 1\n\n",
                               dir_.ReadFile("var/lib/dpkg/status"), package));
  }
  StatusOr<HostFacts> Read() {
    const auto root = host::OpenDriverRoot(dir_.path(), "", "");
    return root.ok() ? GatherHostFacts(*root, runner_, {}) : StatusOr<HostFacts>(root.status());
  }
  // Every package that the plan installs.
  std::vector<std::string> Packages(const HostFacts& facts) {
    std::vector<std::string> names;
    const auto plan = PlanDriver(facts, {});
    EXPECT_OK(plan);
    for (const Step& step : plan.ok() ? plan->steps : std::vector<Step>()) {
      if (const auto* install = std::get_if<InstallPackages>(&step.action)) {
        names.insert(names.end(), install->names.begin(), install->names.end());
      }
    }
    return names;
  }
  // A step builds the modules on the host.
  static bool Builds(const HostFacts& facts) {
    const auto plan = PlanDriver(facts, {});
    return plan.ok() && std::ranges::find(plan->steps, "build", &Step::id) != plan->steps.end();
  }

  TempDir dir_;
  ScriptedRunner runner_;
};

// Sources: KyleGospo/gasket-dkms#20, anomixer/proxmox-vgpu-installer#7, NVIDIA/gpu-operator#155,
// strongtz/i915-sriov-dkms#403.
std::vector<ForeignKernel> ForeignKernels() {
  return {
      {"proxmox", kDebian, "6.14.11-2-pve", "proxmox-headers-6.14.11-2-pve"},
      {"old proxmox", kDebian, "5.15.102-1-pve", "pve-headers-5.15.102-1-pve"},
      {"xanmod", kDebian, "6.9.7-x64v3-xanmod1", "linux-headers-6.9.7-x64v3-xanmod1"},
      {"liquorix", kDebian, "6.9.7-1-liquorix-amd64", "linux-headers-6.9.7-1-liquorix-amd64"},
      {"own build", kDebian, "6.12.3", "linux-headers-6.12.3"},
      {"mainline", kUbuntu, "6.10.5-061005-generic", "linux-headers-6.10.5-061005-generic"},
      {"pop", kPop, "6.9.3-76060903-generic", "linux-headers-6.9.3-76060903-generic"},
      {"elrepo", kRocky, "6.9.7-1.el9.elrepo.x86_64", "kernel-ml-devel"},
  };
}

TEST_F(ForeignKernelTest, InstalledHeadersAndDkmsServeEachOfThem) {
  for (const ForeignKernel& kernel : ForeignKernels()) {
    SCOPED_TRACE(kernel.name);
    Make(kernel, true);
    const auto facts = Read();
    ASSERT_OK(facts);
    ASSERT_TRUE(facts->kernel.has_headers);
    EXPECT_THAT(Packages(*facts), AllOf(Not(IsEmpty()), Each(Not(HasSubstr(kernel.release)))));
    EXPECT_TRUE(Builds(*facts)) << "DKMS";
  }
}

TEST_F(ForeignKernelTest, MissingHeadersAreCalledAsTheKernelsPackages) {
  Make({"proxmox", kDebian, "6.14.11-2-pve", ""}, false);
  Install("proxmox-kernel-6.14.11-2-pve-signed");
  Install("proxmox-default-kernel");
  const auto facts = Read();
  ASSERT_OK(facts);
  EXPECT_THAT(Packages(*facts),
              AllOf(Contains("proxmox-headers-6.14.11-2-pve"), Contains("proxmox-default-headers"),
                    Not(Contains(HasSubstr("linux-headers")))));
}

TEST_F(ForeignKernelTest, HeadersOfKernelsToComeAreInstalledAllTheSame) {
  Make({"debian", kDebian, "6.1.0-18-amd64", "linux-headers-6.1.0-18-amd64"}, true);
  Install("linux-image-amd64");
  const auto facts = Read();
  ASSERT_OK(facts);
  EXPECT_THAT(Packages(*facts), AllOf(Contains("linux-headers-amd64"),
                                      Not(Contains("linux-headers-6.1.0-18-amd64"))));
}

TEST_F(ForeignKernelTest, UbuntusModulesAreTakenWhereAptHasThem) {
  const std::string release = "6.8.0-1029-gke";
  Make({"gke", kUbuntu, release, ""}, false);
  dir_.WriteFile("usr/bin/apt-cache", "");
  ASSERT_EQ(chmod(dir_.At("usr/bin/apt-cache").c_str(), 0755), 0);
  const std::string has = fmt::format(
      "linux-modules-nvidia-580-server-open-{}\nlinux-modules-nvidia-580-server-open-gke\n",
      release);
  runner_.Answer("/usr/bin/apt-cache pkgnames linux-modules-nvidia-", has);
  auto facts = Read();
  ASSERT_OK(facts);
  EXPECT_TRUE(HasUbuntuModules(*facts));
  facts->prebuilt_modules = {"linux-modules-nvidia-580-server-open-6.8.0-1030-gke"};
  EXPECT_FALSE(HasUbuntuModules(*facts)) << "of another build alone";
  EXPECT_TRUE(Builds(*facts)) << "DKMS";
  facts->prebuilt_modules.clear();
  EXPECT_TRUE(HasUbuntuModules(*facts)) << "nothing is known, but it is numbered as Ubuntu's";
}

}  // namespace
}  // namespace kgpu::driver

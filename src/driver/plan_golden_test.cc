// Plans of hosts as they are met, whole, with the page of each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/driver/planner.h"
#include "src/driver/view.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

constexpr uint16_t kV100 = 0x1db6;
constexpr uint16_t kT4 = 0x1eb8;
constexpr uint16_t kA100 = 0x20b5;
constexpr uint16_t kH100 = 0x2330;
constexpr uint16_t kB200 = 0x2901;

struct Host {
  const char* name = "";
  const char* os_release = "";
  const char* kernel = "";
  uint16_t gpu = kA100;
  unsigned count = 1;
  bool has_secure_boot = false;
  bool has_nouveau = false;
  const char* old_driver = "";  // that is loaded
  const char* file = "";        // --source
  const char* cuda = "";
  const char* version = "";
  const char* source = "";
  const char* module = "";
  const char* toolkit = "";
  bool has_display = false;
};

constexpr const char* kDebian12 =
    "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
    "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
constexpr const char* kDebian13 =
    "ID=debian\nVERSION_ID=\"13\"\nVERSION_CODENAME=trixie\n"
    "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
constexpr const char* kUbuntu22 =
    "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"22.04\"\nVERSION_CODENAME=jammy\n"
    "PRETTY_NAME=\"Ubuntu 22.04.5 LTS\"\n";
constexpr const char* kUbuntu24 =
    "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n"
    "PRETTY_NAME=\"Ubuntu 24.04.3 LTS\"\n";
constexpr const char* kRhel8 =
    "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"8.10\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 8.10 (Ootpa)\"\n";
constexpr const char* kRhel9 =
    "ID=\"rhel\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"9.6\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 9.6 (Plow)\"\n";
constexpr const char* kRhel10 =
    "ID=\"rhel\"\nID_LIKE=\"centos fedora\"\nVERSION_ID=\"10.0\"\n"
    "PRETTY_NAME=\"Red Hat Enterprise Linux 10.0 (Coughlan)\"\n";
constexpr const char* kRocky9 =
    "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\nVERSION_ID=\"9.6\"\n"
    "PRETTY_NAME=\"Rocky Linux 9.6 (Blue Onyx)\"\n";
constexpr const char* kFedora42 =
    "ID=fedora\nVERSION_ID=42\nVARIANT_ID=server\nPRETTY_NAME=\"Fedora Linux 42\"\n";
constexpr const char* kSles15 =
    "ID=\"sles\"\nID_LIKE=\"suse\"\nVERSION_ID=\"15.6\"\n"
    "PRETTY_NAME=\"SUSE Linux Enterprise Server 15 SP6\"\n";
constexpr const char* kLeap =
    "ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\nVERSION_ID=\"15.6\"\n"
    "PRETTY_NAME=\"openSUSE Leap 15.6\"\n";
constexpr const char* kTumbleweed =
    "ID=\"opensuse-tumbleweed\"\nID_LIKE=\"opensuse suse\"\nVERSION_ID=\"20260501\"\n"
    "PRETTY_NAME=\"openSUSE Tumbleweed\"\n";
constexpr const char* kAmazon2023 =
    "ID=\"amzn\"\nID_LIKE=\"fedora\"\nVERSION_ID=\"2023\"\n"
    "PRETTY_NAME=\"Amazon Linux 2023.8\"\n";
constexpr const char* kRhcos =
    "ID=\"rhcos\"\nID_LIKE=\"rhel fedora\"\nVERSION_ID=\"4.16\"\nVARIANT_ID=coreos\n"
    "OPENSHIFT_VERSION=\"4.16\"\nPRETTY_NAME=\"Red Hat Enterprise Linux CoreOS 416.94\"\n";

const std::vector<Host>& Hosts() {
  static const std::vector<Host> kHosts = {
      {.name = "debian12-t4",
       .os_release = kDebian12,
       .kernel = "6.1.0-56-amd64",
       .gpu = kT4,
       .has_nouveau = true},
      {.name = "debian12-t4-open",
       .os_release = kDebian12,
       .kernel = "6.1.0-56-amd64",
       .gpu = kT4,
       .module = "open"},
      {.name = "debian12-h100-nvidia",
       .os_release = kDebian12,
       .kernel = "6.1.0-56-cloud-amd64",
       .gpu = kH100,
       .count = 8,
       .cuda = "13.0"},
      {.name = "debian13-a100-secure",
       .os_release = kDebian13,
       .kernel = "6.12.48+deb13-amd64",
       .has_secure_boot = true},
      {.name = "ubuntu2204-v100-generic",
       .os_release = kUbuntu22,
       .kernel = "5.15.0-157-generic",
       .gpu = kV100,
       .has_nouveau = true},
      {.name = "ubuntu2404-a100-aws-secure",
       .os_release = kUbuntu24,
       .kernel = "6.8.0-1040-aws",
       .count = 8,
       .has_secure_boot = true,
       .old_driver = "535.274.02"},
      {.name = "ubuntu2404-b200-generic",
       .os_release = kUbuntu24,
       .kernel = "6.8.0-85-generic",
       .gpu = kB200,
       .count = 8},
      {.name = "ubuntu2404-a100-nvidia-595",
       .os_release = kUbuntu24,
       .kernel = "6.8.0-85-generic",
       .version = "595",
       .source = "nvidia"},
      {.name = "ubuntu2204-a100-local-repo",
       .os_release = kUbuntu22,
       .kernel = "5.15.0-157-generic",
       .file = "/root/nvidia-driver-local-repo-ubuntu2204-580.95.05_1.0-1_amd64.deb"},
      {.name = "rhel8-t4-cuda124",
       .os_release = kRhel8,
       .kernel = "4.18.0-553.79.1.el8_10.x86_64",
       .gpu = kT4,
       .cuda = "12.4"},
      {.name = "rhel9-h100-secure",
       .os_release = kRhel9,
       .kernel = "5.14.0-570.55.1.el9_6.x86_64",
       .gpu = kH100,
       .count = 8,
       .has_secure_boot = true,
       .has_nouveau = true},
      {.name = "rhel9-a100-precompiled",
       .os_release = kRhel9,
       .kernel = "5.14.0-570.55.1.el9_6.x86_64",
       .source = "precompiled"},
      {.name = "rhel10-b200",
       .os_release = kRhel10,
       .kernel = "6.12.0-55.41.1.el10_0.x86_64",
       .gpu = kB200,
       .count = 8},
      {.name = "rocky9-v100",
       .os_release = kRocky9,
       .kernel = "5.14.0-570.55.1.el9_6.x86_64",
       .gpu = kV100},
      {.name = "fedora42-a100", .os_release = kFedora42, .kernel = "6.16.10-200.fc42.x86_64"},
      {.name = "sles15sp6-h100-secure",
       .os_release = kSles15,
       .kernel = "6.4.0-150600.23.73-default",
       .gpu = kH100,
       .has_secure_boot = true},
      {.name = "leap156-v100",
       .os_release = kLeap,
       .kernel = "6.4.0-150600.23.73-default",
       .gpu = kV100},
      {.name = "tumbleweed-a100", .os_release = kTumbleweed, .kernel = "6.17.3-1-default"},
      {.name = "al2023-a100",
       .os_release = kAmazon2023,
       .kernel = "6.1.153-175.280.amzn2023.x86_64",
       .count = 8},
      {.name = "rocky9-a100-runfile",
       .os_release = kRocky9,
       .kernel = "5.14.0-570.55.1.el9_6.x86_64",
       .file = "/root/NVIDIA-Linux-x86_64-580.95.05.run"},
      {.name = "debian12-t4-cuda-runfile",
       .os_release = kDebian12,
       .kernel = "6.1.0-56-amd64",
       .gpu = kT4,
       .file = "/root/cuda_12.4.1_550.54.15_linux.run"},
      {.name = "rhcos416-a100", .os_release = kRhcos, .kernel = "5.14.0-427.95.1.el9_4.x86_64"},
      {.name = "rhcos416-a100-toolkit",
       .os_release = kRhcos,
       .kernel = "5.14.0-427.95.1.el9_4.x86_64",
       .has_nouveau = true,
       .file = "/var/home/core/NVIDIA-Linux-x86_64-580.95.05.run",
       .toolkit = "quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:0"},
      {.name = "ubuntu2404-a100-display",
       .os_release = kUbuntu24,
       .kernel = "6.8.0-85-generic",
       .has_display = true},
  };
  return kHosts;
}

std::string HeadOf(std::string_view file) {
  if (file.ends_with(".deb")) {
    return "!<arch>\n";
  }
  if (file.find("cuda_") != std::string_view::npos) {
    return "#!/bin/sh\nlabel=\"CUDA Installer\"\ntargetdir=\"pkg\"\n";
  }
  return "#!/bin/sh\nlabel=\"NVIDIA Accelerated Graphics Driver for Linux-x86_64 580.95.05\"\n";
}

void AddTools(HostFacts& facts) {
  switch (facts.distribution.family) {
    case Family::kDebian:
    case Family::kUbuntu:
      facts.programs = {"/usr/bin/apt-get", "/usr/bin/dpkg", "/usr/sbin/update-initramfs"};
      facts.initramfs = "update-initramfs";
      facts.bootloader = "grub";
      break;
    case Family::kSuse:
      facts.programs = {"/usr/bin/zypper", "/usr/bin/rpm", "/usr/bin/dracut"};
      facts.initramfs = "dracut";
      facts.bootloader = "grub";
      break;
    default:
      facts.programs = {"/usr/bin/dnf", "/usr/bin/rpm", "/usr/bin/dracut", "/usr/sbin/grubby"};
      facts.initramfs = "dracut";
      facts.bootloader = "grubby";
  }
}

void AddSources(HostFacts& facts) {
  const std::string& codename = facts.distribution.codename;
  if (facts.distribution.family == Family::kDebian) {
    facts.apt = ParseAptParagraphs(
        fmt::format("Types: deb\nURIs: http://mirror.example/debian\nSuites: {0} {0}-updates\n"
                    "Components: main\n"
                    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
                    "Types: deb\nURIs: http://mirror.example/debian-security\n"
                    "Suites: {0}-security\nComponents: main\n"
                    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
                    codename),
        "/etc/apt/sources.list.d/debian.sources");
  } else if (facts.distribution.family == Family::kUbuntu) {
    facts.apt = ParseAptList(
        fmt::format("deb http://mirror.example/ubuntu {} main restricted universe multiverse\n",
                    codename),
        "/etc/apt/sources.list");
  }
}

HostFacts FactsOf(const Host& host) {
  HostFacts facts;
  facts.distribution = ParseDistribution(host.os_release);
  facts.arch = "x86_64";
  facts.kernel.release = host.kernel;
  facts.kernel.flavour = FlavourOf(host.kernel);
  facts.kernel.is_running = true;
  facts.kernel.installed = {host.kernel};
  facts.doctor.kernel.release = host.kernel;
  facts.doctor.kernel.secure_boot = host.has_secure_boot;
  facts.doctor.driver.is_nouveau_loaded = host.has_nouveau;
  for (unsigned i = 0; i < host.count; ++i) {
    facts.gpus.push_back({host.gpu, GenerationOf(host.gpu)});
  }
  facts.nvswitches = host.count == 8 && host.gpu != kB200 ? 4 : 0;
  facts.has_systemd = true;
  AddTools(facts);
  AddSources(facts);
  if (*host.old_driver != '\0') {
    facts.existing = Existing::kPackages;
    facts.existing_version = host.old_driver;
    facts.doctor.driver.is_nvidia_loaded = true;
    facts.doctor.driver.module_version = host.old_driver;
    facts.doctor.kernel.loaded = {"nvidia", "nvidia_uvm", "nvidia_modeset"};
    facts.users = {"nvidia-persistenced.service", "nvidia-fabricmanager.service"};
  }
  if (*host.file != '\0') {
    const auto file = ParseDriverFile(host.file, HeadOf(host.file));
    EXPECT_OK(file);
    facts.file = file.ok() ? std::optional(*file) : std::nullopt;
  }
  return facts;
}

Request RequestOf(const Host& host) {
  Request request;
  request.cuda = host.cuda;
  request.version = host.version;
  request.toolkit_image = host.toolkit;
  request.has_display = host.has_display;
  const auto source = ParseSource(*host.file == '\0' ? host.source : host.file);
  const auto kind = ParseModuleKind(host.module);
  EXPECT_OK(source);
  EXPECT_OK(kind);
  request.source = source.ok() ? *source : std::nullopt;
  request.kind = kind.ok() ? *kind : std::nullopt;
  return request;
}

class PlanGoldenTest : public ::testing::TestWithParam<Host> {};

TEST_P(PlanGoldenTest, IsAsItWas) {
  const auto plan = PlanDriver(FactsOf(GetParam()), RequestOf(GetParam()));
  const std::string text =
      plan.ok() ? PlanText(*plan) : fmt::format("# refused: {}\n", Message(plan.status()));
  ExpectGolden(fmt::format("src/driver/testdata/{}.plan", GetParam().name), text);
}

TEST_P(PlanGoldenTest, NamesAPageForEachStepAndEachIdOnce) {
  const auto plan = PlanDriver(FactsOf(GetParam()), RequestOf(GetParam()));
  if (!plan.ok()) {
    return;
  }
  std::set<std::string> ids;
  for (const Step& step : plan->steps) {
    EXPECT_TRUE(step.source.starts_with("https://")) << step.id;
    EXPECT_TRUE(ids.insert(step.id).second) << step.id;
  }
}

std::string NameOf(const ::testing::TestParamInfo<Host>& host) {
  std::string name = host.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Hosts, PlanGoldenTest, ::testing::ValuesIn(Hosts()), NameOf);

}  // namespace
}  // namespace kgpu::driver

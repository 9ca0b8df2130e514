// Plans of hosts as they are met, whole, with the page of each step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/platform/base/strings.h"
#include "src/setup/driver/planner.h"
#include "src/setup/driver/test_golden_hosts.h"
#include "src/setup/driver/view.h"
#include "testing/golden.h"
#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

constexpr uint16_t kGoldenB200 = 0x2901;

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
    case host::Family::kDebian:
    case host::Family::kUbuntu:
      facts.programs = {"/usr/bin/apt-get", "/usr/bin/dpkg", "/usr/sbin/update-initramfs"};
      facts.initramfs = "update-initramfs";
      facts.bootloader = "grub";
      break;
    case host::Family::kSuse:
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
  if (facts.distribution.family == host::Family::kDebian) {
    facts.apt = ParseAptParagraphs(
        fmt::format("Types: deb\nURIs: http://mirror.example/debian\nSuites: {0} {0}-updates\n"
                    "Components: main\n"
                    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n\n"
                    "Types: deb\nURIs: http://mirror.example/debian-security\n"
                    "Suites: {0}-security\nComponents: main\n"
                    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n",
                    codename),
        "/etc/apt/sources.list.d/debian.sources");
  } else if (facts.distribution.family == host::Family::kUbuntu) {
    facts.apt = ParseAptList(
        fmt::format("deb http://mirror.example/ubuntu {} main restricted universe multiverse\n",
                    codename),
        "/etc/apt/sources.list");
  }
}

HostFacts FactsOf(const GoldenHost& host) {
  HostFacts facts;
  facts.distribution = host::ParseDistribution(host.os_release);
  facts.arch = host.arch;
  facts.kernel.release = host.kernel;
  facts.kernel.flavour = FlavourOf(host.kernel);
  facts.kernel.is_running = true;
  facts.kernel.installed = {host.kernel};
  facts.host.kernel.release = host.kernel;
  facts.host.kernel.secure_boot = host.has_secure_boot;
  facts.host.driver.rival = host.has_nouveau ? "nouveau" : "";
  for (unsigned i = 0; i < host.count; ++i) {
    facts.gpus.push_back({host.gpu, GenerationOf(host.gpu)});
  }
  facts.nvswitches = host.count == 8 && host.gpu != kGoldenB200 ? 4 : 0;
  facts.has_systemd = true;
  AddTools(facts);
  AddSources(facts);
  if (*host.driver != '\0') {
    facts.existing = host.is_by_installer ? Existing::kRunFile : Existing::kPackages;
    facts.existing_version = host.driver;
    facts.host.driver.is_nvidia_loaded = true;
    facts.host.driver.is_open_module = true;
    facts.host.driver.module_version = host.driver;
    facts.host.kernel.loaded = {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_peermem",
                                "gdrdrv"};
    facts.users = {"nvidia-persistenced.service", "nvidia-fabricmanager.service"};
  }
  if (facts.distribution.family == host::Family::kDebian ||
      facts.distribution.family == host::Family::kUbuntu) {
    facts.packages[fmt::format("linux-image-{}", facts.kernel.flavour)].version = "1";
  }
  for (const std::string_view word : Words(host.packages)) {
    const size_t equals = word.find('=');
    facts.packages[std::string(word.substr(0, equals))].version = word.substr(equals + 1);
  }
  if (*host.file != '\0') {
    const auto file = ParseDriverFile(host.file, HeadOf(host.file));
    EXPECT_OK(file);
    facts.file = file.ok() ? std::optional(*file) : std::nullopt;
  }
  return facts;
}

Request RequestOf(const GoldenHost& host) {
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

TEST(CanPlanDriverTest, IsWhatThePlannerCanDo) {
  for (const GoldenHost& host : GoldenHosts()) {
    const HostFacts facts = FactsOf(host);
    if (PlanDriver(facts, RequestOf(host)).ok() &&
        facts.distribution.immutable == host::Immutable::kNone) {
      EXPECT_TRUE(host::CanPlanDriver(facts.distribution)) << host.name;
    }
  }
  HostFacts facts = FactsOf(GoldenHosts().front());
  EXPECT_OK(PlanDriver(facts, {}));
  for (const host::Family family :
       {host::Family::kAlpine, host::Family::kArch, host::Family::kMariner, host::Family::kOther}) {
    facts.distribution.family = family;
    EXPECT_FALSE(host::CanPlanDriver(facts.distribution));
    EXPECT_FALSE(PlanDriver(facts, {}).ok());
  }
}

class PlanGoldenTest : public ::testing::TestWithParam<GoldenHost> {};

TEST_P(PlanGoldenTest, IsAsItWas) {
  const auto plan = PlanDriver(FactsOf(GetParam()), RequestOf(GetParam()));
  const std::string text =
      plan.ok() ? PlanText(*plan) : fmt::format("# refused: {}\n", Message(plan.status()));
  ExpectGolden(fmt::format("src/setup/driver/testdata/{}.plan", GetParam().name), text);
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

std::string NameOf(const ::testing::TestParamInfo<GoldenHost>& host) {
  std::string name = host.param.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Hosts, PlanGoldenTest, ::testing::ValuesIn(GoldenHosts()), NameOf);

}  // namespace
}  // namespace kgpu::driver

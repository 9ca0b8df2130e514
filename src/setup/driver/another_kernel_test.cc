#include "src/setup/driver/another_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "src/setup/driver/planner.h"
#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct KernelCase {
  const char* os_release;
  const char* release;
  SourceKind source;
  const char* version;
  std::vector<std::string> ids;
  std::vector<std::string> packages;  // of the first step that has some
};

constexpr const char* kRhel9Like = "ID=rhel\nID_LIKE=fedora\nVERSION_ID=\"9.6\"\n";
constexpr const char* kUbuntu24Like = "ID=ubuntu\nVERSION_ID=\"24.04\"\nVERSION_CODENAME=noble\n";
constexpr const char* kSles15Like = "ID=sles\nID_LIKE=suse\nVERSION_ID=\"15.6\"\n";

// The kernel is installed, and another one runs.
HostFacts FactsOfKernel(const std::string& os_release, const std::string& release) {
  HostFacts facts;
  facts.distribution = host::ParseDistribution(os_release);
  facts.arch = "x86_64";
  facts.kernel.release = release;
  facts.kernel.flavour = FlavourOf(release);
  facts.gpus = {{0x20b5, Generation::kAmpere}};
  facts.has_systemd = true;
  facts.packages[fmt::format("linux-image-{}", facts.kernel.flavour)].version = "1";
  return facts;
}

Plan PlanOfDriver(SourceKind source, const std::string& version) {
  Plan ours;
  ours.version = version;
  ours.source = source;
  ours.kernel = "the first one";
  return ours;
}

std::vector<std::string> IdsOf(const Plan& plan) {
  std::vector<std::string> ids;
  std::ranges::transform(plan.steps, std::back_inserter(ids), &Step::id);
  return ids;
}

std::vector<std::string> FirstPackagesOf(const Plan& plan) {
  for (const Step& step : plan.steps) {
    if (const auto* install = std::get_if<InstallPackages>(&step.action); install != nullptr) {
      return install->names;
    }
  }
  return {};
}

TEST(AnotherKernelTest, GetsItsModulesAndNothingElse) {
  const std::vector<KernelCase> cases = {
      {"ID=debian\nVERSION_ID=12\n",
       "6.1.0-57-amd64",
       SourceKind::kDistribution,
       "535",
       {"package-lists", "headers", "build", "verify"},
       {"linux-headers-6.1.0-57-amd64", "linux-headers-amd64"}},
      {"ID=debian\nVERSION_ID=12\n",
       "6.1.0-57-amd64",
       SourceKind::kRunFile,
       "580.95.05",
       {"package-lists", "headers", "build", "verify"},
       {"linux-headers-6.1.0-57-amd64", "linux-headers-amd64"}},
      {kUbuntu24Like,
       "6.8.0-86-generic",
       SourceKind::kDistribution,
       "580",
       {"package-lists", "modules", "verify"},
       {"linux-modules-nvidia-580-server-open-6.8.0-86-generic",
        "linux-modules-nvidia-580-server-open-generic"}},
      {kUbuntu24Like,
       "6.8.0-86-generic",
       SourceKind::kLocalRepo,
       "580.95.05",
       {"package-lists", "headers", "build", "verify"},
       {"linux-headers-6.8.0-86-generic", "linux-headers-generic"}},
      {kRhel9Like,
       "5.14.0-570.58.1.el9_6.x86_64",
       SourceKind::kNvidia,
       "580",
       {"headers", "build", "verify"},
       {"kernel-devel-5.14.0-570.58.1.el9_6.x86_64", "kernel-headers"}},
      {kRhel9Like,
       "5.14.0-570.58.1.el9_6.x86_64",
       SourceKind::kPrecompiled,
       "580.95.05",
       {"packages", "verify"},
       {"kmod-nvidia-580.95.05-5.14.0-570.58.1"}},
      {"ID=fedora\nVERSION_ID=42\n",
       "6.16.11-200.fc42.x86_64",
       SourceKind::kNvidia,
       "580",
       {"headers", "build", "verify"},
       {"kernel-devel-6.16.11-200.fc42.x86_64", "kernel-headers"}},
      {"ID=amzn\nID_LIKE=fedora\nVERSION_ID=2023\n",
       "6.1.155-176.282.amzn2023.x86_64",
       SourceKind::kNvidia,
       "580",
       {"headers", "build", "verify"},
       {"kernel-devel-6.1.155-176.282.amzn2023.x86_64", "kernel-headers",
        "kernel-modules-extra-6.1.155-176.282.amzn2023.x86_64"}},
      {kSles15Like,
       "6.4.0-150600.23.78-default",
       SourceKind::kNvidia,
       "580",
       {"package-lists", "modules", "verify"},
       {"nvidia-open-driver-G06-signed-cuda-kmp-default<581"}},
  };
  for (const KernelCase& one : cases) {
    SCOPED_TRACE(fmt::format("{} {}", one.os_release, ToString(one.source)));
    HostFacts facts = FactsOfKernel(one.os_release, one.release);
    facts.host.kernel.dkms = host::DkmsModule{.name = "nvidia", .version = one.version};
    const auto plan = PlanAnotherKernel(facts, PlanOfDriver(one.source, one.version));
    ASSERT_OK(plan);
    EXPECT_EQ(plan->kernel, one.release);
    EXPECT_EQ(plan->version, one.version);
    EXPECT_EQ(IdsOf(*plan), one.ids);
    EXPECT_EQ(FirstPackagesOf(*plan), one.packages);
    EXPECT_THAT(plan->notes, Contains(HasSubstr("is not running")));
  }
}

TEST(AnotherKernelTest, ThatRunsGetsItsModulesLoaded) {
  HostFacts facts = FactsOfKernel("ID=debian\nVERSION_ID=12\n", "6.1.0-57-amd64");
  facts.kernel.is_running = true;
  const auto plan = PlanAnotherKernel(facts, PlanOfDriver(SourceKind::kDistribution, "535"));
  ASSERT_OK(plan);
  EXPECT_THAT(IdsOf(*plan), ElementsAre("package-lists", "headers", "build", "load", "device-nodes",
                                        "memory-nodes", "persistence", "verify"));
}

TEST(AnotherKernelTest, AFileThatTheDriverWroteIsNotWrittenAgain) {
  HostFacts facts = FactsOfKernel("ID=debian\nVERSION_ID=12\n", "6.1.0-57-amd64");
  facts.kernel.is_running = true;
  facts.host.kernel.dkms = host::DkmsModule{.name = "nvidia", .version = "580.95.05"};
  Plan ours = PlanOfDriver(SourceKind::kRunFile, "580.95.05");
  const auto first = PlanAnotherKernel(facts, ours);
  ASSERT_OK(first);
  EXPECT_THAT(IdsOf(*first), Contains("persistence-unit")) << "its plan was for an image";
  ours.steps.push_back(
      {.id = "persistence-unit", .title = "", .source = "", .action = WriteFile{}});
  const auto second = PlanAnotherKernel(facts, ours);
  ASSERT_OK(second);
  EXPECT_THAT(IdsOf(*second), Not(Contains("persistence-unit")));
}

TEST(AnotherKernelTest, IsRefusedWhereModulesAreForOneKernelOnly) {
  const HostFacts facts = FactsOfKernel(kRhel9Like, "5.14.0-570.58.1.el9_6.x86_64");
  EXPECT_THAT(
      PlanAnotherKernel(facts, PlanOfDriver(SourceKind::kRunFile, "580.95.05")),
      StatusIs(StatusCode::kFailedPrecondition, HasSubstr("because DKMS was missing: run")));
  const HostFacts image = FactsOfKernel("ID=rhcos\nID_LIKE=\"rhel fedora\"\nVERSION_ID=4.16\n",
                                        "5.14.0-427.95.1.el9_4.x86_64");
  EXPECT_THAT(PlanAnotherKernel(image, PlanOfDriver(SourceKind::kRunFile, "580.95.05")),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("of this image")));
}

}  // namespace
}  // namespace kgpu::driver

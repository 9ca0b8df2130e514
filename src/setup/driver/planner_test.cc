#include "src/setup/driver/planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/scripted_runner.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr std::string_view kRelease = "6.1.0-56-amd64";

// What debootstrap and the kernel's headers leave in a folder.
void MakeChroot(const TempDir& dir) {
  dir.WriteFile("etc/os-release",
                "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
                "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  dir.WriteFile("etc/apt/sources.list", "deb http://mirror.example/debian bookworm main\n");
  dir.WriteFile("lib/modules/6.1.0-56-amd64/build/Makefile", "");
  dir.WriteFile("lib/modules/6.1.0-9-amd64/build/Makefile", "");
  dir.WriteFile("var/lib/dpkg/status", "");
}

const Step* Find(const Plan& plan, std::string_view id) {
  const auto step = std::ranges::find(plan.steps, id, &Step::id);
  return step == plan.steps.end() ? nullptr : &*step;
}

TEST(VersionTest, IsOfTheBranchItBeginsWith) {
  EXPECT_TRUE(IsVersion("580.95.05", "580"));
  EXPECT_TRUE(IsVersion("580.95.05", "580.95.05"));
  EXPECT_FALSE(IsVersion("580.95.05", "58"));
  EXPECT_FALSE(IsVersion("580.95.05", "580.95.0"));
  EXPECT_FALSE(IsVersion("580.95.05", ""));
  EXPECT_FALSE(IsVersion("", "580"));
}

TEST(ReplacedVersionTest, IsThatOfAnotherDriver) {
  HostFacts facts;
  Plan plan;
  plan.version = "580";
  EXPECT_EQ(ReplacedVersion(facts, plan), "") << "nothing is here";
  facts.existing = Existing::kPackages;
  facts.existing_version = "535.183.01";
  EXPECT_EQ(ReplacedVersion(facts, plan), "535.183.01");
  plan.version = "535";
  EXPECT_EQ(ReplacedVersion(facts, plan), "") << "of that branch already";
  plan.steps.push_back(
      {.id = "other-version", .title = "", .source = "", .action = RemovePackages{}});
  EXPECT_EQ(ReplacedVersion(facts, plan), "535.183.01") << "the other kind of modules";
}

TEST(PlannerTest, ServesAChrootOfDebian12) {
  const TempDir dir;
  MakeChroot(dir);
  const auto root = host::OpenDriverRoot(dir.path(), "", "");
  ASSERT_OK(root);
  ScriptedRunner runner;  // has no program
  const auto facts = GatherHostFacts(*root, runner, {});
  ASSERT_OK(facts);
  EXPECT_EQ(facts->kernel.release, kRelease);
  const auto plan = PlanDriver(*facts, {});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->version, "535");
  const Step* packages = Find(*plan, "packages");
  ASSERT_NE(packages, nullptr);
  const auto* install = std::get_if<InstallPackages>(&packages->action);
  ASSERT_NE(install, nullptr);
  EXPECT_THAT(install->names, IsSupersetOf({"nvidia-kernel-dkms", "libcuda1", "nvidia-smi"}));
  EXPECT_EQ(Find(*plan, "load"), nullptr) << "the kernel of a chroot does not run";
}

// Packages that were upgraded while the modules of before were in use.
TEST(PlannerTest, TakesTheVersionOfPackagesForTheOneThatIsHere) {
  const TempDir dir;
  MakeChroot(dir);
  std::string status;
  for (const char* name : {"libcuda1", "linux-modules-nvidia-535-generic", "nvidia-kernel-dkms"}) {
    status += fmt::format("Package: {}\nStatus: install ok installed\nVersion: {}\n\n", name,
                          name[2] == 'n' ? "6.8.0-85.85" : "535.261.03-1~deb12u1");
  }
  dir.WriteFile("var/lib/dpkg/status", status);
  dir.WriteFile("proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.247.01  Mon\n");
  const auto root = host::OpenDriverRoot(dir.path(), "", "");
  ASSERT_OK(root);
  ScriptedRunner runner;  // has no program
  const auto facts = GatherHostFacts(*root, runner, {});
  ASSERT_OK(facts);
  EXPECT_EQ(facts->host.driver.module_version, "535.247.01");
  EXPECT_EQ(facts->existing, Existing::kPackages);
  EXPECT_EQ(facts->existing_version, "535.261.03");
  Request request;
  request.version = "580";
  request.source = SourceKind::kNvidia;
  const auto plan = PlanDriver(*facts, request);
  ASSERT_OK(plan);
  const Step* step = Find(*plan, "other-version");
  ASSERT_NE(step, nullptr);
  EXPECT_THAT(std::get<RemovePackages>(step->action).names,
              IsSupersetOf({"libcuda1", "nvidia-kernel-dkms"}));
}

// A host with NVIDIA's GPUs on which a driver runs.
HostFacts HostWith(std::string_view version) {
  HostFacts facts;
  facts.distribution =
      host::ParseDistribution("ID=ubuntu\nVERSION_ID=\"24.04\"\nPRETTY_NAME=Ubuntu\n");
  facts.arch = "x86_64";
  facts.kernel.release = "6.8.0-85-generic";
  facts.kernel.flavour = "generic";
  facts.kernel.is_running = true;
  facts.gpus = {{0x20b5, Generation::kAmpere}};
  facts.has_systemd = true;
  facts.users = {"nvidia-persistenced.service"};
  facts.host.driver.is_nvidia_loaded = true;
  facts.host.driver.is_open_module = true;
  facts.host.driver.module_version = version;
  facts.host.kernel.loaded = {"nvidia", "nvidia_drm", "nvidia_fs"};
  return facts;
}

size_t IndexOf(const Plan& plan, std::string_view id) {
  const Step* step = Find(plan, id);
  EXPECT_NE(step, nullptr) << id;
  return step == nullptr ? 0 : static_cast<size_t>(step - plan.steps.data());
}

TEST(PlannerTest, StopsAndUnloadsNothingWhereTheBranchRunsAlready) {
  const auto plan = PlanDriver(HostWith("580.65.06"), {});
  ASSERT_OK(plan);
  for (const char* id : {"stop-users", "unload", "reboot", "start-users"}) {
    EXPECT_EQ(Find(*plan, id), nullptr) << id;
  }
}

TEST(PlannerTest, UnloadsAModuleThatItsLibrariesHaveLeftBehind) {
  HostFacts facts = HostWith("580.65.06");
  facts.host.driver.library_versions = {"580.95.05"};
  const auto plan = PlanDriver(facts, {});
  ASSERT_OK(plan);
  EXPECT_NE(Find(*plan, "unload"), nullptr);
}

TEST(PlannerTest, UnloadsTheOtherKindOfModules) {
  HostFacts facts = HostWith("580.65.06");
  facts.host.driver.is_open_module = false;
  const auto plan = PlanDriver(facts, {});
  ASSERT_OK(plan);
  EXPECT_NE(Find(*plan, "unload"), nullptr);
}

TEST(PlannerTest, LetsTheGpusServeUntilTheNewModulesAreThere) {
  const auto plan = PlanDriver(HostWith("535.274.02"), {});
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "packages"), IndexOf(*plan, "stop-users"));
  EXPECT_EQ(IndexOf(*plan, "unload") + 1, IndexOf(*plan, "load"));
}

TEST(PlannerTest, TakesOffPackagesOfTheOtherVersionOnly) {
  HostFacts facts = HostWith("570.195.03");
  facts.distribution = host::ParseDistribution("ID=fedora\nVERSION_ID=42\n");
  facts.existing = Existing::kPackages;
  facts.existing_version = "570.195.03";
  facts.packages = {{"nvidia-driver-cuda", {"570.195.03-1.fc42", false}},
                    {"nvidia-container-toolkit", {"570.195.03-1", false}},
                    {"dkms", {"3.2.1-1", false}}};
  const auto plan = PlanDriver(facts, {});
  ASSERT_OK(plan);
  const Step* step = Find(*plan, "other-version");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->action, Action(RemovePackages{.names = {"nvidia-driver-cuda"}}));
  EXPECT_LT(IndexOf(*plan, "other-version"), IndexOf(*plan, "packages"));
  facts.existing_version = "580.95.05";
  facts.packages["nvidia-driver-cuda"].version = "580.95.05-1.fc42";
  const auto same = PlanDriver(facts, {});
  ASSERT_OK(same);
  EXPECT_EQ(Find(*same, "other-version"), nullptr);
}

TEST(PlannerTest, LoadsWhatWasLoadedAndTellsOfWhatIsNotItsOwn) {
  const auto plan = PlanDriver(HostWith("535.274.02"), {});
  ASSERT_OK(plan);
  EXPECT_EQ(Find(*plan, "load")->action,
            Action(LoadModules{{"nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm"}}));
  EXPECT_THAT(plan->notes, Contains(HasSubstr("nvidia_fs")));
}

TEST(PlannerTest, RestartsForNovaAsForNouveau) {
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.host.driver.rival = "nova_core";
  const auto plan = PlanDriver(facts, {});
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "reboot"), IndexOf(*plan, "load"));
}

TEST(PlannerTest, KeepsNoPackagesOfADriverThatIsGivenUp) {
  HostFacts facts = HostWith("570.195.03");
  facts.distribution = host::ParseDistribution("ID=fedora\nVERSION_ID=42\n");
  facts.existing = Existing::kPackages;
  facts.existing_version = "570.195.03";
  facts.packages = {{"cuda-drivers", {"570.195.03-1.fc42", false}}};
  Request request;
  request.gives_up = true;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  const Step* step = Find(*plan, "other-version");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->action, Action(RemovePackages{.names = {"cuda-drivers"}, .must_return = false}));
  EXPECT_THAT(step->loses, HasSubstr("driver 570.195.03"));
}

size_t CountOf(const Plan& plan, std::string_view id) {
  return static_cast<size_t>(std::ranges::count(plan.steps, id, &Step::id));
}

HostFacts HostWithSecureBoot(std::string_view os_release) {
  HostFacts facts;
  facts.distribution = host::ParseDistribution(os_release);
  facts.arch = "x86_64";
  facts.kernel.release = "5.14.0-570.55.1.el9_6.x86_64";
  facts.kernel.is_running = true;
  facts.host.kernel.secure_boot = true;
  facts.gpus = {{0x20b5, Generation::kAmpere}};
  facts.existing = Existing::kPackages;
  facts.existing_version = "535.309.01";
  facts.packages = {{"nvidia-kernel-dkms", {"535.309.01-1", false}},
                    {"nvidia-driver-cuda-libs", {"535.309.01-1", false}}};
  return facts;
}

TEST(SecureBootPlanTest, AsksForAKeyThatIsHereBeforeTheOldDriverGoes) {
  HostFacts facts = HostWithSecureBoot("ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n");
  facts.host.kernel.key_file = "/var/lib/dkms/mok.pub";
  Request request;
  request.version = "580";
  request.source = SourceKind::kNvidia;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  ASSERT_NE(Find(*plan, "other-version"), nullptr);
  EXPECT_EQ(CountOf(*plan, "enrol-key"), 1U);
  EXPECT_LT(Find(*plan, "enrol-key"), Find(*plan, "other-version"));

  facts.host.kernel.key_file = "";
  const auto unknown = PlanDriver(facts, request);
  ASSERT_OK(unknown);
  EXPECT_GT(Find(*unknown, "enrol-key"), Find(*unknown, "build")) << "DKMS makes it there";

  facts.host.kernel.key_file = "/var/lib/dkms/mok.pub";
  facts.host.kernel.is_key_enrolled = true;
  const auto enrolled = PlanDriver(facts, request);
  ASSERT_OK(enrolled);
  EXPECT_EQ(CountOf(*enrolled, "enrol-key"), 0U);
}

TEST(SecureBootPlanTest, AsksForAKeyThatIsFetchedBeforeTheOldDriverGoes) {
  const HostFacts facts = HostWithSecureBoot("ID=rhel\nID_LIKE=fedora\nVERSION_ID=9.6\n");
  Request request;
  request.version = "580.95.05";
  request.source = SourceKind::kPrecompiled;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  ASSERT_NE(Find(*plan, "other-version"), nullptr);
  EXPECT_EQ(CountOf(*plan, "enrol-key"), 1U);
  EXPECT_LT(Find(*plan, "signing-key"), Find(*plan, "enrol-key"));
  EXPECT_LT(Find(*plan, "enrol-key"), Find(*plan, "other-version"));
}

// NVIDIA/gpu-operator#1726: the modules that a driver container compiled on GKE's Ubuntu were
// refused.
TEST(SecureBootPlanTest, SignedModulesOfGkesUbuntuNeedNoKey) {
  HostFacts facts = HostWithSecureBoot("ID=ubuntu\nVERSION_ID=24.04\nVERSION_CODENAME=noble\n");
  facts.kernel.release = "6.8.0-1029-gke";
  facts.prebuilt_modules = {"linux-modules-nvidia-580-server-open-6.8.0-1029-gke"};
  facts.arch = "aarch64";
  facts.gpus = {{0x2941, Generation::kBlackwell}};  // GB200
  facts.existing = Existing::kNone;
  facts.existing_version.clear();
  facts.packages.clear();
  const auto plan = PlanDriver(facts, {});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->source, SourceKind::kDistribution);
  EXPECT_EQ(plan->kind, ModuleKind::kOpen);
  EXPECT_EQ(CountOf(*plan, "enrol-key"), 0U);
  EXPECT_EQ(CountOf(*plan, "build"), 0U) << "Ubuntu has built and signed them";

  Request request;
  request.source = SourceKind::kNvidia;
  request.version = "580.65.06";
  const auto built = PlanDriver(facts, request);
  ASSERT_OK(built);
  EXPECT_EQ(CountOf(*built, "enrol-key"), 1U) << "a person must do that";
}

// The restart that belongs to it would bring nouveau back.
TEST(SecureBootPlanTest, AsksLateWhereNouveauHasTheGpus) {
  HostFacts facts = HostWithSecureBoot("ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n");
  facts.host.kernel.key_file = "/var/lib/dkms/mok.pub";
  facts.host.driver.rival = "nouveau";
  Request request;
  request.version = "580";
  request.source = SourceKind::kNvidia;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  EXPECT_EQ(CountOf(*plan, "enrol-key"), 1U);
  EXPECT_GT(Find(*plan, "enrol-key"), Find(*plan, "other-version"));
}

TEST(PlannerTest, TakesTheInstallersDriverOffOnlyWhenItIsGivenUp) {
  HostFacts facts = HostWith("535.183.01");
  facts.existing = Existing::kRunFile;
  facts.existing_version = "535.183.01";
  Request request;
  const auto kept = PlanDriver(facts, request);
  ASSERT_OK(kept);
  EXPECT_EQ(Find(*kept, "other-driver"), nullptr);
  request.gives_up = true;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "other-driver"), IndexOf(*plan, "packages"));
  EXPECT_THAT(Find(*plan, "other-driver")->loses, HasSubstr("535.183.01"));
}

DriverFile FileOf(std::string version, FileKind kind = FileKind::kDriverRun) {
  return {.kind = kind,
          .path = "/d.run",
          .version = std::move(version),
          .arch = "x86_64",
          .package = ""};
}

// An installer's file on a host with nouveau and Secure Boot.
HostFacts HostWithFile(std::string version) {
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.host.driver.rival = "nouveau";
  facts.host.kernel.loaded = {"nouveau"};
  facts.users = {};
  facts.file = FileOf(std::move(version));
  return facts;
}

Request RunFile() {
  Request request;
  request.source = SourceKind::kRunFile;
  return request;
}

const std::vector<std::string>& InstallerOf(const Plan& plan) {
  return std::get<RunCommand>(plan.steps[IndexOf(plan, "installer")].action).command.argv;
}

TEST(RunFilePlanTest, ClearsTheWayBeforeTheInstallerRuns) {
  const auto plan = PlanDriver(HostWithFile("580.95.05"), RunFile());
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "reboot"), IndexOf(*plan, "installer"));
  EXPECT_LT(IndexOf(*plan, "persistence-unit"), IndexOf(*plan, "persistence"));
}

TEST(RunFilePlanTest, IsTakenBackWithoutTouchingADriverOfAnotherVersion) {
  HostFacts facts = HostWithFile("580.95.05");
  facts.existing = Existing::kRunFile;
  facts.existing_version = "535.183.01";
  const auto plan = PlanDriver(facts, RunFile());
  ASSERT_OK(plan);
  const Step& installer = plan->steps[IndexOf(*plan, "installer")];
  EXPECT_THAT(std::get<RunCommand>(installer.action).undo.argv,
              Contains(HasSubstr("*'(580.95.05)'*) exec /usr/bin/nvidia-uninstall")));
  EXPECT_EQ(installer.loses, "driver 535.183.01 from NVIDIA's installer");
  facts.existing_version = "580.95.05";
  const auto same = PlanDriver(facts, RunFile());
  ASSERT_OK(same);
  const Step& again = same->steps[IndexOf(*same, "installer")];
  EXPECT_THAT(std::get<RunCommand>(again.action).undo.argv, ElementsAre()) << "it was here before";
  EXPECT_EQ(again.loses, "");
}

TEST(RunFilePlanTest, GivesTheInstallerAKeyOrLeavesSigningToDkms) {
  HostFacts facts = HostWithFile("580.95.05");
  facts.host.kernel.secure_boot = true;
  const auto plan = PlanDriver(facts, RunFile());
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "signing-key"), IndexOf(*plan, "enrol-key"));
  EXPECT_LT(IndexOf(*plan, "enrol-key"), IndexOf(*plan, "installer"));
  EXPECT_THAT(InstallerOf(*plan), Contains(HasSubstr("--module-signing-secret-key=")));
  facts.programs = {"/usr/sbin/dkms"};
  const auto with_dkms = PlanDriver(facts, RunFile());
  ASSERT_OK(with_dkms);
  EXPECT_THAT(InstallerOf(*with_dkms), Contains("--dkms"));
  EXPECT_THAT(InstallerOf(*with_dkms), Not(Contains(HasSubstr("signing"))));
}

TEST(RunFilePlanTest, RefusesCudasInstallerUnderSecureBoot) {
  HostFacts facts = HostWithFile("580.95.05");
  facts.host.kernel.secure_boot = true;
  facts.file = FileOf("580.95.05", FileKind::kCudaRun);
  EXPECT_THAT(PlanDriver(facts, RunFile()),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("driver's own installer")));
}

TEST(RunFilePlanTest, NamesTheKindOfModulesAsItsBranchTakesIt) {
  HostFacts facts = HostWithFile("390.157");
  facts.gpus = {{0x06d1, Generation::kFermi}};
  const auto old = PlanDriver(facts, RunFile());
  ASSERT_OK(old);
  EXPECT_THAT(InstallerOf(*old), Not(Contains(HasSubstr("kernel-module-type"))));
  EXPECT_THAT(InstallerOf(*old), Not(Contains(HasSubstr("-m="))));
  facts.gpus = {{0x20b5, Generation::kAmpere}};
  facts.file = FileOf("535.309.01");
  facts.kernel.is_running = false;
  const auto middle = PlanDriver(facts, RunFile());
  ASSERT_OK(middle);
  EXPECT_THAT(InstallerOf(*middle), Contains("-m=kernel"));
  EXPECT_THAT(InstallerOf(*middle), Not(Contains("--no-kernel-module-source")));
}

TEST(PlannerTest, NoPackageOfHeadersIsWantedWhereTheyAre) {
  Request request;
  request.has_headers = true;
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.distribution = host::ParseDistribution("ID=debian\nVERSION_ID=\"12\"\n");
  const auto debian = PlanDriver(facts, request);
  ASSERT_OK(debian);
  EXPECT_EQ(Find(*debian, "headers"), nullptr);
  facts.distribution = host::ParseDistribution("ID=sles\nID_LIKE=suse\nVERSION_ID=15.6\n");
  facts.file =
      DriverFile{.path = "/d.run", .version = "580.95.05", .arch = "x86_64", .package = ""};
  request.source = SourceKind::kRunFile;
  const auto suse = PlanDriver(facts, request);
  ASSERT_OK(suse);
  const Step* compilers = Find(*suse, "headers");
  ASSERT_NE(compilers, nullptr);
  EXPECT_THAT(std::get<InstallPackages>(compilers->action).names, ElementsAre("gcc", "make"));
}

TEST(DebianPlanTest, HeadersFollowTheKernelsThatTheHostGets) {
  const struct {
    const char* os_release;
    const char* release;
    const char* image;
    const char* headers;
  } kCases[] = {
      {"ID=debian\nVERSION_ID=12\n", "6.1.0-56-amd64", "linux-image-amd64", "linux-headers-amd64"},
      {"ID=debian\nVERSION_ID=12\n", "6.1.0-56-cloud-amd64", "linux-image-cloud-amd64",
       "linux-headers-cloud-amd64"},
      {"ID=debian\nVERSION_ID=13\n", "6.12.48+deb13-arm64", "linux-image-arm64",
       "linux-headers-arm64"},
      {"ID=ubuntu\nVERSION_ID=24.04\n", "6.14.0-33-generic", "linux-image-generic-hwe-24.04",
       "linux-headers-generic-hwe-24.04"},
      {"ID=ubuntu\nVERSION_ID=24.04\n", "6.8.0-85-generic", "linux-image-virtual",
       "linux-headers-virtual"},
      {"ID=ubuntu\nVERSION_ID=24.04\n", "6.8.0-1040-aws", "linux-image-aws-lts-24.04",
       "linux-headers-aws-lts-24.04"},
  };
  Request request;
  request.source = SourceKind::kNvidia;
  for (const auto& one : kCases) {
    HostFacts facts = HostWith("");
    facts.host.driver = {};
    facts.distribution = host::ParseDistribution(one.os_release);
    facts.kernel.release = one.release;
    facts.kernel.flavour = FlavourOf(one.release);
    facts.packages[one.image].version = "1";
    facts.packages[fmt::format("linux-image-{}", one.release)].version = "1";
    facts.packages["linux-image-other"].version = "1";
    const auto plan = PlanDriver(facts, request);
    ASSERT_OK(plan);
    const Step* headers = Find(*plan, "headers");
    ASSERT_NE(headers, nullptr) << one.release;
    EXPECT_THAT(std::get<InstallPackages>(headers->action).names,
                ElementsAre(fmt::format("linux-headers-{}", one.release), one.headers));
  }
}

TEST(DebianPlanTest, SaysWhatTheAdminMustDoWhereNoPackageFollowsTheKernel) {
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.distribution =
      host::ParseDistribution("ID=debian\nVERSION_ID=12\nVERSION_CODENAME=bookworm\n");
  facts.kernel.release = "6.1.0-56-amd64";
  facts.kernel.flavour = "amd64";
  const auto by_hand = PlanDriver(facts, {});
  ASSERT_OK(by_hand);
  EXPECT_THAT(by_hand->notes, Contains(HasSubstr("install the headers (linux-headers-RELEASE)")));
  facts.kernel.release = "6.12.38+bpo-amd64";
  facts.packages["linux-image-amd64"].version = "6.12.38-1~bpo12+1";
  const auto backports = PlanDriver(facts, {});
  ASSERT_OK(backports);
  EXPECT_THAT(backports->notes,
              Contains(HasSubstr("apt-get install -t bookworm-backports linux-headers-amd64")));
  EXPECT_THAT(std::get<InstallPackages>(Find(*backports, "headers")->action).names,
              ElementsAre("linux-headers-6.12.38+bpo-amd64"));
}

TEST(RhelPlanTest, KnowsTheHeadersOfItsKernels) {
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.distribution = host::ParseDistribution("ID=rocky\nID_LIKE=rhel\nVERSION_ID=9.6\n");
  const struct {
    const char* release;
    const char* package;
  } kCases[] = {
      {"5.14.0-570.el9_6.x86_64", "kernel-devel-5.14.0-570.el9_6.x86_64"},
      {"5.14.0-570.el9_6.x86_64+rt", "kernel-rt-devel-5.14.0-570.el9_6.x86_64"},
      {"4.18.0-553.rt7.342.el8_10.x86_64", "kernel-rt-devel-4.18.0-553.rt7.342.el8_10.x86_64"},
      {"5.15.0-300.el9uek.x86_64", "kernel-uek-devel-5.15.0-300.el9uek.x86_64"},
  };
  for (const auto& one : kCases) {
    facts.kernel.release = one.release;
    const auto plan = PlanDriver(facts, {});
    ASSERT_OK(plan);
    const Step* headers = Find(*plan, "headers");
    ASSERT_NE(headers, nullptr);
    EXPECT_THAT(std::get<InstallPackages>(headers->action).names, Contains(one.package));
  }
}

TEST(RhelPlanTest, AddsEpelForALocalRepositoryToo) {
  HostFacts facts = HostWith("");
  facts.host.driver = {};
  facts.distribution = host::ParseDistribution("ID=rocky\nID_LIKE=rhel\nVERSION_ID=9.6\n");
  facts.file = DriverFile{.kind = FileKind::kLocalRpm,
                          .path = "/r.rpm",
                          .version = "580.95.05",
                          .arch = "x86_64",
                          .package = "r"};
  Request request;
  request.source = SourceKind::kLocalRepo;
  const auto plan = PlanDriver(facts, request);
  ASSERT_OK(plan);
  EXPECT_LT(IndexOf(*plan, "epel"), IndexOf(*plan, "packages"));
}

TEST(RhelPlanTest, WantsAWholeVersionForModulesOfOneKernel) {
  HostFacts facts = HostWith("");
  facts.distribution = host::ParseDistribution("ID=rhel\nVERSION_ID=9.6\n");
  Request request;
  request.source = SourceKind::kPrecompiled;
  EXPECT_THAT(PlanDriver(facts, request),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("--version 580.95.05")));
}

TEST(RhcosPlanTest, RefusesGpusWithSwitches) {
  HostFacts facts = HostWithFile("580.95.05");
  facts.distribution = host::ParseDistribution("ID=rhcos\nVERSION_ID=4.16\n");
  facts.nvswitches = 6;
  Request request = RunFile();
  request.toolkit_image = "image";
  EXPECT_THAT(PlanDriver(facts, request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("fabric manager")));
}

}  // namespace
}  // namespace kgpu::driver

#include "src/setup/driver/preflight.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Pair;

namespace fs = std::filesystem;
using report::Finding;
using report::Severity;

// Answers each call with the next of its results.
class ScriptedRunner final : public sys::ProgramRunner {
 public:
  void Add(int code, std::string out) {
    sys::RunResult result;
    result.exit.code = code;
    result.out = std::move(out);
    results_.push_back(std::move(result));
  }
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    argvs.push_back(request.argv);
    if (argvs.size() > results_.size()) {
      return NotFound("{}: no such program", request.argv[0]);
    }
    return results_[argvs.size() - 1];
  }
  std::vector<std::vector<std::string>> argvs;

 private:
  std::vector<sys::RunResult> results_;
};

Plan InstallOf(std::string name) {
  Plan plan;
  plan.steps.push_back(
      {.id = "packages", .title = "", .source = "", .action = InstallPackages{{std::move(name)}}});
  return plan;
}

HostFacts Debian() {
  HostFacts facts;
  facts.distribution.family = host::Family::kDebian;
  facts.programs = {"/usr/bin/apt-get"};
  facts.apt = {
      {.file = "f", .uri = "http://a", .suite = "s", .components = {"main"}, .signed_by = ""}};
  return facts;
}

// A folder below which packages can be installed.
class MountedDir : public TempDir {
 public:
  MountedDir() {
    WriteFile("proc/version", "");
    WriteFile("dev/null", "");
  }
};

TEST(CheckFactsTest, FindsNothingOnAPlainHost) {
  EXPECT_THAT(CheckFacts({}, {}), IsEmpty());
}

TEST(CheckFactsTest, RefusesAFullDisk) {
  HostFacts facts;
  facts.space = {{"/usr", uint64_t{10} << 30}, {"/boot", uint64_t{100} << 20}};
  EXPECT_THAT(
      CheckFacts(facts, {}),
      ElementsAre(AllOf(Field(&Finding::id, "space"), Field(&Finding::severity, Severity::kError),
                        Field(&Finding::message, HasSubstr("100 MiB are free below /boot")))));
}

TEST(CheckFactsTest, RefusesPackagesOverAnInstallersDriver) {
  HostFacts facts;
  facts.existing = Existing::kRunFile;
  EXPECT_THAT(
      CheckFacts(facts, {}),
      ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                        Field(&Finding::fix, Field(&report::Fix::commands,
                                                   Contains(HasSubstr("nvidia-uninstall")))))));
  EXPECT_THAT(CheckFacts(facts, {}, true), IsEmpty()) << "it is given up";
}

TEST(CheckFactsTest, TellsOnceOfADriverThatNobodyOwns) {
  HostFacts facts;
  facts.existing = Existing::kOther;
  facts.existing_version = "535.104.05";
  facts.host.driver.module_version = "535.104.05";
  facts.host.driver.library_versions = {"535.104.05"};
  Plan plan;
  plan.version = "580";
  EXPECT_THAT(CheckFacts(facts, plan),
              ElementsAre(AllOf(Field(&Finding::id, "other-driver"),
                                Field(&Finding::severity, Severity::kError))));
  EXPECT_THAT(CheckFacts(facts, plan, true),
              ElementsAre(AllOf(Field(&Finding::id, "other-driver"),
                                Field(&Finding::severity, Severity::kWarning))));
}

TEST(CheckPackagesTest, RefusesAHostWithoutWhatThePlanInstallsWith) {
  for (const auto& [family, program] : {std::pair{host::Family::kUbuntu, "apt-get"},
                                        {host::Family::kRhel, "dnf"},
                                        {host::Family::kSuse, "zypper"}}) {
    HostFacts facts;
    facts.distribution.family = family;
    ScriptedRunner runner;
    const TempDir dir;
    const auto root = sys::Root::Open(dir.path());
    ASSERT_OK(root);
    EXPECT_THAT(CheckPackages(facts, InstallOf("driver"), *root, runner),
                ElementsAre(AllOf(Field(&Finding::id, "package-manager"),
                                  Field(&Finding::severity, Severity::kError),
                                  Field(&Finding::message, HasSubstr(program)))));
    EXPECT_THAT(CheckPackages(facts, {}, *root, runner), IsEmpty()) << "it installs none";
  }
}

TEST(CheckFactsTest, LetsPackagesGiveWayThatAreKept) {
  HostFacts facts;
  facts.existing = Existing::kPackages;
  facts.existing_version = "535.183.01";
  Plan plan;
  plan.version = "580";
  facts.packages = {{"nvidia-kernel-dkms", {"580.95.05-1", false}}};
  EXPECT_THAT(CheckFacts(facts, plan), IsEmpty()) << "only what is loaded is of another version";
  facts.packages = {{"nvidia-kernel-dkms", {"535.183.01-1", false}}};
  EXPECT_THAT(CheckFacts(facts, plan),
              ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                                Field(&Finding::fix, Field(&report::Fix::commands,
                                                           Contains(HasSubstr("--no-restore")))))))
      << "in the place of the old ones";
  plan.steps.push_back(
      {.id = "", .title = "", .source = "", .action = RemovePackages{.names = {"libcuda1"}}});
  EXPECT_THAT(CheckFacts(facts, plan), IsEmpty());
}

TEST(CheckFactsTest, RefusesHeldPackagesOfTheDriverOnly) {
  HostFacts facts;
  facts.packages = {{"nvidia-utils-535", {"535.1", true}},
                    {"libnvpair3linux", {"2.1.11", true}},
                    {"nvidia-cuda-toolkit", {"11.8", true}},
                    {"vim", {"9", true}}};
  EXPECT_THAT(
      CheckFacts(facts, {}),
      ElementsAre(Field(&Finding::fix, Field(&report::Fix::commands,
                                             ElementsAre("apt-mark unhold nvidia-utils-535")))));
}

TEST(CheckFactsTest, WarnsOfWhatCouldNotBeConfiguredBefore) {
  HostFacts facts;
  facts.packages = {{"nvidia-kernel-dkms", {"535.183.01-1", false, true}},
                    {"libcuda1", {"535.183.01-1", false}}};
  Plan plan;
  plan.steps.push_back({.id = "",
                        .title = "",
                        .source = "",
                        .action = RemovePackages{.names = {"libcuda1", "nvidia-kernel-dkms"}}});
  EXPECT_THAT(CheckFacts(facts, plan),
              ElementsAre(AllOf(
                  Field(&Finding::id, "unfinished"), Field(&Finding::severity, Severity::kWarning),
                  Field(&Finding::message, HasSubstr("failure: nvidia-kernel-dkms")))));
}

// A host whose driver is to be exchanged.
HostFacts Loaded() {
  HostFacts facts;
  facts.host.driver.is_nvidia_loaded = true;
  facts.users = {"nvidia-persistenced.service"};
  facts.holders = {{.pid = 90,
                    .name = "nvidia-persiste",
                    .cgroup = "/system.slice/nvidia-persistenced.service"}};
  return facts;
}

Plan Unloading() {
  Plan plan;
  plan.steps.push_back(
      {.id = "unload", .title = "", .source = "", .action = UnloadModules{{"nvidia"}}});
  return plan;
}

TEST(CheckFactsTest, LetsThePlanStopTheUnitsThatHoldTheGpus) {
  EXPECT_THAT(CheckFacts(Loaded(), Unloading()), IsEmpty());
}

TEST(CheckFactsTest, RefusesToUnloadUnderProcessesThatHoldTheGpus) {
  HostFacts facts = Loaded();
  facts.holders.push_back({.pid = 4711, .name = "python3", .cgroup = "/user.slice"});
  EXPECT_THAT(
      CheckFacts(facts, Unloading()),
      ElementsAre(AllOf(Field(&Finding::id, "users"), Field(&Finding::severity, Severity::kError),
                        Field(&Finding::message, HasSubstr("python3 (4711)")))));
  EXPECT_THAT(CheckFacts(facts, {}), IsEmpty()) << "a plan that unloads nothing";
}

TEST(CheckFactsTest, SendsThoseOfPodsToTheCluster) {
  HostFacts facts = Loaded();
  facts.holders.push_back({.pid = 5, .name = "x", .cgroup = "/kubepods.slice/pod1/cri-1.scope"});
  EXPECT_THAT(CheckFacts(facts, Unloading()),
              ElementsAre(Field(&Finding::fix, Field(&report::Fix::commands,
                                                     Contains(HasSubstr("kubectl drain"))))));
}

TEST(CheckFactsTest, WarnsOfADisplayAndDoesNotCountItTwice) {
  HostFacts facts = Loaded();
  host::Daemon display;
  display.pid = 7;
  display.name = "Xorg";
  facts.host.displays = {display};
  facts.holders.push_back({.pid = 7, .name = "Xorg", .cgroup = "/user.slice/session-1.scope"});
  EXPECT_THAT(CheckFacts(facts, Unloading()),
              ElementsAre(AllOf(Field(&Finding::id, "display"),
                                Field(&Finding::severity, Severity::kWarning))));
}

TEST(CheckPackagesTest, RefusesARootWithoutProcOrDevices) {
  const MountedDir dir;
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  fs::remove(dir.At("dev/null"));
  EXPECT_THAT(
      CheckPackages(Debian(), InstallOf("x"), *host, runner),
      ElementsAre(AllOf(
          Field(&Finding::id, "host-root"), Field(&Finding::severity, Severity::kError),
          Field(&Finding::message, HasSubstr(fmt::format("{}/dev has no devices", dir.path()))),
          Field(&Finding::fix,
                Field(&report::Fix::commands, ElementsAre(HasSubstr("mount --bind /dev")))))));
  fs::remove(dir.At("proc/version"));
  EXPECT_THAT(CheckPackages(Debian(), InstallOf("x"), *host, runner),
              ElementsAre(Field(&Finding::message, HasSubstr("/proc is not mounted, and "))));
  EXPECT_THAT(runner.argvs, IsEmpty());
}

TEST(CheckPackagesTest, AsksAptWithoutTouchingItsLists) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  runner.Add(0, "");
  runner.Add(0, "");
  EXPECT_THAT(CheckPackages(Debian(), InstallOf("x"), *host, runner), IsEmpty());
  ASSERT_EQ(runner.argvs.size(), 2U);
  for (const auto& argv : runner.argvs) {
    EXPECT_THAT(argv, Contains(HasSubstr("Dir::State::lists=/var/cache/kgpu-preflight-")));
  }
  EXPECT_THAT(runner.argvs[1], Contains("--simulate"));
  EXPECT_THAT(host->ListDir("var/cache"), IsOkAndHolds(IsEmpty()));
}

// Is asked to end while apt is asked.
class InterruptedRunner final : public sys::ProgramRunner {
 public:
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    if (!request.leads_session) {  // apt would go on writing
      std::_Exit(1);
    }
    (void)raise(SIGTERM);
    return MakeStatus(StatusCode::kCancelled, "apt-get: stopped");
  }
};

TEST(CheckPackagesTest, LeavesNoListsBehind) {
  const MountedDir dir;
  dir.WriteFile("var/cache/kgpu-preflight-abcdef/lists/of_a_process_that_was_killed", "");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  EXPECT_EXIT(
      {
        InterruptedRunner runner;
        (void)CheckPackages(Debian(), InstallOf("x"), *host, runner);
        std::_Exit(0);
      },
      ::testing::KilledBySignal(SIGTERM), "");
  EXPECT_THAT(host->ListDir("var/cache"), IsOkAndHolds(IsEmpty()));
}

// Looks what is preferred while apt is asked.
class PreferencesRunner final : public sys::ProgramRunner {
 public:
  explicit PreferencesRunner(const sys::Root& host) : host_(host) {}
  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    constexpr std::string_view kOption = "Dir::Etc::preferencesparts=";
    for (const std::string& argument : request.argv) {
      if (argument.starts_with(kOption)) {
        const std::string folder = argument.substr(kOption.size());
        const auto names = host_.ListDir(folder);
        EXPECT_OK(names);
        for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
          seen[name] = host_.ReadFile(fmt::format("{}/{}", folder, name)).value_or("");
        }
      }
    }
    sys::RunResult result;
    result.exit.code = 0;
    return result;
  }
  std::map<std::string, std::string> seen;

 private:
  const sys::Root& host_;
};

TEST(CheckPackagesTest, AsksAptWithWhatWillBePreferredThen) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  dir.WriteFile("etc/apt/preferences.d/kgpu-nvidia", "565\n");
  dir.WriteFile("etc/apt/preferences.d/nvidia-driver-pinning-570", "570\n");
  dir.WriteFile("etc/apt/preferences.d/theirs", "bash\n");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  Plan plan = InstallOf("x");
  PreferencesRunner before(*host);
  EXPECT_THAT(CheckPackages(Debian(), plan, *host, before), IsEmpty());
  EXPECT_THAT(before.seen,
              ElementsAre(Pair("kgpu-nvidia", "565\n"), Pair("nvidia-driver-pinning-570", "570\n"),
                          Pair("theirs", "bash\n")));
  plan.steps.push_back({.id = "other-version",
                        .title = "",
                        .source = "",
                        .action = RemovePackages{.names = {"nvidia-driver-pinning-570"}}});
  plan.steps.push_back({.id = "branch",
                        .title = "",
                        .source = "",
                        .action = WriteFile{"/etc/apt/preferences.d/kgpu-nvidia", "550\n", 0644}});
  PreferencesRunner after(*host);
  EXPECT_THAT(CheckPackages(Debian(), plan, *host, after), IsEmpty());
  EXPECT_THAT(after.seen, ElementsAre(Pair("kgpu-nvidia", "550\n"), Pair("theirs", "bash\n")));
}

TEST(CheckPackagesTest, RefusesWhatAptCannotInstallWithItsReason) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  runner.Add(0, "");
  runner.Add(100,
             "The following packages have unmet dependencies:\n"
             " nvidia-open-kernel-dkms : Depends: firmware-nvidia-gsp (= 535.261.03)\n"
             "E: Unable to correct problems, you have held broken packages.\n");
  EXPECT_THAT(CheckPackages(Debian(), InstallOf("nvidia-open-kernel-dkms"), *host, runner),
              ElementsAre(AllOf(Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("firmware-nvidia-gsp")))));
}

TEST(CheckPackagesTest, RefusesAVersionThatTheDistributionDoesNotHave) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  Plan plan = InstallOf("libcuda1");
  plan.source = SourceKind::kDistribution;
  for (const auto& [version, is_there] :
       {std::pair{"535.309.01", true}, {"535.261.03", false}, {"535", true}}) {
    plan.version = version;
    ScriptedRunner runner;
    runner.Add(0, "");
    runner.Add(0,
               "Inst nvidia-modprobe (535.161.07-1 Debian:12.9/stable [amd64])\n"
               "Inst libcuda1 [470.1-1] (535.309.01-1~deb12u1 Debian:12.9/stable [amd64])\n");
    const Findings findings = CheckPackages(Debian(), plan, *host, runner);
    EXPECT_EQ(findings.empty(), is_there) << version;
    for (const Finding& finding : findings) {
      EXPECT_EQ(finding.message, "the distribution has driver 535.309.01, not 535.261.03");
      EXPECT_EQ(finding.severity, Severity::kError);
    }
  }
}

TEST(CheckPackagesTest, RefusesToTakeOffWhatItsArchiveHasNoMore) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  HostFacts facts = Debian();
  facts.packages = {{"libcuda1", {"535.183.01-1", false}}};
  Plan plan;
  plan.steps.push_back(
      {.id = "", .title = "", .source = "", .action = RemovePackages{.names = {"libcuda1"}}});
  ScriptedRunner runner;
  runner.Add(0, "");
  runner.Add(100, "E: Version '535.183.01-1' for 'libcuda1' was not found\n");
  EXPECT_THAT(CheckPackages(facts, plan, *host, runner),
              ElementsAre(AllOf(Field(&Finding::id, "way-back"),
                                Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("'libcuda1' was not found")))));
  ASSERT_EQ(runner.argvs.size(), 2U);
  EXPECT_THAT(runner.argvs[1], AllOf(Contains("--print-uris"), Contains("libcuda1=535.183.01-1")));
}

// A driver by kgpu is removed before the plan: with its files, and only if it could come again.
TEST(CheckPackagesTest, CountsOnADriverThatGivesWay) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  dir.WriteFile("etc/apt/preferences.d/kgpu-nvidia", "565\n");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  HostFacts facts = Debian();
  facts.former = {{"libcuda1", {"535.183.01-1", true}}};
  facts.ours.emplace().steps.push_back(
      {.id = "branch",
       .title = "",
       .source = "",
       .action = WriteFile{"/etc/apt/preferences.d/kgpu-nvidia", "565\n", 0644}});
  PreferencesRunner runner(*host);
  CheckPackages(facts, InstallOf("x"), *host, runner);
  EXPECT_THAT(runner.seen, IsEmpty());
  ScriptedRunner gone;
  gone.Add(0, "");
  gone.Add(100, "E: Version '535.183.01-1' for 'libcuda1' was not found\n");
  EXPECT_THAT(CheckPackages(facts, {}, *host, gone), ElementsAre(Field(&Finding::id, "way-back")));
  EXPECT_THAT(CheckFacts(facts, {}), ElementsAre(Field(&Finding::id, "held")));
}

// A host with dnf that takes these off.
Findings FindingsOfDnf(host::Packages packages, ScriptedRunner& runner) {
  const MountedDir dir;
  const auto host = sys::Root::Open(dir.path());
  EXPECT_OK(host);
  HostFacts facts;
  facts.distribution.family = host::Family::kRhel;
  facts.programs = {"/usr/bin/dnf"};
  RemovePackages removal;
  for (const auto& [name, package] : packages) {
    removal.names.push_back(name);
  }
  facts.packages = std::move(packages);
  Plan plan;
  plan.steps.push_back({.id = "", .title = "", .source = "", .action = std::move(removal)});
  return host.ok() ? CheckPackages(facts, plan, *host, runner) : Findings();
}

TEST(CheckPackagesTest, AsksDnfWithoutItsPluginsWhatCouldComeBack) {
  const host::Packages packages = {{"kmod-nvidia-latest-dkms", {"580.95.05-1.el9", false}},
                                   {"nvidia-libs:i686", {"3:580.95.05-1.el9", false}},
                                   {"kmod-nvidia-580.95.05-2.el9", {"3:580.95.05-2.el9", false}}};
  ScriptedRunner runner;
  runner.Add(0,
             "kmod-nvidia-580.95.05-2.el9\nkmod-nvidia-580.95.05-2.el9.x86_64\n\n"
             "kmod-nvidia-latest-dkms-580.95.05-1.el9\nnvidia-libs-580.95.05-1.el9\n"
             "nvidia-libs-580.95.05-1.el9.i686\n");
  EXPECT_THAT(FindingsOfDnf(packages, runner), IsEmpty());
  ASSERT_EQ(runner.argvs.size(), 1U);
  EXPECT_THAT(runner.argvs[0], IsSupersetOf({"repoquery", "kmod-nvidia-580.95.05-2.el9",
                                             "nvidia-libs-580.95.05-1.el9.i686"}));
  ScriptedRunner lacking;
  lacking.Add(0, "nvidia-libs-580.95.05-1.el9\nnvidia-libs-580.95.05-1.el9.x86_64\n");
  EXPECT_THAT(FindingsOfDnf(packages, lacking),
              ElementsAre(AllOf(Field(&Finding::id, "way-back"),
                                Field(&Finding::message,
                                      HasSubstr("no repository has kmod-nvidia-580.95.05-2.el9, "
                                                "kmod-nvidia-latest-dkms-580.95.05-1.el9, "
                                                "nvidia-libs-580.95.05-1.el9.i686")))));
}

TEST(CheckPackagesTest, RefusesSourcesThatAreNotReached) {
  const MountedDir dir;
  dir.MakeDir("var/cache");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  runner.Add(100, "E: Failed to fetch http://a/dists/s/InRelease  Could not resolve 'a'\n");
  EXPECT_THAT(CheckPackages(Debian(), InstallOf("x"), *host, runner),
              ElementsAre(AllOf(Field(&Finding::id, "repositories"),
                                Field(&Finding::message, HasSubstr("Could not resolve")))));
}

TEST(CheckPackagesTest, TakesDnfsNoForAnAnswer) {
  const MountedDir dir;
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  HostFacts facts;
  facts.distribution.family = host::Family::kRhel;
  facts.programs = {"/usr/bin/dnf"};
  ScriptedRunner runner;
  runner.Add(1, "Transaction Summary\nInstall 3 Packages\nOperation aborted.\n");
  EXPECT_THAT(CheckPackages(facts, InstallOf("x"), *host, runner), IsEmpty());
  ScriptedRunner refusing;
  refusing.Add(1, "No match for argument: x\nError: Unable to find a match: x\n");
  EXPECT_THAT(CheckPackages(facts, InstallOf("x"), *host, refusing),
              ElementsAre(Field(&Finding::message, HasSubstr("No match for argument: x"))));
}

// NVIDIA's repository is to be added, and EPEL before it.
Plan RhelPlan() {
  Plan plan;
  const auto add = [&plan](std::string id, Action action) {
    plan.steps.push_back(
        {.id = std::move(id), .title = "", .source = "", .action = std::move(action)});
  };
  add("repository-tool", InstallPackages{{"dnf-plugins-core"}});
  add("repository", RunCommand{});
  add("epel", InstallPackages{{"epel-release"}});
  add("headers", InstallPackages{{"kernel-devel-1"}});
  add("stream", RunCommand{});
  add("packages", InstallPackages{{"kmod-nvidia-open-dkms"}});
  return plan;
}

TEST(CheckPackagesTest, AsksForTheDistributionsOwnWhereARepositoryIsYetToCome) {
  const MountedDir dir;
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  HostFacts facts;
  facts.distribution.family = host::Family::kRhel;
  facts.programs = {"/usr/bin/dnf"};
  ScriptedRunner runner;
  runner.Add(1, "No match for argument: kernel-devel-1\n");
  EXPECT_THAT(CheckPackages(facts, RhelPlan(), *host, runner),
              ElementsAre(Field(&Finding::severity, Severity::kInfo),
                          AllOf(Field(&Finding::severity, Severity::kError),
                                Field(&Finding::message, HasSubstr("kernel-devel-1")))));
  ASSERT_EQ(runner.argvs.size(), 1U);
  EXPECT_THAT(runner.argvs[0], ElementsAre("/usr/bin/dnf", "--assumeno", "install",
                                           "dnf-plugins-core", "kernel-devel-1"));
}

TEST(ReasonTest, IsOneLineOfWhatMatters) {
  EXPECT_EQ(ReasonOf("Reading package lists...\nE: Unable to locate package x\n"),
            "E: Unable to locate package x");
  const std::string lines =
      " a : Depends: b (= 1) but it is not going to be installed\n"
      " a : Depends: c (= 1) but it is not installable\n"
      " a : Depends: d but it is not installable\n a : Depends: e but it is not installable\n"
      "E: Package " +
      std::string(400, 'x') + " has no installation candidate\n";
  EXPECT_THAT(ReasonOf(lines), AllOf(HasSubstr("Depends: e but it is not installable"),
                                     testing::EndsWith("has no installation candidate")));
  EXPECT_EQ(ReasonOf("everything is ok\n"), "");
}

}  // namespace
}  // namespace kgpu::driver

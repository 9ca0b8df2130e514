#include "tests/engines/podman.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace kgpu::engines {
namespace {

// A user of the box alone. Numbers that no distribution gives to anybody.
constexpr uid_t kUser = 58423;
constexpr unsigned kFirstSubordinate = 600'100'000;

// What the user of the box needs to be one: an account, numbers for its containers' users, a home
// and a runtime folder. {0}: its number, {1}: its home, {2}: its subordinate numbers.
constexpr const char* kAccount = R"(
echo "kgpu-tests:x:{0}:{0}::{1}:/bin/sh" >>/etc/passwd
echo "kgpu-tests:x:{0}:" >>/etc/group
echo "kgpu-tests:{2}:65536" >>/etc/subuid
echo "kgpu-tests:{2}:65536" >>/etc/subgid
mkdir -p {1} /run/user/{0}
chown {0}:{0} {1} /run/user/{0}
cd {1}
export HOME={1} XDG_RUNTIME_DIR=/run/user/{0})";

// podman asks for more than some machines allow, and may not ask for as many processes as allowed.
std::vector<std::string> Limits() {
  rlimit files{};
  rlimit processes{};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(getrlimit(RLIMIT_NPROC, &processes), 0);
  constexpr rlim_t kProcesses = 4096;
  return {fmt::format("--ulimit=nofile={0}:{0}", files.rlim_max),
          fmt::format("--ulimit=nproc={0}:{0}", std::min(kProcesses, processes.rlim_max / 2))};
}

Report ReportOf(const e2e::Result& result) {
  Report report = ParseReport(result.out);
  EXPECT_TRUE(report.is_complete) << result.err << result.out;
  return report;
}

}  // namespace

PodmanEngine::PodmanEngine(std::string runtime, User user, const std::string& behind)
    : runtime_(std::move(runtime)), user_(user) {
  if (runtime_ == "crun" || behind == "crun") {
    box_.UseOneCgroupHierarchy();
  }
  if (user_ == User::kRootless) {
    LetEverybodyIn(box_.dir().path());
    box_.AddPrologue(
        fmt::format(fmt::runtime(kAccount), kUser, box_.At("home"), kFirstSubordinate));
  }
}

void PodmanEngine::Start(Image& image, const e2e::SimHost& host) {
  box_.ShareRun(host.path());
  box_.ShareDevices(host.path());
  const std::string archive = image.archive();
  LetEverybodyIn(std::filesystem::path(archive).parent_path());
  LetEverybodyIn(std::filesystem::path(host.path()).parent_path());
  Load(archive);
}

void PodmanEngine::Load(const std::string& archive) const {
  const e2e::Result loaded = Podman({"load", "--quiet", "--input", archive});
  ASSERT_EQ(loaded.code, 0) << loaded.err;
}

std::vector<std::string> PodmanEngine::Argv(std::vector<std::string> words) const {
  std::vector<std::string> argv = {
      "/usr/bin/podman", "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime",
      runtime_};
  if (user_ == User::kRootless) {
    const std::string number = std::to_string(kUser);
    argv.insert(argv.begin(), {"/usr/bin/setpriv", "--reuid", number, "--regid", number,
                               "--clear-groups", "--inh-caps=-all"});
  } else {
    argv.insert(argv.end(), {"--root", box_.At("storage"), "--runroot", box_.At("run/containers"),
                             "--tmpdir", box_.At("run/podman")});
  }
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

e2e::Result PodmanEngine::Podman(std::vector<std::string> words) const {
  return box_.Run(Argv(std::move(words)));
}

std::vector<std::string> PodmanEngine::RunWords(const std::vector<std::string>& flags) const {
  std::vector<std::string> words = {"run", "--rm", "--network=none"};
  if (user_ == User::kRoot) {
    words.push_back("--cgroup-parent=" + box_.cgroup_parent());
  }
  const std::vector<std::string> limits = Limits();
  words.insert(words.end(), limits.begin(), limits.end());
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

std::vector<std::string> PodmanEngine::ReportWords(std::vector<std::string> flags) const {
  flags.insert(flags.end(), {"--entrypoint=/bin/sh", kImageName, "/report"});
  return RunWords(flags);
}

e2e::Result PodmanEngine::Run(const std::vector<std::string>& flags) const {
  return Podman(ReportWords(flags));
}

Report PodmanEngine::RunReport(const std::vector<std::string>& flags) const {
  return ReportOf(Run(flags));
}

void PodmanEngine::RunInBackground(const std::vector<std::string>& words) {
  box_.StartDaemon(Argv(RunWords(words)));
}

Report PodmanEngine::ReportBeside(const std::vector<std::string>& flags) const {
  return ReportOf(box_.Enter(Argv(ReportWords(flags))));
}

}  // namespace kgpu::engines

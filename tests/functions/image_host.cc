#include "tests/functions/image_host.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>

namespace kgpu::e2e {
namespace {

constexpr std::chrono::minutes kEngineLimit{30};

// podman asks for more than some machines allow; and systemd, journald and crun may be missing.
std::string ContainersConf(const TempDir& dir) {
  rlimit files{};
  rlimit processes{};
  EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_EQ(getrlimit(RLIMIT_NPROC, &processes), 0);
  constexpr rlim_t kProcesses = 4096;
  return fmt::format(
      "[containers]\ndefault_ulimits = [\"nofile={0}:{0}\", \"nproc={1}:{1}\"]\n"
      "[engine]\nruntime = \"runc\"\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n"
      "tmp_dir = \"{2}\"\n",
      files.rlim_max, std::min(kProcesses, processes.rlim_max / 2), dir.At("run/libpod"));
}

std::vector<std::string> StorageFlags(const TempDir& dir) {
  return {"--root=" + dir.At("storage"), "--runroot=" + dir.At("run/storage")};
}

}  // namespace

ImageHost::ImageHost() {
  dir_.WriteFile("containers.conf", ContainersConf(dir_));
  dir_.MakeDir("scratch");
}

ImageHost::~ImageHost() {
  // Its layers are mounted file systems while containers use them.
  Engine("podman", {"system", "reset", "--force"});
}

std::string ImageHost::SkipReason() {
  if (geteuid() != 0) {
    return "not root";
  }
  for (const char* program : {"buildah", "podman", "runc", "apt-get", "dpkg-deb"}) {
    if (access(fmt::format("/usr/bin/{}", program).c_str(), X_OK) != 0 &&
        access(fmt::format("/usr/sbin/{}", program).c_str(), X_OK) != 0) {
      return fmt::format("{} is not installed", program);
    }
  }
  const Result known = RunProgram({"/usr/bin/apt-cache", "show", "libstdc++6"});
  return known.code == 0 ? "" : "apt knows no packages: run apt-get update";
}

Result ImageHost::Fn(std::vector<std::string> words, std::string_view input) const {
  dir_.WriteFile("input", input);
  std::vector<std::string> argv = {"/bin/sh",
                                   "-c",
                                   "input=$1; shift; exec \"$@\" <\"$input\"",
                                   "sh",
                                   dir_.At("input"),
                                   "/usr/bin/env",
                                   "CONTAINERS_CONF=" + dir_.At("containers.conf"),
                                   ProgramPath("kgpu"),
                                   "fn"};
  argv.insert(argv.end(), words.begin(), words.end());
  if (words.front() == "build" || words.front() == "run") {
    for (const std::string& flag : StorageFlags(dir_)) {
      argv.push_back("--engine-flag=" + flag);
    }
  }
  return RunProgram(std::move(argv), kEngineLimit);
}

Result ImageHost::Engine(const std::string& program, std::vector<std::string> words) const {
  std::vector<std::string> argv = {"/usr/bin/env", "CONTAINERS_CONF=" + dir_.At("containers.conf"),
                                   "/usr/bin/" + program};
  for (const std::string& flag : StorageFlags(dir_)) {
    argv.push_back(flag);
  }
  argv.insert(argv.end(), words.begin(), words.end());
  return RunProgram(std::move(argv), kEngineLimit);
}

void ImageHost::Init(const std::string& name, const std::string& runtime) const {
  const Result made = Fn({"init", name, "-r", runtime, "-f", dir_.At(name + ".yaml")});
  ASSERT_EQ(made.code, 0) << made.err;
}

std::string LocalRegistry::Program() {
  for (const char* path : {"/usr/bin/docker-registry",
                           KGPU_SOURCE_DIR "/build/docker-registry/usr/bin/docker-registry"}) {
    if (access(path, X_OK) == 0) {
      return path;
    }
  }
  return "";
}

LocalRegistry::LocalRegistry(const TempDir& dir) {
  dir.WriteFile("registry.yaml",
                fmt::format("version: 0.1\nlog: {{level: info}}\nstorage: {{filesystem: "
                            "{{rootdirectory: {}}}}}\nhttp: {{addr: '127.0.0.1:0'}}\n",
                            dir.At("registry")));
  server_ = std::make_unique<Background>(std::vector<std::string>{
      "/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", Program(), "serve", dir.At("registry.yaml")});
  constexpr std::string_view kListens = "listening on ";
  if (server_->WaitFor(kListens)) {
    const std::string& out = server_->out();
    const size_t begin = out.find(kListens) + kListens.size();
    address_ = out.substr(begin, out.find_first_not_of("0123456789.:", begin) - begin);
  }
}

}  // namespace kgpu::e2e

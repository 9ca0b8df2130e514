#include "tests/shim/box.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <functional>
#include <utility>

namespace kgpu::e2e {
namespace {

namespace json = boost::json;

void EditJson(const TempDir& dir, const std::function<void(json::object&)>& edit) {
  json::value spec = json::parse(dir.ReadFile("bundle/config.json"));
  edit(spec.as_object());
  dir.WriteFile("bundle/config.json", json::serialize(spec));
}

// crun refuses the hybrid of both cgroup versions that some machines have.
constexpr const char* kWithoutUnified = "umount /sys/fs/cgroup/unified 2>/dev/null; exec \"$@\"";

// $1 takes the place of /dev, with the nodes that every container has; the rest is run.
constexpr const char* kWithDev =
    "dev=$1; shift; mkdir -p $dev/shm $dev/pts $dev/mqueue; "
    "make() { mknod -m 666 $dev/$1 c $2 $3 2>/dev/null; }; "
    "make null 1 3; make zero 1 5; make full 1 7; make random 1 8; make urandom 1 9; "
    "make tty 5 0; make ptmx 5 2; mount --bind $dev /dev; exec \"$@\"";

void OpenToAll(const std::string& path) {
  namespace fs = std::filesystem;
  fs::permissions(path, fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
}

}  // namespace

void PrepareHost(const SimHost& host, std::string_view config) {
  const Result result = host.Kgpu({"cdi", "generate"});
  ASSERT_EQ(result.code, 0) << result.err;
  host.dir().WriteFile("host/etc/kgpu/runtime.json", config);
}

std::string WhyNotWith(std::string_view runtime) {
  if (!WhyNoContainers().empty()) {
    return WhyNoContainers();
  }
  for (const std::string folder : {"/usr/sbin/", "/usr/bin/"}) {
    if (std::filesystem::exists(folder + std::string(runtime))) {
      return "";
    }
  }
  return fmt::format("{} is not installed", runtime);
}

Box::Box(const SimHost& host, std::string_view runtime, ContainerBench::Image image)
    : host_(host),
      runtime_(runtime),
      image_(image),
      id_(fmt::format("kgpu-{}-{}", getpid(), std::hash<std::string>()(dir_.path()) % 1'000'000)) {
  dir_.MakeDir("bundle");
  const Result made = RunProgram({"/usr/sbin/runc", "spec", "--bundle", bundle()});
  EXPECT_EQ(made.code, 0) << made.err;
  EditJson(dir_, [&](json::object& spec) {
    json::object& process = spec["process"].as_object();
    process["terminal"] = false;
    process["args"] = {"sh", "/run-test"};
    process["env"].as_array().emplace_back("PATH=/usr/bin:/bin");
    spec["root"].as_object()["path"] = rootfs();
    spec["root"].as_object()["readonly"] = false;
  });
  SetScript("true");
}

Box::~Box() {
  (void)Call({"delete", "--force", id_});
}

void Box::SetScript(const std::string& script) const {
  image_.dir().WriteFile("rootfs/run-test", script);
}

void Box::AddEnv(const std::string& variable) const {
  EditJson(dir_, [&](json::object& spec) {
    spec["process"].as_object()["env"].as_array().emplace_back(variable);
  });
}

void Box::AddMount(const std::string& destination, const std::string& source) const {
  EditJson(dir_, [&](json::object& spec) {
    spec["mounts"].as_array().push_back({{"destination", destination},
                                         {"type", "bind"},
                                         {"source", source},
                                         {"options", {"rbind"}}});
  });
}

void Box::MakeRootReadOnly() const {
  EditJson(dir_, [](json::object& spec) { spec["root"].as_object()["readonly"] = true; });
}

void Box::UseUserNamespace() {
  has_user_namespace_ = true;
  EditJson(dir_, [](json::object& spec) {
    json::object& part = spec["linux"].as_object();
    part["namespaces"].as_array().emplace_back(json::object{{"type", "user"}});
    const json::array map = {json::object{{"containerID", 0}, {"hostID", 100000}, {"size", 65536}}};
    part["uidMappings"] = map;
    part["gidMappings"] = map;
  });
  for (const std::string& path : {dir_.path(), image_.dir().path(), host_.dir().path()}) {
    OpenToAll(path);
  }
  EXPECT_EQ(RunProgram({"/bin/chown", "-R", "100000:100000", rootfs()}).code, 0);
}

void Box::AddGpus(const std::string& devices) const {
  AddEnv("NVIDIA_VISIBLE_DEVICES=" + devices);
  EditJson(dir_, [&](json::object& spec) {
    spec["hooks"] = {{"prestart",
                      {{{"path", "/usr/bin/nvidia-container-runtime-hook"},
                        {"args", {"nvidia-container-runtime-hook", "prestart"}}}}}};
  });
}

Result Box::Run(std::chrono::milliseconds limit) const {
  return Call({"run", "--bundle", bundle(), id_}, limit);
}

int Box::Create() const {
  std::vector<std::string> argv = {"/bin/sh", "-c", "exec \"$@\" >/dev/null 2>&1", "_"};
  for (std::string& word : Argv({"create", "--bundle", bundle(), id_})) {
    argv.push_back(std::move(word));
  }
  return RunProgram(std::move(argv)).code;
}

Result Box::Call(const std::vector<std::string>& words, std::chrono::milliseconds limit) const {
  return RunProgram(Argv(words), limit);
}

std::vector<std::string> Box::Argv(const std::vector<std::string>& words) const {
  std::vector<std::string> argv;
  if (runtime_ == "crun") {
    argv = {"/usr/bin/unshare", "--mount", "--propagation", "private",
            "/bin/sh",          "-c",      kWithoutUnified, "_"};
  }
  if (has_user_namespace_) {
    argv = {"/usr/bin/unshare", "--mount", "--propagation",      "private", "/bin/sh", "-c",
            kWithDev,           "_",       host_.path() + "/dev"};
  }
  argv.insert(argv.end(), {ProgramPath("kgpu-runtime"), "--kgpu-root", host_.path(), "--root",
                           dir_.At("state"), "--log", dir_.At("log.json"), "--log-format", "json"});
  argv.insert(argv.end(), words.begin(), words.end());
  return argv;
}

}  // namespace kgpu::e2e

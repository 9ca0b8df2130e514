#include "tests/functions/function_machine.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include <fmt/format.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "src/platform/base/strings.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/sys/unix_socket.h"
#include "tests/e2e/image_tree.h"
#include "tests/e2e/program.h"
#include "tests/engines/programs.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::engines {
namespace {

namespace fs = std::filesystem;
using std::chrono::seconds;

constexpr const char* kImage = "localhost/kgpu-fn/hello";

// "GPU-…::0", of a slice in the agent's ledger.
std::string SlotOf(const boost::json::value& slice) {
  return fmt::format("{}::{}", slice.at("gpu").as_string().c_str(),
                     slice.at("slot").to_number<uint64_t>());
}

void MustRun(const e2e::Result& result) {
  ASSERT_EQ(result.code, 0) << result.out << result.err;
}

}  // namespace

FunctionMachine::FunctionMachine(const std::string& profile,
                                 const std::vector<std::string>& programs, int state_mib)
    : host_(profile), has_disk_(state_mib > 0) {
  if (has_disk_) {
    fs::create_directories(StateFolder());
    const std::string size = fmt::format("size={}m", state_mib);
    EXPECT_EQ(mount("state", StateFolder().c_str(), "tmpfs", 0, size.c_str()), 0);
  }
  SetRuntime(true);
  box_.ShareRun(host_.path());
  box_.ShareDevices(host_.path());
  // Everything else enters its namespaces, once they are as they should be, and ends with it. It
  // waits for orphans, too, as the first process of a machine does.
  box_.StartDaemon({"/bin/sh", "-c", "touch " + box_.At("open") + "; sleep infinity & wait"});
  EXPECT_TRUE(integration::WaitInFolder(
      box_.dir().path(), [this] { return fs::exists(box_.At("open")); }, kLimit))
      << box_.log();
  MakeImage(programs);
}

FunctionMachine::~FunctionMachine() {
  (void)umount2(StateFolder().c_str(), MNT_DETACH);
}

void FunctionMachine::Configure(const std::string& pools) {
  fs::create_directories(host_.path() + "/etc/kgpu");
  host_.dir().WriteFile("host/etc/kgpu/config.yaml",
                        "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + pools);
}

std::vector<std::string> FunctionMachine::PodmanFlags() const {
  return {"--cgroup-manager=cgroupfs",          "--events-backend=none",
          "--runtime=" + box_.At("runc"),       "--root=" + box_.At("storage"),
          "--runroot=" + box_.At("containers"), "--tmpdir=" + box_.At("podman")};
}

e2e::Result FunctionMachine::Podman(std::vector<std::string> words) const {
  std::vector<std::string> argv = {"/usr/bin/podman"};
  const std::vector<std::string> flags = PodmanFlags();
  argv.insert(argv.end(), flags.begin(), flags.end());
  argv.insert(argv.end(), words.begin(), words.end());
  return box_.Enter(argv, kLimit);
}

void FunctionMachine::MakeImage(const std::vector<std::string>& programs) {
  const TempDir& dir = box_.dir();
  if (!programs.empty()) {
    e2e::MakeImageTree(dir.At("image"), e2e::ImageFamily::kDebianLike, programs);
  }
  for (const char* folder : {"image/usr/local/bin", "image/function", "image/tmp", "image/dev",
                             "image/run/kgpu-fn", "image/etc"}) {
    fs::create_directories(dir.At(folder));
  }
  fs::copy_file(e2e::ProgramPath("kgpu-fnwatch"), dir.At("image/usr/local/bin/kgpu-fnwatch"));
  fs::copy_file(KGPU_REPORT_WORKER, dir.At("image/function/worker"));
  MustRun(e2e::RunProgram({"/bin/tar", "-C", dir.At("image"), "-cf", dir.At("image.tar"), "."}));
  MustRun(Podman({"import", "--quiet", "--change=ENTRYPOINT [\"/usr/local/bin/kgpu-fnwatch\"]",
                  "--change=ENV KGPU_FN_COMMAND=[\"/function/worker\"]", "--change=USER 65532",
                  dir.At("image.tar"), kImage}));
}

void FunctionMachine::Up(const std::vector<std::string>& run_flags) {
  std::vector<std::string> argv = {
      "kgpu",        "fn",         "up",
      "--host-root", host_.path(), "--run-flag=--cgroup-parent=" + box_.cgroup_parent()};
  for (const std::string& flag : PodmanFlags()) {
    argv.push_back("--engine-flag=" + flag);
  }
  for (const std::string& flag : run_flags) {
    argv.push_back("--run-flag=" + flag);
  }
  MustRun(box_.Enter(argv, kLimit));
}

e2e::Result FunctionMachine::Fn(std::vector<std::string> words, const std::string& input,
                                std::chrono::seconds limit) {
  box_.dir().WriteFile("input", input);
  std::vector<std::string> argv = {
      "/bin/sh", "-c", "exec \"$@\" <" + box_.At("input"), "sh", e2e::ProgramPath("kgpu"), "fn"};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.insert(argv.end(), {"--host-root", host_.path()});
  return box_.Enter(argv, limit);
}

std::string FunctionMachine::WriteConfig(const std::string& lines, const std::string& network,
                                         const std::string& name) {
  box_.dir().WriteFile("config.yaml",
                       fmt::format("functions:\n  {}:\n    runtime: cpp\n    image: {}\n"
                                   "    network: {}\n{}",
                                   name, kImage, network, lines));
  return box_.At("config.yaml");
}

void FunctionMachine::WriteSecret(const std::string& name, const std::string& bytes) {
  const fs::path folder = host_.path() + "/var/lib/kgpu/functions/secrets";
  fs::create_directories(folder);
  const fs::path written = folder / ("." + name);
  std::ofstream(written) << bytes;
  fs::permissions(written, fs::perms::owner_read | fs::perms::owner_write);
  fs::rename(written, folder / name);
}

bool FunctionMachine::KillProcess(std::string_view name, size_t which) const {
  const std::vector<pid_t> found = box_.ProcessesNamed(name);
  return !found.empty() && kill(found[which % found.size()], SIGKILL) == 0;
}

void FunctionMachine::SetRuntime(bool is_there) const {
  std::error_code error;
  fs::remove(box_.At("runc"), error);
  if (is_there) {
    fs::create_symlink(FindProgram("runc"), box_.At("runc"));
  }
}

void FunctionMachine::FillDisk(bool is_full) const {
  if (!has_disk_) {
    return;
  }
  const std::string ballast = StateFolder() + "/ballast";
  if (!is_full) {
    std::error_code error;
    fs::remove(ballast, error);
    return;
  }
  std::ofstream file(ballast, std::ios::binary);
  const std::string block(4096, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

bool FunctionMachine::Simulate(const std::string& verb, std::vector<std::string> arguments) const {
  std::vector<std::string> argv = {"kgpu-sim", verb, host_.path()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return e2e::RunProgram(std::move(argv)).code == 0;
}

pid_t FunctionMachine::ListenerOf(const std::string& socket) {
  const auto connected = sys::ConnectUnix(socket);
  const StatusOr<ucred> peer = connected.ok() ? sys::PeerOf(connected->get()) : connected.status();
  return peer.ok() ? peer->pid : 0;
}

void FunctionMachine::KillDaemon(const std::string& socket) {
  const pid_t process = ListenerOf(socket);
  if (process > 0) {
    (void)kill(process, SIGKILL);  // it may have ended by itself
    // Until then its socket may still take connections.
    EXPECT_TRUE(Until([&] { return ListenerOf(socket) != process; }));
  }
}

std::vector<std::string> FunctionMachine::RunningLoans() const {
  const e2e::Result list = Podman(
      {"ps", "--filter=label=kgpu.dev/function", "--format={{index .Labels \"kgpu.dev/loan\"}}"});
  std::vector<std::string> loans;
  for (const std::string_view line : Split(Trim(list.out), '\n')) {
    if (!line.empty()) {
      loans.emplace_back(line);
    }
  }
  return loans;
}

boost::json::array FunctionMachine::LedgerEntries() const {
  const std::string text = host_.dir().ReadFile("host/var/lib/kgpu/loans.json");
  const auto json = doc::ParseJson(text, "loans.json", {});
  const bool has_loans = json.ok() && json->is_object() && json->get_object().contains("loans");
  return has_loans ? json->at("loans").as_array() : boost::json::array();
}

std::map<std::string, std::vector<std::string>> FunctionMachine::LedgerLoans() const {
  std::map<std::string, std::vector<std::string>> loans;
  for (const auto& loan : LedgerEntries()) {
    std::vector<std::string>& lent = loans[loan.at("id").as_string().c_str()];
    if (const auto* slices = loan.as_object().if_contains("slices")) {
      for (const auto& slice : slices->as_array()) {
        lent.push_back(SlotOf(slice));
      }
      continue;
    }
    for (const auto& gpu : loan.at("gpus").as_array()) {
      lent.emplace_back(gpu.as_string().c_str());
    }
  }
  return loans;
}

std::map<std::string, std::string> FunctionMachine::LedgerSlots() const {
  std::map<std::string, std::string> slots;
  for (const auto& loan : LedgerEntries()) {
    for (const auto& slice : loan.at("slices").as_array()) {
      slots[loan.at("holder").as_string().c_str()] = SlotOf(slice);
    }
  }
  return slots;
}

std::string FunctionMachine::StateTexts() const {
  std::string text;
  for (const char* name : {"loans.json", "agent.log", "functions.log"}) {
    text += fmt::format("--- {}\n{}\n", name,
                        host_.dir().ReadFile(fmt::format("host/var/lib/kgpu/{}", name)));
  }
  return text;
}

std::vector<std::string> FunctionMachine::ReplicaFolders() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(host_.path() + "/run/kgpu/functions", error)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

}  // namespace kgpu::engines

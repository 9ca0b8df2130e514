#include "bench/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>

#include "src/platform/base/strings.h"
#include "src/platform/sys/root.h"

namespace kgpu::bench {
namespace {

pid_t Spawn(const std::vector<std::string>& argv, int out) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -1;
}

double Number(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) {
    return 0;
  }
  const std::string_view line = text.substr(at + key.size(), text.find('\n', at) - at - key.size());
  const auto words = Words(line);
  return words.empty() ? 0 : static_cast<double>(ParseUint(words[0]).value_or(0));
}

}  // namespace

Cost RunAndMeasure(const std::vector<std::string>& argv) {
  // Through a launcher of next to no memory: the kernel counts what the parent had mapped before
  // exec into ru_maxrss.
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const UniqueFd read_end(pipe_fds[0]);
  UniqueFd write_end(pipe_fds[1]);
  std::vector<std::string> launched = {KGPU_BENCH_DIR "/launch"};
  launched.insert(launched.end(), argv.begin(), argv.end());
  const pid_t pid = Spawn(launched, write_end.get());
  write_end.Reset();
  struct {
    int32_t code;
    int32_t peak_kib;
    int64_t nanoseconds;
    int64_t cpu_nanoseconds;
  } report{};
  const bool is_whole = read(read_end.get(), &report, sizeof(report)) == sizeof(report);
  if (pid > 0) {
    (void)waitpid(pid, nullptr, 0);
  }
  if (!is_whole) {
    return {};
  }
  return {.code = report.code,
          .milliseconds = static_cast<double>(report.nanoseconds) / 1e6,
          .cpu_milliseconds = static_cast<double>(report.cpu_nanoseconds) / 1e6,
          .peak_mib = static_cast<double>(report.peak_kib) / 1024};
}

pid_t StartAndWaitReady(const std::vector<std::string>& argv) {
  std::array<int, 2> pipe_fds{};
  if (pipe2(pipe_fds.data(), O_CLOEXEC) != 0) {
    return -1;
  }
  const UniqueFd read_end(pipe_fds[0]);
  UniqueFd write_end(pipe_fds[1]);
  const pid_t pid = Spawn(argv, write_end.get());
  write_end.Reset();
  char byte = 0;
  return pid > 0 && read(read_end.get(), &byte, 1) == 1 ? pid : -1;
}

void Stop(pid_t pid) {
  if (pid > 0) {
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, nullptr, 0);
  }
}

Memory MemoryOf(pid_t pid) {
  const auto proc = sys::Root::Open("/proc");
  const std::string text =
      proc.ok() ? proc->ReadFile(fmt::format("{}/smaps_rollup", pid)).value_or("") : "";
  return {.pss_kib = Number(text, "\nPss:"),
          .rss_kib = Number(text, "\nRss:"),
          .private_kib = Number(text, "\nPrivate_Clean:") + Number(text, "\nPrivate_Dirty:")};
}

pid_t FindChild(const std::string& name, pid_t parent) {
  const auto proc = sys::Root::Open("/proc");
  if (!proc.ok()) {
    return -1;
  }
  for (const std::string& entry : proc->ListDir("/").value_or(std::vector<std::string>{})) {
    const auto pid = ParseUint(entry);
    if (!pid) {
      continue;
    }
    const std::string status = proc->ReadFile(entry + "/status").value_or("");
    // Probes of earlier rounds may not have been reaped.
    if (status.starts_with(fmt::format("Name:\t{}\n", name)) &&
        status.find("\nState:\tZ") == std::string::npos &&
        status.find(fmt::format("\nPPid:\t{}\n", parent)) != std::string::npos) {
      return static_cast<pid_t>(*pid);
    }
  }
  return -1;
}

std::map<std::string, double> CpuMsOfThreads(pid_t pid) {
  std::map<std::string, double> threads;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    threads[name] += nanoseconds / 1e6;
  }
  return threads;
}

double CpuMs(pid_t pid) {
  double total = 0;
  for (const auto& [name, milliseconds] : CpuMsOfThreads(pid)) {
    total += milliseconds;
  }
  return total;
}

}  // namespace kgpu::bench

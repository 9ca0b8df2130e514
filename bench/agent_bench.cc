// What the agent costs and how fast it is, beside a bare gRPC plugin in the same run.
// docs/benchmarks.md explains the rows.
//   agent-bench [RUNS [IDLE_SECONDS]]      default 11 and 30
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/event_floor.h"
#include "bench/measure.h"
#include "bench/probe_kubelet.h"
#include "bench/process.h"
#include "src/base/strings.h"
#include "src/host/driver_files.h"
#include "src/host/driver_root.h"
#include "testing/driver/control.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;

double Since(SteadyPoint start, SteadyPoint end) {
  return Milliseconds(end - start).count();
}

// User and system time of a process in milliseconds. Source: /proc/<pid>/stat, fields 14 and 15;
// schedstat's first number is finer (nanoseconds on the CPU), summed over threads.
double CpuMs(pid_t pid) {
  double total = 0;
  for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::ifstream file(task.path() / "schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    total += nanoseconds / 1e6;
  }
  return total;
}

// A program of ours in the background, its log discarded.
class Daemon {
 public:
  explicit Daemon(std::vector<std::string> argv) : started_(steady_clock::now()) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    std::vector<char*> pointers;
    pointers.reserve(argv.size() + 1);
    for (std::string& argument : argv) {
      pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    if (posix_spawn(&pid_, pointers[0], &files, nullptr, pointers.data(), environ) != 0) {
      std::perror("agent-bench: spawn");
      std::_Exit(1);
    }
    posix_spawn_file_actions_destroy(&files);
  }
  ~Daemon() { End(SIGKILL); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const { return pid_; }
  SteadyPoint started() const { return started_; }
  // Milliseconds from the signal until the process has ended.
  double End(int signal) {
    if (pid_ < 0) {
      return 0;
    }
    const auto begun = steady_clock::now();
    kill(pid_, signal);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    return Since(begun, steady_clock::now());
  }

 private:
  pid_t pid_ = -1;
  SteadyPoint started_;
};

// A simulated host, and folders for a kubelet.
class Node {
 public:
  explicit Node(const std::string& profile) {
    dir_.MakeDir("kubelet/device-plugins");
    dir_.MakeDir("kubelet/plugins_registry");
    dir_.MakeDir("echo/device-plugins");
    dir_.MakeDir("run");
    if (RunAndMeasure({kBin + "/kgpu-sim", "create", host(), "--profile", profile}).code != 0) {
      (void)std::fputs("agent-bench: kgpu-sim create failed\n", stderr);
      std::_Exit(1);
    }
  }
  ~Node() { (void)RunAndMeasure({kBin + "/kgpu-sim", "delete", host()}); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  std::string host() const { return dir_.At("host"); }
  std::string kubelet() const { return dir_.At("kubelet"); }
  std::string echo() const { return dir_.At("echo"); }
  std::string library() const {
    const host::DriverRoot root = host::OpenDriverRoot(host(), "", "/").value();
    return root.driver.At(host::FindNvmlLibrary(root.driver).value());
  }
  void Forget() const { std::filesystem::remove(dir_.At("run/agent-memory.json")); }
  std::vector<std::string> Agent() const {
    return {kBin + "/kgpu",   "agent",
            "--host-root",    host(),
            "--engine-root",  "/",
            "--kubelet-dir",  kubelet(),
            "--run-dir",      dir_.At("run"),
            "--config",       dir_.At("config"),
            "--http-address", "off"};
  }
  // `strategy` as plugin.deviceListStrategy.
  void WriteConfig(const std::string& strategy) const {
    dir_.WriteFile("config", fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                                         "health: {{holdDown: 5ms}}\n"
                                         "plugin: {{deviceListStrategy: {}}}\n",
                                         strategy));
  }

 private:
  TempDir dir_;
};

Row MakeRow(std::string what, std::string unit, std::string floor, std::string budget) {
  return {.what = std::move(what),
          .unit = std::move(unit),
          .samples = {},
          .floor_name = std::move(floor),
          .floor = {},
          .budget = std::move(budget)};
}

// Cold starts, starts after a crash, and exits, each next to the bare plugin's.
void Starts(const Node& node, int runs, std::vector<Row>& rows) {
  Row registered = MakeRow("start to registered", "ms", "bare gRPC plugin", "8");
  Row counted = MakeRow("start to counted by the kubelet", "ms", "bare gRPC plugin", "12");
  Row again = MakeRow("kill -9, start to counted", "ms", "bare gRPC plugin", "12");
  Row exit = MakeRow("SIGTERM to exit", "ms", "bare gRPC plugin (SIGKILL)", "100");
  ProbeKubelet kubelet(node.kubelet());
  ProbeKubelet echo_kubelet(node.echo());
  for (int i = 0; i < runs; ++i) {
    {
      echo_kubelet.Expect();
      Daemon echo({kBench + "/echo-plugin", node.echo()});
      registered.floor.Add(Since(echo.started(), echo_kubelet.WaitRegistered()));
      const double floor = Since(echo.started(), echo_kubelet.WaitCounted());
      counted.floor.Add(floor);
      again.floor.Add(floor);
      exit.floor.Add(echo.End(SIGKILL));
    }
    node.Forget();
    {
      kubelet.Expect();
      Daemon agent(node.Agent());
      registered.samples.Add(Since(agent.started(), kubelet.WaitRegistered()));
      counted.samples.Add(Since(agent.started(), kubelet.WaitCounted()));
      std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it remembers
      agent.End(SIGKILL);
    }
    kubelet.Expect();
    Daemon agent(node.Agent());
    again.samples.Add(Since(agent.started(), kubelet.WaitCounted()));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    exit.samples.Add(agent.End(SIGTERM));
  }
  for (Row* row : {&registered, &counted, &again, &exit}) {
    rows.push_back(std::move(*row));
  }
}

// Calls in turns: Allocate, empty call, Allocate of the bare plugin.
void Calls(const Node& node, const std::string& strategy, std::vector<Row>& rows) {
  constexpr int kCalls = 3000;
  node.WriteConfig(strategy);
  Row allocate = MakeRow(fmt::format("Allocate, 2 of 8 GPUs, {}", strategy), "us",
                         "an empty call, in turns", "1.05x p50");
  Row cpu = MakeRow("CPU of the agent for it", "us", "for an empty call", "floor + 10");
  ProbeKubelet kubelet(node.kubelet());
  kubelet.Expect();
  Daemon agent(node.Agent());
  (void)kubelet.WaitCounted();
  const std::vector<std::string> ids = {kubelet.ids().at(1), kubelet.ids().at(5)};
  for (int i = 0; i < 200; ++i) {
    if (!kubelet.Allocate(ids).is_ok) {
      (void)std::fputs("agent-bench: Allocate failed\n", stderr);
    }
  }
  for (int i = 0; i < kCalls; ++i) {
    allocate.floor.Add(kubelet.Options().microseconds);
    allocate.samples.Add(kubelet.Allocate(ids).microseconds);
  }
  for (int round = 0; round < 7; ++round) {
    const double start = CpuMs(agent.pid());
    for (int i = 0; i < 500; ++i) {
      (void)kubelet.Options();
    }
    const double middle = CpuMs(agent.pid());
    for (int i = 0; i < 500; ++i) {
      (void)kubelet.Allocate(ids);
    }
    cpu.floor.Add((middle - start) * 1000 / 500);
    cpu.samples.Add((CpuMs(agent.pid()) - middle) * 1000 / 500);
  }
  Row tail = MakeRow("the same at p99", "us", "an empty call at p99", "1.25x");
  tail.samples.Add(allocate.samples.Quantile(0.99));
  tail.floor.Add(allocate.floor.Quantile(0.99));
  rows.push_back(std::move(allocate));
  rows.push_back(std::move(tail));
  rows.push_back(std::move(cpu));
}

void Faults(const Node& node, int runs, std::vector<Row>& rows) {
  Row row =
      MakeRow("XID to Unhealthy on the stream", "ms", "the event in a bare NVML client", "0.7");
  sim::ControlClient control = sim::ControlClient::Connect(node.host()).value();
  EventFloor floor(node.library());
  ProbeKubelet kubelet(node.kubelet());
  kubelet.Expect();
  Daemon agent(node.Agent());
  (void)kubelet.WaitUnhealthy(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int i = 0; i < runs; ++i) {
    const auto injected = steady_clock::now();
    std::jthread injector([&] { (void)control.Run("xid 3 79"); });
    row.samples.Add(Since(injected, kubelet.WaitUnhealthy(1)));
    injector.join();
    row.floor.Add(Since(injected, floor.Seen()));
    (void)control.Run("heal all");
    (void)kubelet.WaitUnhealthy(0);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  rows.push_back(std::move(row));
}

void Restarts(const Node& node, std::vector<Row>& rows) {
  constexpr int kRestarts = 40;
  Row row = MakeRow("kubelet restart to registered", "ms", "start of a program that does nothing",
                    "2 median, 20 worst");
  ProbeKubelet kubelet(node.kubelet());
  kubelet.Expect();
  Daemon agent(node.Agent());
  (void)kubelet.WaitCounted();
  for (int i = 0; i < kRestarts; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    const SteadyPoint begun = kubelet.Restart();
    row.samples.Add(Since(begun, kubelet.WaitRegistered()));
    (void)kubelet.WaitCounted();
    row.floor.Add(RunAndMeasure({kBench + "/noop"}).milliseconds);
  }
  rows.push_back(std::move(row));
}

void Rest(const Node& node, int idle_seconds, std::vector<Row>& rows) {
  Row pss = MakeRow("PSS of agent and probe", "MiB", "bare gRPC plugin", "16");
  Row rss = MakeRow("RSS of agent and probe", "MiB", "bare gRPC plugin", "-");
  Row idle = MakeRow("CPU at rest, agent and probe", "ms/s", "bare gRPC plugin", "0.4");
  ProbeKubelet kubelet(node.kubelet());
  ProbeKubelet echo_kubelet(node.echo());
  kubelet.Expect();
  echo_kubelet.Expect();
  Daemon echo({kBench + "/echo-plugin", node.echo()});
  Daemon agent(node.Agent());
  (void)kubelet.WaitCounted();
  (void)echo_kubelet.WaitCounted();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  const pid_t probe = FindChild("kgpu-probe", agent.pid());
  const double start = CpuMs(agent.pid()) + CpuMs(probe);
  const double echo_start = CpuMs(echo.pid());
  std::this_thread::sleep_for(std::chrono::seconds(idle_seconds));
  idle.samples.Add((CpuMs(agent.pid()) + CpuMs(probe) - start) / idle_seconds);
  idle.floor.Add((CpuMs(echo.pid()) - echo_start) / idle_seconds);
  const Memory agent_memory = MemoryOf(agent.pid());
  const Memory probe_memory = MemoryOf(probe);
  const Memory echo_memory = MemoryOf(echo.pid());
  pss.samples.Add((agent_memory.pss_kib + probe_memory.pss_kib) / 1024);
  pss.floor.Add(echo_memory.pss_kib / 1024);
  rss.samples.Add((agent_memory.rss_kib + probe_memory.rss_kib) / 1024);
  rss.floor.Add(echo_memory.rss_kib / 1024);
  for (Row* row : {&pss, &rss, &idle}) {
    rows.push_back(std::move(*row));
  }
}

int Run(int runs, int idle_seconds) {
  std::vector<Row> rows;
  const Node node("8xA100-SXM4-80GB");
  node.WriteConfig("auto");
  (void)std::fputs("starts …\n", stderr);
  Starts(node, runs, rows);
  (void)std::fputs("calls …\n", stderr);
  Calls(node, "cdi-cri", rows);
  Calls(node, "[device-specs, mounts]", rows);
  node.WriteConfig("auto");
  (void)std::fputs("faults …\n", stderr);
  Faults(node, runs, rows);
  (void)std::fputs("kubelet restarts …\n", stderr);
  Restarts(node, rows);
  (void)std::fprintf(stderr, "%d s of rest …\n", idle_seconds);
  Rest(node, idle_seconds, rows);
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "11");
  const auto idle = kgpu::ParseUint(argc > 2 ? argv[2] : "30");
  if (!runs || *runs == 0 || *runs > 1000 || !idle || *idle == 0 || *idle > 600) {
    (void)std::fputs("usage: agent-bench [RUNS [IDLE_SECONDS]]\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs), static_cast<int>(*idle));
}

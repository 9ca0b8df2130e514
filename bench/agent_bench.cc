// What the agent costs and how fast it is, beside a bare gRPC plugin in the same run.
// docs/benchmarks.md explains the rows.
//   agent-bench [RUNS [IDLE_SECONDS [SECTION …]]]      default 11, 30 and all sections: starts,
//   starts16, calls, faults, restarts, rest
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/event_floor.h"
#include "bench/measure.h"
#include "bench/probe_kubelet.h"
#include "bench/process.h"
#include "bench/sim_node.h"
#include "src/platform/base/strings.h"
#include "testing/driver/control.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

const std::string kBench = KGPU_BENCH_DIR;

// Cold starts, starts after a crash, and exits, each next to the bare plugin's.
void Starts(const SimNode& node, const std::string& suffix, int runs, std::vector<Row>& rows) {
  Row registered = MakeRow("start to registered" + suffix, "ms", "bare gRPC plugin", "8");
  Row counted = MakeRow("start to counted by the kubelet" + suffix, "ms", "bare gRPC plugin", "12");
  Row again = MakeRow("kill -9, start to counted" + suffix, "ms", "bare gRPC plugin", "12");
  Row exit = MakeRow("SIGTERM to exit" + suffix, "ms", "bare gRPC plugin (SIGKILL)", "100");
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
void Calls(const SimNode& node, const std::string& strategy, std::vector<Row>& rows) {
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

// From the injection of an XID to the list of the plugin `argv`, and to a bare client of the
// driver.
struct FaultTimes {
  Samples listed;
  Samples seen;
};

FaultTimes TimeFaults(const SimNode& node, const std::string& kubelet_dir,
                      const std::vector<std::string>& argv, int runs) {
  FaultTimes times;
  sim::ControlClient control = sim::ControlClient::Connect(node.host()).value();
  EventFloor floor(node.library());
  ProbeKubelet kubelet(kubelet_dir);
  kubelet.Expect();
  const Daemon plugin(argv);
  (void)kubelet.WaitUnhealthy(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  for (int i = 0; i < runs; ++i) {
    const auto injected = steady_clock::now();
    std::jthread injector([&] { (void)control.Run("xid 3 79"); });
    times.listed.Add(Since(injected, kubelet.WaitUnhealthy(1)));
    injector.join();
    times.seen.Add(Since(injected, floor.Seen()));
    (void)control.Run("heal all");
    (void)kubelet.WaitUnhealthy(0);
    // Work that these events start must not overlap the next fault, which must meet an idle agent.
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  return times;
}

// One part of the row before.
Row PartRow(std::string what, double value, std::string unit = "ms") {
  Row row = MakeRow("  of it " + std::move(what), std::move(unit), "", "-");
  row.samples.Add(value);
  return row;
}

void Faults(const SimNode& node, int runs, std::vector<Row>& rows) {
  Row row = MakeRow("XID to Unhealthy on the stream", "ms",
                    "a bare gRPC plugin that loads the driver itself", "0.7");
  const FaultTimes bare =
      TimeFaults(node, node.echo(), {kBench + "/driver-plugin", node.echo(), node.library()}, runs);
  const FaultTimes ours = TimeFaults(node, node.kubelet(), node.Agent(), runs);
  row.samples = ours.listed;
  row.floor = bare.listed;
  const double driver = ours.seen.Median();
  const double rpc = bare.listed.Median() - bare.seen.Median();
  rows.push_back(std::move(row));
  rows.push_back(PartRow("the driver, until a bare client of it has the event", driver));
  rows.push_back(PartRow("gRPC and the kubelet, as of the bare plugin", rpc));
  rows.push_back(PartRow("probe, pipe and agent", ours.listed.Median() - driver - rpc));
}

void Restarts(const SimNode& node, std::vector<Row>& rows) {
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

void Rest(const SimNode& node, int idle_seconds, std::vector<Row>& rows) {
  Row pss = MakeRow("PSS of agent and probe", "MiB", "bare gRPC plugin", "16");
  Row rss = MakeRow("RSS of agent and probe", "MiB", "bare gRPC plugin", "-");
  Row idle = MakeRow("CPU at rest, agent and probe", "ms/s", "bare gRPC plugin", "0.3");
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
  auto threads = [&] {
    std::map<std::string, double> all = CpuMsOfThreads(agent.pid());
    all.merge(CpuMsOfThreads(probe));
    return all;
  };
  const std::map<std::string, double> before = threads();
  const double echo_start = CpuMs(echo.pid());
  std::this_thread::sleep_for(std::chrono::seconds(idle_seconds));
  std::map<std::string, double> used = threads();
  double total = 0;
  for (auto& [name, milliseconds] : used) {
    const auto found = before.find(name);
    milliseconds -= found == before.end() ? 0 : found->second;
    total += milliseconds;
  }
  idle.samples.Add(total / idle_seconds);
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
  for (const auto& [name, milliseconds] : used) {
    rows.push_back(PartRow("thread " + name, milliseconds / idle_seconds, "ms/s"));
  }
}

int Run(int runs, int idle_seconds, const std::set<std::string>& wanted) {
  std::vector<Row> rows;
  const SimNode node("8xA100-SXM4-80GB");
  const auto section = [&](const char* name, const auto& body) {
    if (wanted.empty() || wanted.contains(name)) {
      (void)std::fprintf(stderr, "%s …\n", name);
      node.WriteConfig("auto");
      body();
    }
  };
  section("starts", [&] { Starts(node, "", runs, rows); });
  section("starts16", [&] {
    const SimNode large("16xA100");
    large.WriteConfig("auto");
    Starts(large, ", 16 GPUs", runs, rows);
  });
  section("calls", [&] {
    Calls(node, "cdi-cri", rows);
    Calls(node, "[device-specs, mounts]", rows);
  });
  section("faults", [&] { Faults(node, runs, rows); });
  section("restarts", [&] { Restarts(node, rows); });
  section("rest", [&] { Rest(node, idle_seconds, rows); });
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "11");
  const auto idle = kgpu::ParseUint(argc > 2 ? argv[2] : "30");
  if (!runs || *runs == 0 || *runs > 1000 || !idle || *idle == 0 || *idle > 600) {
    (void)std::fputs("usage: agent-bench [RUNS [IDLE_SECONDS [SECTION …]]]\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs), static_cast<int>(*idle),
                          {argv + std::min(argc, 3), argv + argc});
}

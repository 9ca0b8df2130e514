// What the inventory, the probe and the CDI specs cost on simulated hosts with 8 and 16 A100, each
// beside the floor of the same run. docs/benchmarks.md explains the rows.
//   spine-bench [RUNS]      default 20
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/event_floor.h"
#include "bench/measure.h"
#include "bench/process.h"
#include "src/container/cdi/spec_text.h"
#include "src/container/inject/build_specs.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "testing/driver/control.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using std::chrono::steady_clock;

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;

// A simulated host for one part of the run.
class Host {
 public:
  explicit Host(const std::string& profile) {
    const Cost made = RunAndMeasure({kBin + "/kgpu-sim", "create", path(), "--profile", profile});
    if (made.code != 0) {
      (void)std::fprintf(stderr, "kgpu-sim create %s: exit code %d\n", profile.c_str(), made.code);
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): no thread yet
    }
  }
  ~Host() { (void)RunAndMeasure({kBin + "/kgpu-sim", "delete", path()}); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::string path() const { return dir_.At("host"); }
  std::string library() const {
    const host::DriverRoot root = host::OpenDriverRoot(path(), "", "/").value();
    return root.driver.At(host::FindNvmlLibrary(root.driver).value());
  }

 private:
  TempDir dir_;
};

inventory::InventoryOptions Options() {
  inventory::InventoryOptions options;
  options.probe_path = kBin + "/kgpu-probe";
  // The same fault comes again and again here.
  options.health.hold_down = std::chrono::milliseconds(5);
  options.health.flap_limit.times = 0;
  return options;
}

Row SnapshotFromStart(const Host& host, const std::string& gpus, int runs) {
  Row row{.what = fmt::format("probe start to snapshot, {} GPUs", gpus),
          .unit = "ms",
          .samples = {},
          .floor_name = "start of a program that does nothing",
          .floor = {},
          .budget = "8 (start to registered)"};
  const host::DriverRoot root = host::OpenDriverRoot(host.path(), "", "/").value();
  for (int i = 0; i < runs; ++i) {
    row.floor.Add(RunAndMeasure({kBench + "/noop"}).milliseconds);
    const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
    const auto start = steady_clock::now();
    Milliseconds took{};
    inventory::Inventory inventory(*loop, root, Options());
    inventory.Start([&](const device::SnapshotPtr&) {
      took = steady_clock::now() - start;
      loop->Quit();
    });
    loop->Run();
    row.samples.Add(took.count());
  }
  return row;
}

// Runs an inventory on the loop and injects faults between its snapshots.
class XidRun {
 public:
  XidRun(const Host& host, int runs)
      : loop_(EpollLoop::Create().value()),
        root_(host::OpenDriverRoot(host.path(), "", "/").value()),
        control_(sim::ControlClient::Connect(host.path()).value()),
        floor_(host.library()),
        runs_(runs) {}

  Row Measure() {
    inventory::Inventory inventory(*loop_, root_, Options());
    inventory.Start([&](const device::SnapshotPtr& snapshot) { OnSnapshot(*snapshot); });
    loop_->Run();
    return std::move(row_);
  }

 private:
  void OnSnapshot(const device::Snapshot& snapshot) {
    bool is_healthy = true;
    for (const device::Gpu& gpu : snapshot.gpus) {
      is_healthy = is_healthy && gpu.health.is_healthy;
    }
    if (!is_healthy && is_waiting_) {
      const Milliseconds took = steady_clock::now() - injected_;
      row_.samples.Add(took.count());
      is_waiting_ = false;
      injector_.join();
      (void)control_.Run("heal all");
    } else if (is_healthy && !is_waiting_) {
      Next();
    }
  }

  void Next() {
    // The bare client may see the event after us: it is asked when everything is healthy again.
    if (row_.samples.size() > row_.floor.size()) {
      row_.floor.Add(Milliseconds(floor_.Seen() - injected_).count());
    }
    if (static_cast<int>(row_.samples.size()) == runs_) {
      loop_->Quit();
      return;
    }
    is_waiting_ = true;
    // From another thread: the state server answers only when the whole host tree is in step, and
    // the loop must be free meanwhile.
    loop_->After(std::chrono::milliseconds(2), [this] {
      injected_ = steady_clock::now();
      injector_ = std::jthread([this] { (void)control_.Run("xid 3 79"); });
    });
  }

  std::unique_ptr<EpollLoop> loop_;
  host::DriverRoot root_;
  sim::ControlClient control_;
  EventFloor floor_;
  int runs_;
  bool is_waiting_ = false;
  std::jthread injector_;
  steady_clock::time_point injected_;
  Row row_{.what = "XID to snapshot",
           .unit = "ms",
           .samples = {},
           .floor_name = "the same event in a bare NVML client",
           .floor = {},
           .budget = "0.7 (XID to Unhealthy)"};
};

std::pair<Row, Row> CdiSpec(const Host& host, const std::string& gpus, int runs) {
  Row time{.what = fmt::format("kgpu cdi generate, whole process, {} GPUs", gpus),
           .unit = "ms",
           .samples = {},
           .floor_name = "start of a program that does nothing",
           .floor = {},
           .budget = "3"};
  Row memory{.what = fmt::format("its peak memory, {} GPUs", gpus),
             .unit = "MiB",
             .samples = {},
             .floor_name = "a program that does nothing",
             .floor = {},
             .budget = "6"};
  for (int i = 0; i < runs; ++i) {
    const Cost floor = RunAndMeasure({kBench + "/noop"});
    const Cost cost = RunAndMeasure({kBin + "/kgpu", "cdi", "generate", "--dry-run", "--host-root",
                                     host.path(), "--engine-root", "/"});
    if (cost.code != 0) {
      (void)std::fprintf(stderr, "kgpu cdi generate: exit code %d\n", cost.code);
    }
    time.samples.Add(cost.milliseconds);
    time.floor.Add(floor.milliseconds);
    memory.samples.Add(cost.peak_mib);
    memory.floor.Add(floor.peak_mib);
  }
  return {std::move(time), std::move(memory)};
}

// The spec of a snapshot that is there already, as the agent makes it: parts found, edits planned,
// text printed.
Row SpecAlone(const Host& host, const std::string& gpus, int runs) {
  Row row{.what = fmt::format("CDI specs from a snapshot, {} GPUs", gpus),
          .unit = "ms",
          .samples = {},
          .floor_name = "start of a program that does nothing",
          .floor = {},
          .budget = "3"};
  const host::DriverRoot root = host::OpenDriverRoot(host.path(), "", "/").value();
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  inventory::Inventory inventory(*loop, root, Options());
  inventory.Start([&](const device::SnapshotPtr&) { loop->Quit(); });
  loop->Run();
  for (int i = 0; i < runs; ++i) {
    const Cost floor = RunAndMeasure({kBench + "/noop"});
    const auto start = steady_clock::now();
    const inject::SpecSet set = inject::BuildSpecs(*inventory.current(), root).value();
    size_t bytes = 0;
    for (const cdi::Spec& spec : set.specs) {
      bytes += cdi::PrintSpec(spec, doc::Format::kJson).size();
    }
    row.samples.Add(Milliseconds(steady_clock::now() - start).count());
    row.floor.Add(floor.milliseconds);
    if (bytes == 0) {
      (void)std::fputs("CDI specs: empty\n", stderr);
    }
  }
  return row;
}

Row ProbeMemory(const Host& host, const std::string& gpus) {
  Row row{.what = fmt::format("PSS of kgpu-probe, {} GPUs", gpus),
          .unit = "KiB",
          .samples = {},
          .floor_name = "a client that only initialises NVML",
          .floor = {},
          .budget = "1024 (of 16 MiB in all)"};
  const host::DriverRoot root = host::OpenDriverRoot(host.path(), "", "/").value();
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  inventory::Inventory inventory(*loop, root, Options());
  inventory.Start([&](const device::SnapshotPtr&) { loop->Quit(); });
  loop->Run();
  // Side by side, so that both share the C library with as many others.
  const pid_t floor = StartAndWaitReady({kBench + "/nvml-client", host.library()});
  row.samples.Add(MemoryOf(FindChild("kgpu-probe", getpid())).pss_kib);
  row.floor.Add(MemoryOf(floor).pss_kib);
  Stop(floor);
  return row;
}

int Run(int runs) {
  SetLogSink([](LogLevel, std::string_view) {});
  std::vector<Row> rows;
  for (const auto& [gpus, profile] :
       {std::pair<std::string, std::string>{"8", "8xA100-SXM4-80GB"}, {"16", "16xA100"}}) {
    (void)std::fprintf(stderr, "%s GPUs …\n", gpus.c_str());
    const Host host(profile);
    rows.push_back(SnapshotFromStart(host, gpus, runs));
    if (gpus == "8") {
      rows.push_back(XidRun(host, runs).Measure());
    }
    rows.push_back(SpecAlone(host, gpus, runs));
    auto [time, memory] = CdiSpec(host, gpus, runs);
    rows.push_back(std::move(time));
    rows.push_back(std::move(memory));
    rows.push_back(ProbeMemory(host, gpus));
  }
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "20");
  if (!runs || *runs == 0 || *runs > 1000) {
    (void)std::fputs("usage: spine-bench [RUNS], 1 to 1000\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs));
}

// What a round of measuring costs in CPU time, kgpu-probe and the process behind it together,
// beside the same driver calls of a bare program. docs/benchmarks.md explains the rows.
//   sample-bench [ROUNDS [PAUSE_MS]]      default 60 rounds, one each 100 ms
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/driver_root.h"
#include "src/node/inventory/inventory.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;
constexpr unsigned kProcessesPerGpu = 3;

struct Pace {
  unsigned rounds = 60;
  unsigned pause_ms = 100;
};

void Sim(std::vector<std::string> words) {
  words.insert(words.begin(), kBin + "/kgpu-sim");
  if (RunAndMeasure(words).code != 0) {
    (void)std::fprintf(stderr, "kgpu-sim %s failed\n", words[1].c_str());
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): no thread yet
  }
}

// A simulated host whose GPUs are in use.
class BusyHost {
 public:
  explicit BusyHost(const std::string& profile) {
    Sim({"create", path(), "--profile", profile});
    for (unsigned gpu = 0; gpu < 8; ++gpu) {
      for (unsigned i = 0; i < kProcessesPerGpu; ++i) {
        Sim({"process", path(), std::to_string(gpu), "--pid", std::to_string(1000 + 10 * gpu + i),
             "--memory", "4Gi", "--sm", "25"});
      }
    }
  }
  ~BusyHost() { Sim({"delete", path()}); }
  BusyHost(const BusyHost&) = delete;
  BusyHost& operator=(const BusyHost&) = delete;

  std::string path() const { return dir_.At("host"); }
  std::string library() const {
    const host::DriverRoot root = host::OpenDriverRoot(path(), "", "/").value();
    return root.driver.At(host::FindNvmlLibrary(root.driver).value());
  }

 private:
  TempDir dir_;
};

// CPU time of a process so far. Source: clock_getcpuclockid(3).
double CpuMilliseconds(pid_t pid) {
  clockid_t clock = {};
  timespec time = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return 0;
  }
  return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_nsec) / 1e6;
}

void AddOurs(const BusyHost& host, const Pace& pace, Row& row, Row& memory) {
  const host::DriverRoot root = host::OpenDriverRoot(host.path(), "", "/").value();
  const std::unique_ptr<EpollLoop> loop = EpollLoop::Create().value();
  inventory::InventoryOptions options;
  options.probe_path = kBin + "/kgpu-probe";
  options.is_live = false;  // the rounds alone
  inventory::Inventory inventory(*loop, root, options);
  inventory.SetSampling(std::chrono::milliseconds(pace.pause_ms));
  double before = 0;
  pid_t probe = -1;
  const auto used = [&] { return CpuMilliseconds(getpid()) + CpuMilliseconds(probe); };
  inventory.OnSample([&](const device::SampleSetPtr&) {
    if (probe < 0) {
      probe = FindChild("kgpu-probe", getpid());
      before = used();
      return;
    }
    // From the end of a round to that of the next one.
    const double now = used();
    row.samples.Add(now - before);
    before = now;
    if (row.samples.size() == pace.rounds) {
      memory.samples.Add(MemoryOf(probe).pss_kib);
      loop->Quit();
    }
  });
  inventory.Start([](const device::SnapshotPtr&) {});
  loop->Run();
}

void AddFloor(const BusyHost& host, const Pace& pace, Samples& samples) {
  const std::string command =
      fmt::format("{}/sample-client {} {} {}", kBench, host.library(), pace.rounds, pace.pause_ms);
  FILE* out = popen(command.c_str(), "re");  // NOLINT(cert-env33-c): a path of ours
  if (out == nullptr) {
    return;
  }
  for (long nanoseconds = 0; std::fscanf(out, "%ld", &nanoseconds) == 1;) {  // NOLINT(cert-err34-c)
    samples.Add(static_cast<double>(nanoseconds) / 1e6);
  }
  (void)pclose(out);
}

void AddRows(const std::string& profile, const Pace& pace, std::vector<Row>& rows) {
  Row row{.what = fmt::format("CPU of a round, {}", profile),
          .unit = "ms",
          .samples = {},
          .floor_name = "the same driver calls in a bare program",
          .floor = {},
          .budget = "1.6"};
  Row memory{.what = fmt::format("PSS of kgpu-probe that measures, {}", profile),
             .unit = "KiB",
             .samples = {},
             .floor_name = "-",
             .floor = {},
             .budget = "1024 (of 16 MiB in all)"};
  const BusyHost host(profile);
  AddFloor(host, pace, row.floor);
  AddOurs(host, pace, row, memory);
  rows.push_back(std::move(row));
  rows.push_back(std::move(memory));
}

int Run(const Pace& pace) {
  SetLogSink([](LogLevel, std::string_view) {});
  std::vector<Row> rows;
  for (const std::string profile : {"8xA100-SXM4-80GB", "8xH100-SXM5-80GB"}) {
    AddRows(profile, pace, rows);
  }
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  kgpu::bench::Pace pace;
  if (argc > 1) {
    pace.rounds = static_cast<unsigned>(kgpu::ParseUint(argv[1]).value_or(60));
  }
  if (argc > 2) {
    pace.pause_ms = static_cast<unsigned>(kgpu::ParseUint(argv[2]).value_or(100));
  }
  return kgpu::bench::Run(pace);
}

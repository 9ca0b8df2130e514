// What `kgpu labels` costs as a whole process, one shot: features of this host, and labels of
// simulated GPUs beside a program that only asks the driver for the same. docs/benchmarks.md
// explains the rows.
//   labels-bench [RUNS]      default 20
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "src/platform/base/strings.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;

Cost Check(const std::vector<std::string>& argv) {
  const Cost cost = RunAndMeasure(argv);
  if (cost.code != 0) {
    (void)std::fprintf(stderr, "%s: exit code %d\n", argv.front().c_str(), cost.code);
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): no thread
  }
  return cost;
}

// `argv` beside `floor`, time and peak memory.
void Compare(const std::vector<std::string>& argv, const std::vector<std::string>& floor, Row time,
             Row memory, int runs, std::vector<Row>& rows) {
  for (int i = 0; i < runs; ++i) {
    const Cost least = Check(floor);
    const Cost cost = Check(argv);
    time.samples.Add(cost.milliseconds);
    time.floor.Add(least.milliseconds);
    memory.samples.Add(cost.peak_mib);
    memory.floor.Add(least.peak_mib);
  }
  rows.push_back(std::move(time));
  rows.push_back(std::move(memory));
}

Row MakeRow(const std::string& what, const std::string& unit, const std::string& floor,
            const std::string& budget) {
  return {.what = what,
          .unit = unit,
          .samples = {},
          .floor_name = floor,
          .floor = {},
          .budget = budget};
}

void Features(int runs, std::vector<Row>& rows) {
  const std::string floor = "a program that does nothing";
  Compare({kBin + "/kgpu", "labels", "--only", "features", "--config", "/dev/null"},
          {kBench + "/noop"}, MakeRow("kgpu labels --only features, this host", "ms", floor, "3"),
          MakeRow("its peak memory", "MiB", floor, "6"), runs, rows);
}

void Gpus(const std::string& profile, int runs, std::vector<Row>& rows) {
  const TempDir dir;
  const std::string host = dir.At("host");
  Check({kBin + "/kgpu-sim", "create", host, "--profile", profile});
  const std::string floor = "kgpu devices: the driver is asked for the same";
  Compare({kBin + "/kgpu", "labels", "--only", "gpus", "--config", "/dev/null", "--host-root", host,
           "--engine-root", "/"},
          {kBin + "/kgpu", "devices", "--host-root", host, "--engine-root", "/"},
          MakeRow(fmt::format("kgpu labels --only gpus, {}", profile), "ms", floor,
                  "4 above the floor"),
          MakeRow("its peak memory", "MiB", floor, "8"), runs, rows);
  Check({kBin + "/kgpu-sim", "delete", host});
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const int runs = argc > 1 ? static_cast<int>(kgpu::ParseUint(argv[1]).value_or(20)) : 20;
  std::vector<kgpu::bench::Row> rows;
  kgpu::bench::Features(runs, rows);
  kgpu::bench::Gpus("8xA100-SXM4-80GB", runs, rows);
  kgpu::bench::Gpus("8xA100-mig", runs, rows);
  (void)std::fputs(kgpu::bench::RenderRows(rows).c_str(), stdout);
  return 0;
}

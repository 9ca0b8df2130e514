// What the library that limits memory costs: calls of the driver, and programs that use no GPU.
//   share-bench [RUNS]      default 11
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "bench/measure.h"
#include "bench/process.h"
#include "src/platform/base/strings.h"
#include "src/preload/gate.h"
#include "testing/shell.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

using Times = std::map<std::string, double>;  // nanoseconds by kind of call

// The client in `folder`, with the library in front if `is_limited`.
Times RunClient(const std::string& folder, bool is_limited) {
  const Outcome outcome = Shell(fmt::format(
      "cd {} && LD_LIBRARY_PATH={} {}={} {}/share-client", folder, KGPU_SHARE_BENCH_DRIVER,
      is_limited ? "LD_PRELOAD" : "LD_UNUSED", KGPU_SHARE_TEST_LIBRARY, KGPU_BENCH_DIR));
  Times times;
  if (outcome.code != 0) {
    fmt::print(stderr, "share-client ended with {}: {}\n", outcome.code, outcome.text);
    return times;
  }
  for (const std::string_view line : Split(outcome.text, '\n')) {
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      times[std::string(line.substr(0, space))] = strtod(line.data() + space, nullptr);
    }
  }
  return times;
}

Cost RunTrue(bool is_limited) {
  const std::string variable = is_limited ? "LD_PRELOAD=" : "LD_UNUSED=";
  return RunAndMeasure({"/usr/bin/env", variable + KGPU_SHARE_LIBRARY, "/bin/true"});
}

// One slot of 20 GiB in `folder`; `more` are further lines of its limits.
void WriteSlot(const TempDir& folder, const std::string& more) {
  folder.WriteFile("kgpu-slots/0/limits",
                   "version 1\ndevice GPU-00000000-0000-0000-0000-000000000000\n"
                   "memory 21474836480\ncontext 1048576\n" +
                       more);
  folder.WriteFile("kgpu-slots/0/ledger", "");
}

// With a share of the time, while no neighbour is busy.
void PrintLaunches(int runs) {
  const TempDir folder;
  WriteSlot(folder, "compute 25\n");
  const preload::Gate gate = preload::NewGate({}, {.open = 2500});
  folder.WriteFile("kgpu-slots/0/gate",
                   std::string(reinterpret_cast<const char*>(&gate), sizeof(gate)));
  std::map<std::string, Samples> bare;
  std::map<std::string, Samples> gated;
  std::map<std::string, Samples> added;
  for (int run = 0; run < runs; ++run) {
    const Times without = RunClient(folder.path(), false);
    const Times with = RunClient(folder.path(), true);
    for (const std::string what : {"launch", "graph"}) {
      bare[what].Add(without.at(what));
      gated[what].Add(with.at(what));
      added[what].Add(with.at(what) - without.at(what));
    }
  }
  for (const std::string what : {"launch", "graph"}) {
    fmt::print("{:<46} {:>8.1f} ns  bare {:>6.1f} ns  added {:>6.1f} ns\n",
               (what == "graph" ? "graph launch" : "kernel launch") + std::string(", open gate"),
               gated[what].Median(), bare[what].Median(), added[what].Median());
  }
}

void PrintCalls(int runs) {
  const TempDir folder;
  WriteSlot(folder, "");
  std::map<std::string, Samples> bare;
  std::map<std::string, Samples> limited;
  std::map<std::string, Samples> added;
  for (int run = 0; run < runs; ++run) {
    const Times without = RunClient(folder.path(), false);
    const Times with = RunClient(folder.path(), true);
    for (const auto& [what, nanoseconds] : without) {
      bare[what].Add(nanoseconds);
      const auto found = with.find(what);
      if (found != with.end()) {
        limited[what].Add(found->second);
        added[what].Add(found->second - nanoseconds);
      }
    }
  }
  const std::map<std::string, std::string> rows = {
      {"pair", "allocation and free, no work in the driver"},
      {"beside", "the same beside 100,000 other allocations"},
      {"grow", "each of the first 100,000 that are kept"},
      {"launch", "kernel launch"},
      {"graph", "graph launch"},
      {"lookup", "dlsym of another library's function"},
  };
  for (const auto& [what, text] : rows) {
    fmt::print("{:<46} {:>8.1f} ns  bare {:>6.1f} ns  added {:>6.1f} ns\n", text,
               limited[what].Median(), bare[what].Median(), added[what].Median());
  }
}

void PrintStart(int runs) {
  Samples with;
  Samples without;
  Samples added;
  for (int run = 0; run < runs * 20; ++run) {
    // Time on a CPU, which other load changes least.
    const double bare = RunTrue(false).cpu_milliseconds;
    const double limited = RunTrue(true).cpu_milliseconds;
    without.Add(bare);
    with.Add(limited);
    added.Add(limited - bare);
  }
  fmt::print("{:<46} {:>8.3f} ms of CPU, bare {:.3f} ms, added {:.3f} ms\n",
             "start of programs that use no GPU (env, true)", with.Median(), without.Median(),
             added.Median());
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "11");
  if (!runs) {
    fmt::print(stderr, "usage: share-bench [RUNS]\n");
    return 2;
  }
  kgpu::bench::PrintCalls(static_cast<int>(*runs));
  kgpu::bench::PrintLaunches(static_cast<int>(*runs));
  kgpu::bench::PrintStart(static_cast<int>(*runs));
  return 0;
}

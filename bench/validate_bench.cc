// What `kgpu validate` costs on a simulated host, phase by phase, beside a program that makes the
// bare calls of CUDA's driver. docs/benchmarks.md explains the rows.
//   validate-bench [RUNS]      default 20
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "bench/sim_node.h"
#include "src/host/inspect/driver_files.h"
#include "src/host/inspect/driver_root.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"

namespace kgpu::bench {
namespace {

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;

// Milliseconds by phase; "whole" is the process from its start to its end.
using Phases = std::map<std::string, double>;

class Bench {
 public:
  Bench() : node_("8xA100-SXM4-80GB") {
    const host::DriverRoot root = host::OpenDriverRoot(node_.host(), "", "/").value();
    const host::DriverFiles files = host::FindDriverFiles(root.driver, "").value();
    for (const host::DriverLibrary& library : files.libraries) {
      if (library.soname == "libcuda.so.1" && library_.empty()) {
        library_ = root.driver.At(library.path);
      }
    }
  }
  // `kgpu validate` with `flags`.
  Phases Validate(const std::string& flags) const {
    double whole = 0;
    const std::string text =
        Run(fmt::format("{}/kgpu validate --no-bandwidth --output json {} --host-root {} "
                        "--engine-root /",
                        kBin, flags, node_.host()),
            whole);
    Phases phases{{"whole", whole}, {"start", whole}};
    const auto report = doc::Parse(text, doc::Format::kJson, "validate").value();
    for (const boost::json::value& gpu : report.at("gpus").as_array()) {
      for (const boost::json::value& phase : gpu.at("phases").as_array()) {
        const double took = phase.at("milliseconds").to_number<double>();
        phases[std::string(phase.at("name").as_string())] += took;
        phases["start"] -= took;
      }
    }
    return phases;
  }
  // The bare calls.
  Phases Client() const {
    double whole = 0;
    const std::string text = Run(fmt::format("{}/cuda-client {}", kBench, library_), whole);
    Phases phases{{"whole", whole}};
    for (const std::string_view line : Split(text, '\n')) {
      const auto words = Words(line);
      if (words.size() == 2) {
        phases[std::string(words[0])] = static_cast<double>(ParseUint(words[1]).value_or(0)) / 1e6;
      }
    }
    return phases;
  }
  double Noop() const {
    double whole = 0;
    (void)Run(kBench + "/noop", whole);
    return whole;
  }

 private:
  // The output of `command`. Its time includes a shell that execs the program.
  std::string Run(const std::string& command, double& milliseconds) const {
    const Cost cost = RunAndMeasure(
        {"/bin/sh", "-c", fmt::format("exec {} >{}/output", command, node_.run_dir())});
    if (cost.code != 0) {
      (void)std::fprintf(stderr, "%s: exit code %d\n", command.c_str(), cost.code);
      std::_Exit(1);
    }
    milliseconds = cost.milliseconds;
    return sys::Root::Open(node_.run_dir()).value().ReadFile("output").value();
  }

  SimNode node_;
  std::string library_;
};

// The programs take turns, so that a machine that slows down slows all of them.
int Run(int runs) {
  const Bench bench;
  const std::string bare = "the same calls alone";
  std::map<std::string, Row> rows;
  const std::vector<std::pair<std::string, std::string>> phases = {
      {"start", "start of kgpu and its helper"},
      {"load", "load"},
      {"init", "init"},
      {"context", "context"},
      {"compile", "compile (JIT)"},
      {"copy-in", "copy in"},
      {"kernel", "kernel"},
      {"copy-out", "copy out"},
      {"whole", "kgpu validate, whole process"}};
  for (const auto& [name, what] : phases) {
    rows.emplace(name,
                 MakeRow(what, "ms", name == "start" ? "two programs that do nothing" : bare, "-"));
  }
  Row all = MakeRow("kgpu validate --all-gpus, 8 GPUs", "ms", "eight times the bare calls", "-");
  for (int i = 0; i < runs; ++i) {
    Phases floor = bench.Client();
    floor["start"] = bench.Noop() + bench.Noop();
    const Phases took = bench.Validate("");
    for (auto& [name, row] : rows) {
      row.samples.Add(took.contains(name) ? took.at(name) : 0);
      row.floor.Add(floor.contains(name) ? floor.at(name) : 0);
    }
    double eight = 0;
    for (int gpu = 0; gpu < 8; ++gpu) {
      eight += bench.Client().at("whole");
    }
    all.floor.Add(eight);
    all.samples.Add(bench.Validate("--all-gpus").at("whole"));
  }
  std::vector<Row> ordered;
  ordered.reserve(phases.size() + 1);
  for (const auto& [name, what] : phases) {
    ordered.push_back(std::move(rows.at(name)));
  }
  ordered.push_back(std::move(all));
  (void)std::fputs(RenderRows(ordered).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "20");
  if (!runs || *runs == 0 || *runs > 1000) {
    (void)std::fputs("usage: validate-bench [RUNS], 1 to 1000\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs));
}

// What MIG planning and layout changes cost: plans for hosts of 1, 8 and 16 GPUs in random states,
// each beside the floor of the same run: checking that the present layouts are legal. Then layout
// changes in a row on the simulated driver, through kgpu-probe: the last ones beside the first, in
// CPU time of this process and its probe, and this process's memory. docs/reference/mig.md.
//   mig-bench [PLANS] [CHANGES]      default 200 and 1000
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/sim_node.h"
#include "src/node/mig/apply.h"
#include "src/node/mig/planner.h"

namespace kgpu::bench {
namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;
using std::chrono::steady_clock;

constexpr uint16_t kA100 = 0x20b2;

class RandomHost {
 public:
  explicit RandomHost(unsigned seed) : random_(seed) {}

  std::vector<mig::GpuState> Gpus(const std::shared_ptr<const mig::Geometry>& geometry,
                                  size_t count) {
    std::vector<mig::GpuState> gpus;
    for (size_t i = 0; i < count; ++i) {
      mig::GpuState gpu{.id = fmt::format("{}", i), .geometry = geometry};
      mig::Taken taken;
      for (size_t tries = Below(6); tries > 0; --tries) {
        const size_t profile = Below(geometry->profiles().size());
        const std::vector<unsigned> starts = geometry->FreeStarts(taken, profile);
        if (!starts.empty()) {
          const unsigned start = starts[Below(starts.size())];
          geometry->Take(taken, {.profile = profile, .start = start});
          gpu.instances.push_back({.kind = {.profile = geometry->profiles()[profile].name},
                                   .start = start,
                                   .use = static_cast<mig::Use>(Below(3))});
        }
      }
      gpus.push_back(std::move(gpu));
    }
    return gpus;
  }
  std::vector<mig::Demand> Demands(const mig::Geometry& geometry, size_t gpus) {
    std::vector<mig::Demand> demands;
    demands.reserve(kDemands);
    for (size_t i = 0; i < kDemands; ++i) {
      demands.push_back(
          {.kind = {.profile = geometry.profiles()[Below(geometry.profiles().size())].name},
           .count = static_cast<unsigned>(1 + Below(1 + gpus / 2))});
    }
    return demands;
  }
  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

 private:
  static constexpr size_t kDemands = 5;
  std::mt19937 random_;
};

// CPU time in milliseconds: planning waits for nothing.
template <typename Work>
double CpuTimeOf(const Work& work) {
  const auto now = [] {
    timespec time{};
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1000 + static_cast<double>(time.tv_nsec) / 1e6;
  };
  const double start = now();
  work();
  return now() - start;
}

template <typename Work>
double TimeOf(const Work& work) {
  const auto start = steady_clock::now();
  work();
  return Milliseconds(steady_clock::now() - start).count();
}

void CheckLayouts(const mig::Geometry& geometry, const std::vector<mig::GpuState>& states) {
  for (const mig::GpuState& state : states) {
    mig::Layout layout;
    for (const mig::Instance& instance : state.instances) {
      layout.push_back(
          {.profile = geometry.Find(instance.kind.profile).value_or(0), .start = instance.start});
    }
    if (!geometry.Check(layout).ok()) {
      (void)std::fputs("no legal layout\n", stderr);
    }
  }
}

Row MeasurePlans(const std::shared_ptr<const mig::Geometry>& geometry, size_t gpus, int runs,
                 unsigned* unproven, unsigned* undecided) {
  Row row = MakeRow(fmt::format("plan for {} GPUs", gpus), "CPU ms", "check the layouts",
                    gpus == 16 ? "50" : "-");
  for (int run = 0; run < runs; ++run) {
    RandomHost host(static_cast<unsigned>(run));
    const std::vector<mig::GpuState> states = host.Gpus(geometry, gpus);
    const std::vector<mig::Demand> demands = host.Demands(*geometry, gpus);
    row.samples.Add(CpuTimeOf([&] {
      const auto plan = mig::PlanDemand(states, demands);
      *unproven += plan.ok() && !plan->is_proven ? 1 : 0;
      *undecided += plan.ok() && !plan->is_proven && !plan->is_feasible ? 1 : 0;
    }));
    row.floor.Add(CpuTimeOf([&] { CheckLayouts(*geometry, states); }));
  }
  return row;
}

double CpuMs() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    (void)getrusage(who, &usage);
    for (const timeval& part : {usage.ru_utime, usage.ru_stime}) {
      sum += static_cast<double>(part.tv_sec) * 1000 + static_cast<double>(part.tv_usec) / 1000;
    }
  }
  return sum;
}

// In KiB. Source: proc_pid_status(5).
long ResidentKib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  long kib = 0;
  while (status >> word) {
    if (word == "VmRSS:") {
      status >> kib;
    }
  }
  return kib;
}

mig::Target RandomTarget(RandomHost& random, const std::vector<mig::Layout>& layouts,
                         const mig::HostGpu& gpu) {
  mig::Target target{.uuid = gpu.uuid, .is_mig_enabled = true};
  for (const mig::Placement& placement : layouts[random.Below(layouts.size())]) {
    target.layout.push_back(
        {.kind = {.profile = gpu.geometry->profile(placement).name}, .start = placement.start});
  }
  return target;
}

[[noreturn]] void Fail(const Status& status) {
  (void)std::fprintf(stderr, "mig-bench: %s\n", std::string(Message(status)).c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): nothing else runs
}

// A change of all instances of a GPU, in milliseconds of CPU and of time.
void MeasureChanges(int changes, std::vector<Row>& rows) {
  const SimNode node("mixed");
  const auto open = [&] {
    probe::ClientOptions options;
    options.program = std::string(KGPU_BIN_DIR) + "/kgpu-probe";
    return mig::DriverSession::Open(std::move(options),
                                    [&]() -> StatusOr<std::string> { return node.library(); });
  };
  auto session = open();
  if (!session.ok()) {
    Fail(session.status());
  }
  std::vector<std::string> problems;
  const auto gpus = mig::ReadHostGpus(**session, problems);
  if (!gpus.ok()) {
    Fail(gpus.status());
  }
  session->reset();
  mig::ApplyDeps deps;
  deps.open = open;
  deps.note = [](std::string_view) {};
  deps.undoing = [](const Status&) {};
  mig::Applier applier(deps);
  const std::vector<mig::Layout> layouts = gpus->front().geometry->MaximalLayouts();
  RandomHost random(1);
  Row time = MakeRow("layout change, the last half", "ms", "the first half", "-");
  Row cpu = MakeRow("its CPU time without the probe's", "ms", "the first half", "-");
  long first_kib = 0;
  for (int i = 0; i < changes; ++i) {
    const bool is_first = i < changes / 2;
    const mig::Target target = RandomTarget(random, layouts, gpus->front());
    const double cpu_before = CpuMs();
    const double took = TimeOf([&] {
      if (const Status status = applier.Apply({target}); !status.ok()) {
        Fail(status);
      }
    });
    (is_first ? time.floor : time.samples).Add(took);
    (is_first ? cpu.floor : cpu.samples).Add(CpuMs() - cpu_before);
    first_kib = i == changes / 10 ? ResidentKib() : first_kib;
  }
  rows.push_back(time);
  rows.push_back(cpu);
  (void)std::printf("%d changes: resident memory grew by %ld KiB after the first tenth\n", changes,
                    ResidentKib() - first_kib);
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const int plans = argc > 1 ? std::atoi(argv[1]) : 200;     // NOLINT(cert-err34-c)
  const int changes = argc > 2 ? std::atoi(argv[2]) : 1000;  // NOLINT(cert-err34-c)
  auto made = kgpu::mig::Geometry::OfModel(kgpu::bench::kA100);
  const auto geometry = std::make_shared<const kgpu::mig::Geometry>(*std::move(made));
  std::vector<kgpu::bench::Row> rows;
  unsigned unproven = 0;
  unsigned undecided = 0;
  for (const size_t gpus : {1U, 8U, 16U}) {
    rows.push_back(kgpu::bench::MeasurePlans(geometry, gpus, plans, &unproven, &undecided));
  }
  kgpu::bench::MeasureChanges(changes / 2 * 2, rows);
  (void)std::printf(
      "%s%u of %d plans are not proven to be the best; %u found none and did not prove it\n",
      kgpu::bench::RenderRows(rows).c_str(), unproven, 3 * plans, undecided);
  return 0;
}

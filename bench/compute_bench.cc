// How well shares of a GPU's time hold: real processes with the library, the real gates and the
// controller of the agent, on a GPU that is nothing but time.
//   compute-bench [SECONDS]      default 20
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "bench/timed_gpu.h"
#include "src/node/slices/compute_control.h"
#include "src/node/slices/ledger_figures.h"
#include "src/platform/base/strings.h"
#include "src/preload/gate.h"
#include "src/preload/ledger.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

using std::chrono::steady_clock;

struct Tenant {
  unsigned share = 0;
  unsigned microseconds = 0;  // of a kernel
  std::string way;            // queue, wait
};

uint64_t Nanoseconds(steady_clock::duration time) {
  return static_cast<uint64_t>(std::chrono::nanoseconds(time).count());
}

// One run with all tenants busy, in folders of their own.
class Run {
 public:
  explicit Run(const std::vector<Tenant>& tenants) : tenants_(tenants) {
    unsigned before = 0;
    for (size_t i = 0; i < tenants_.size(); ++i) {
      MakeSlot(i, before);
      before += tenants_[i].share;
      MakeWork(i);
    }
    pids_.reserve(tenants_.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      pids_.push_back(Start(i));
    }
  }
  ~Run() {
    for (const pid_t pid : pids_) {
      (void)kill(pid, SIGKILL);
      (void)waitpid(pid, nullptr, 0);
    }
    for (TimedWork* work : work_) {
      (void)munmap(work, sizeof(TimedWork));
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Percent that each has used in a second; then the gates follow.
  std::vector<double> Second() {
    std::vector<uint64_t> before(tenants_.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      before[i] = work_[i]->done;
    }
    const auto begun = steady_clock::now();
    Work(begun + std::chrono::seconds(1));
    const auto took = static_cast<double>(Nanoseconds(steady_clock::now() - begun));
    std::vector<double> used(tenants_.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      used[i] = static_cast<double>(work_[i]->done - before[i]) / took * 100;
    }
    Control(used, took);
    return used;
  }

 private:
  std::string SlotOf(size_t tenant) const { return fmt::format("{}/kgpu-slots/0", tenant); }
  void MakeSlot(size_t tenant, unsigned before) const {
    const unsigned share = tenants_[tenant].share;
    folder_.WriteFile(SlotOf(tenant) + "/limits",
                      fmt::format("version 1\ndevice GPU-00000000-0000-0000-0000-000000000000\n"
                                  "memory 21474836480\ncompute {}\n",
                                  share));
    folder_.WriteFile(SlotOf(tenant) + "/ledger", "");
    const preload::Gate gate = preload::NewGate({}, {.open = share * 100, .start = before * 100});
    folder_.WriteFile(SlotOf(tenant) + "/gate",
                      std::string(reinterpret_cast<const char*>(&gate), sizeof(gate)));
  }
  void MakeWork(size_t tenant) {
    const std::string name = fmt::format("{}/{}", tenant, &kWorkFile[0]);
    folder_.WriteFile(name, std::string(sizeof(TimedWork), '\0'));
    const int file = open(folder_.At(name).c_str(), O_RDWR | O_CLOEXEC);
    work_.push_back(static_cast<TimedWork*>(
        mmap(nullptr, sizeof(TimedWork), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)));
    close(file);
  }
  pid_t Start(size_t tenant) const {
    const pid_t pid = fork();
    if (pid == 0) {
      const std::string kernel = std::to_string(tenants_[tenant].microseconds);
      const char* const environment[] = {"LD_LIBRARY_PATH=" KGPU_TIMED_DRIVER,
                                         "LD_PRELOAD=" KGPU_SHARE_TEST_LIBRARY, nullptr};
      if (chdir(folder_.At(std::to_string(tenant)).c_str()) == 0) {
        execle(KGPU_BENCH_DIR "/timed-client", "timed-client", kernel.c_str(),
               tenants_[tenant].way.c_str(), nullptr, &environment[0]);
      }
      _exit(1);
    }
    return pid;
  }
  // Does what is queued, in turns of 2 ms as a driver has them.
  void Work(steady_clock::time_point end) {
    constexpr uint64_t kSlice = 2'000'000;
    auto last = steady_clock::now();
    while (last < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      const auto now = steady_clock::now();
      uint64_t time = Nanoseconds(now - last);
      last = now;
      for (size_t idle = 0; time > 0 && idle <= tenants_.size();) {
        TimedWork& tenant = *work_[current_];
        const uint64_t queued = __atomic_load_n(&tenant.queued, __ATOMIC_ACQUIRE) - tenant.done;
        const uint64_t doing = std::min({time, queued, kSlice - in_slice_});
        __atomic_store_n(&tenant.done, tenant.done + doing, __ATOMIC_RELEASE);
        time -= doing;
        in_slice_ += doing;
        idle = doing > 0 ? 0 : idle + 1;
        if (doing == queued || in_slice_ == kSlice) {
          current_ = (current_ + 1) % tenants_.size();
          in_slice_ = 0;
        }
      }
    }
  }
  void Control(const std::vector<double>& used, double took) {
    std::vector<slices::ComputeUse> uses;
    waited_.resize(tenants_.size());
    for (size_t i = 0; i < tenants_.size(); ++i) {
      const auto figures = slices::ReadLedgerFigures(folder_.At(SlotOf(i) + "/ledger"));
      const double waited = figures.ok() ? static_cast<double>(figures->waited_ns) : 0;
      uses.push_back({.id = std::to_string(i),
                      .share = tenants_[i].share,
                      .has_programs = true,
                      .used = std::floor(used[i] + 0.5),
                      .waited = (waited - waited_[i]) / took * 100});
      waited_[i] = waited;
    }
    const std::vector<slices::ComputeTurn> turns = controller_.Update(uses);
    for (size_t i = 0; i < tenants_.size(); ++i) {
      const uint64_t word = preload::PackTurn(turns[i].turn);
      const int file = open(folder_.At(SlotOf(i) + "/gate").c_str(), O_WRONLY | O_CLOEXEC);
      (void)!pwrite(file, &word, sizeof(word), offsetof(preload::Gate, word));
      close(file);
    }
  }

  const std::vector<Tenant> tenants_;
  const TempDir folder_;
  std::vector<TimedWork*> work_;
  std::vector<pid_t> pids_;
  size_t current_ = 0;
  uint64_t in_slice_ = 0;
  std::vector<double> waited_;
  slices::ComputeController controller_;
};

void Print(const std::string& what, const std::vector<Tenant>& tenants, unsigned seconds) {
  constexpr unsigned kFirst = 5;  // seconds that are not part of the mean
  Run run(tenants);
  std::vector<double> sums(tenants.size());
  fmt::print("{:<44}", what);
  for (unsigned second = 0; second < seconds; ++second) {
    const std::vector<double> used = run.Second();
    for (size_t i = 0; i < used.size(); ++i) {
      sums[i] += second < kFirst ? 0 : used[i];
    }
    if (second < kFirst) {
      fmt::print(" {:>3.0f}", used[0]);
    }
  }
  fmt::print("  mean of the rest:");
  for (const double sum : sums) {
    fmt::print(" {:>4.1f}", sum / (seconds - kFirst));
  }
  fmt::print("\n");
  (void)fflush(stdout);
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto seconds = kgpu::ParseUint(argc > 1 ? argv[1] : "20");
  if (!seconds || *seconds < 6) {
    fmt::print(stderr, "usage: compute-bench [SECONDS], 6 or more\n");
    return 2;
  }
  const auto run = [&](const std::string& what, const std::vector<kgpu::bench::Tenant>& tenants) {
    kgpu::bench::Print(what, tenants, static_cast<unsigned>(*seconds));
  };
  fmt::print("percent of the first tenant in each of the first 5 seconds, then all tenants'\n");
  run("75:25, kernels of 0.1 and 0.1 ms, queued", {{75, 100, "queue"}, {25, 100, "queue"}});
  run("75:25, kernels of 1 and 1 ms, queued", {{75, 1'000, "queue"}, {25, 1'000, "queue"}});
  run("75:25, kernels of 1 and 1 ms, waited for", {{75, 1'000, "wait"}, {25, 1'000, "wait"}});
  run("25:75, kernels of 20 ms, waited for, and 1 ms",
      {{25, 20'000, "wait"}, {75, 1'000, "queue"}});
  run("10:90, kernels of 1 and 1 ms, queued", {{10, 1'000, "queue"}, {90, 1'000, "queue"}});
  run("50:25:25, kernels of 1 ms, queued",
      {{50, 1'000, "queue"}, {25, 1'000, "queue"}, {25, 1'000, "queue"}});
  return 0;
}

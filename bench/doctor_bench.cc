// What `kgpu doctor` costs on a simulated host: a whole process beside the start of kgpu, and the
// look alone beside the same files read bare. docs/benchmarks.md explains the rows.
//   doctor-bench [RUNS]      default 20
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "bench/sim_node.h"
#include "src/diagnose/doctor/doctor.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/run.h"

namespace kgpu::bench {
namespace {

namespace fs = std::filesystem;

const std::string kKgpu = KGPU_BIN_DIR "/kgpu";

[[noreturn]] void Fail(const std::string& what) {
  (void)std::fputs(fmt::format("doctor-bench: {}\n", what).c_str(), stderr);
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
}

// Time on a CPU: what others do on the machine counts less in it.
double CpuMilliseconds() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double LookOnce(const host::DriverRoot& root) {
  sys::RealRunner runner;
  const double begin = CpuMilliseconds();
  const auto diagnosis = doctor::Diagnose(doctor::GatherFacts(root, runner, RealClock()), {});
  const double time = CpuMilliseconds() - begin;
  if (!diagnosis.ok() || diagnosis->findings.empty()) {
    Fail("the host has nothing to find");
  }
  return time;
}

// The files below `root` that a look opens, as the kernel tells them.
std::set<std::string> FilesRead(const std::string& root, const host::DriverRoot& host) {
  const UniqueFd notes(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  std::map<int, std::string> folders;
  const auto watch = [&](const std::string& folder) {
    folders[inotify_add_watch(notes.get(), folder.c_str(), IN_OPEN | IN_ONLYDIR)] = folder;
  };
  watch(root);
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_directory() && !entry.is_symlink()) {
      watch(entry.path());
    }
  }
  LookOnce(host);
  std::set<std::string> files;
  std::array<char, 1 << 16> bytes{};
  for (ssize_t got = 0; (got = ::read(notes.get(), bytes.data(), bytes.size())) > 0;) {
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, bytes.data() + at, sizeof(event));
      const std::string name = bytes.data() + at + sizeof(event);
      const std::string path = fmt::format("{}/{}", folders[event.wd], event.len > 0 ? name : "");
      if (fs::is_regular_file(path)) {
        files.insert(path);
      }
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  return files;
}

double ReadBare(const std::set<std::string>& files) {
  std::vector<char> bytes(size_t{1} << 20);
  const double begin = CpuMilliseconds();
  for (const std::string& file : files) {
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0 || ::read(fd.get(), bytes.data(), bytes.size()) < 0) {
      Fail(fmt::format("{} cannot be read", file));
    }
  }
  return CpuMilliseconds() - begin;
}

void AddWholeProcess(const std::string& host, int runs, std::vector<Row>& rows) {
  Row time = MakeRow("kgpu doctor, whole process", "ms", "kgpu version", "-");
  Row memory = MakeRow("kgpu doctor, peak memory", "MiB", "kgpu version", "-");
  for (int i = 0; i < runs; ++i) {
    const Cost start = RunAndMeasure({kKgpu, "version"});
    const Cost ours = RunAndMeasure({kKgpu, "doctor", "--host-root", host});
    const bool is_answer = ours.code == 0 || ours.code == 7 || ours.code == 9;
    if (start.code != 0 || !is_answer) {
      Fail(fmt::format("kgpu doctor ends with {}", ours.code));
    }
    time.floor.Add(start.milliseconds);
    time.samples.Add(ours.milliseconds);
    memory.floor.Add(start.peak_mib);
    memory.samples.Add(ours.peak_mib);
  }
  rows.push_back(std::move(time));
  rows.push_back(std::move(memory));
}

void AddLook(const std::string& host, int runs, std::vector<Row>& rows) {
  const auto root = host::OpenDriverRoot(host, "", "");
  if (!root.ok()) {
    Fail(std::string(Message(root.status())));
  }
  const std::set<std::string> files = FilesRead(host, *root);
  Row row = MakeRow("the look alone, CPU", "ms",
                    fmt::format("its {} files opened, read, closed", files.size()), "-");
  for (int i = 0; i < runs; ++i) {
    row.floor.Add(ReadBare(files));
    row.samples.Add(LookOnce(*root));
  }
  rows.push_back(std::move(row));
}

std::vector<Row> Run(int runs) {
  const SimNode node("8xA100-SXM4-80GB");
  std::vector<Row> rows;
  AddWholeProcess(node.host(), runs, rows);
  AddLook(node.host(), runs, rows);
  return rows;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "20");
  if (!runs || *runs == 0 || *runs > 10'000) {
    (void)std::fputs("usage: doctor-bench [RUNS], 1 to 10000\n", stderr);
    return 2;
  }
  (void)std::fputs(kgpu::bench::RenderRows(kgpu::bench::Run(static_cast<int>(*runs))).c_str(),
                   stdout);
  return 0;
}

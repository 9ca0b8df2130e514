// The cost of finding all features of a node:
// a whole process, this machine and a large
// one.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "src/host/features/read.h"
#include "src/platform/base/strings.h"
#include "testing/host_tree.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

namespace fs = std::filesystem;

const std::string kBench = KGPU_BENCH_DIR;
constexpr int kPciFunctions = 300;
constexpr int kInterfaces = 24;
constexpr int kPods = 110;
constexpr int kDisks = 24;

// The values of every tree below are as the kernel writes them; the numbers are those of a large
// GPU server: 256 CPUs with a frequency policy each, 300 functions, two dozen disks, a full set of
// pods.
std::string LargeHost() {
  std::string tree =
      "[proc]\nsys/kernel/osrelease = 6.8.0-45-generic\nswaps = Filename Type Size Used Priority\n"
      "[etc]\nos-release <<<\nID=ubuntu\nVERSION_ID=\"24.04\"\n>>>\n"
      "[sys/devices/system/cpu/intel_pstate]\nstatus = active\nno_turbo = 0\n[]\n"
      "@cpus 0-255 sockets=2 threads=2 governor=performance base_khz=2000000\n";
  const auto out = std::back_inserter(tree);
  for (int i = 0; i < kPciFunctions; ++i) {
    fmt::format_to(out,
                   "@pci 0000:{:02x}:{:02x}.0 class={} id=8086:{:04x} subsystem=8086:0000 "
                   "driver=ice group={}{}{}\n",
                   i / 32 + 1, i % 32, i % 20 == 0 ? "030200" : "020000", 0x1500 + i % 7, i,
                   i % 8 == 0 ? " vfs=64" : "",
                   i < kInterfaces ? fmt::format(" net=ens{}", i) : std::string());
  }
  for (int i = 0; i < kInterfaces + kPods; ++i) {
    const std::string name =
        i < kInterfaces ? fmt::format("ens{}", i) : fmt::format("veth{}", i - kInterfaces);
    fmt::format_to(out, "[sys/class/net/{}]\noperstate = up\nspeed = 25000\nmtu = 1500\n", name);
  }
  for (int i = 0; i < kDisks; ++i) {
    fmt::format_to(out,
                   "[sys/block/nvme{}n1/queue]\nrotational = 0\ndax = 0\nnr_zones = 0\n"
                   "zoned = none\n",
                   i);
  }
  // Names begin as those of a real kernel do: with some two dozen words.
  constexpr std::array kWords = {"ACPI",  "AMD",  "ARCH",    "BLK_DEV",   "CRYPTO", "DEBUG",
                                 "DRM",   "FB",   "GPIO",    "HAVE",      "I2C",    "IP_NF",
                                 "MEDIA", "MTD",  "NET",     "NETFILTER", "NFS",    "PCI",
                                 "RTC",   "SCSI", "SENSORS", "SND_SOC",   "USB",    "VIDEO"};
  tree += "[boot]\nconfig-6.8.0-45-generic <<<\n";
  for (int i = 0; i < 10'000; ++i) {
    const std::string name =
        fmt::format("CONFIG_{}_OPTION_{}", kWords[i / 7 % kWords.size()], i * 7919 % 10'000);
    if (i % 3 == 0) {
      fmt::format_to(out, "# {} is not set\n", name);
    } else {
      fmt::format_to(out, "{}={}\n", name, i % 2 ? 'y' : 'm');
    }
  }
  tree += ">>>\n[lib/modules/6.8.0-45-generic]\nmodules.builtin <<<\n";
  for (int i = 0; i < 1500; ++i) {
    fmt::format_to(out, "kernel/drivers/subsystem/module_number_{}.ko\n", i * 7919 % 1500);
  }
  tree += ">>>\n[proc]\nmodules <<<\n";
  for (int i = 0; i < 250; ++i) {
    fmt::format_to(out, "loaded_module_{} 57344 2 - Live 0x0000000000000000\n", i * 7919 % 250);
  }
  return tree + ">>>\n";
}

// Every file of a tree that says something, with its links followed by nobody.
std::vector<std::string> FilesOf(const std::string& root) {
  std::vector<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    // Of a CPU's files only those of the first CPU of a package are needed.
    const std::string path = entry.path();
    if (entry.is_regular_file() && path.find("/topology/") == std::string::npos) {
      files.push_back(path);
    }
  }
  return files;
}

// Time on a CPU: what others do on the machine counts less in it.
double CpuMilliseconds() {
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

// The least that reading can cost: each file opened by its path, read once and closed.
double ReadBare(const std::vector<std::string>& files) {
  static std::array<char, 1 << 20> bytes;
  const double begin = CpuMilliseconds();
  for (const std::string& file : files) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::read(fd, bytes.data(), bytes.size()) < 0) {
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
    }
    ::close(fd);
  }
  return CpuMilliseconds() - begin;
}

double ReadOurs(const sys::Root& host, features::CpuidReader& cpuid) {
  const features::FeatureOptions options;
  const double begin = CpuMilliseconds();
  const features::Reading reading = features::ReadFeatures(host, options, cpuid);
  const auto labels = features::FeatureLabels(reading.features, options);
  const double time = CpuMilliseconds() - begin;
  if (labels.empty() || reading.features.instances.at("pci.device").empty()) {
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
  return time;
}

Row InProcess(const std::string& what, const std::string& root, int runs,
              const std::string& budget) {
  Row row{.what = what,
          .unit = "ms",
          .samples = {},
          .floor_name = "its files opened, read, closed",
          .floor = {},
          .budget = budget};
  const std::vector<std::string> files = FilesOf(root);
  const auto host = sys::Root::Open(root);
  const auto cpuid = host.ok() ? features::OpenCpuid(*host) : host.status();
  for (int i = 0; cpuid.ok() && i < runs; ++i) {
    row.floor.Add(ReadBare(files));
    row.samples.Add(ReadOurs(*host, **cpuid));
  }
  return row;
}

Row EmptyRow(const std::string& what, const std::string& unit, const std::string& budget) {
  return {.what = what,
          .unit = unit,
          .samples = {},
          .floor_name = "a program that does nothing",
          .floor = {},
          .budget = budget};
}

void AddWholeProcess(const std::string& name, const std::string& root, int runs,
                     const std::string& budget, std::vector<Row>& rows) {
  Row time = EmptyRow(name + ", whole process", "ms", budget);
  Row cpu = EmptyRow(name + ", CPU of it", "ms", "-");
  Row memory = EmptyRow(name + ", peak memory", "MiB", "6");
  for (int i = 0; i < runs; ++i) {
    const Cost noop = RunAndMeasure({kBench + "/noop"});
    const Cost ours = RunAndMeasure({kBench + "/features-once", root});
    if (ours.code != 0) {
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
    }
    time.floor.Add(noop.milliseconds);
    time.samples.Add(ours.milliseconds);
    cpu.floor.Add(noop.cpu_milliseconds);
    cpu.samples.Add(ours.cpu_milliseconds);
    memory.floor.Add(noop.peak_mib);
    memory.samples.Add(ours.peak_mib);
  }
  for (Row* row : {&time, &cpu, &memory}) {
    rows.push_back(std::move(*row));
  }
}

// Where proc and sysfs are, if this machine has such a folder: in memory.
void UseMemory() {
  constexpr const char* kMemory = "/dev/shm";
  struct statfs info{};
  if (statfs(kMemory, &info) == 0 && info.f_type == TMPFS_MAGIC) {
    ::setenv("TMPDIR", kMemory, 0);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

std::vector<Row> Run(int runs) {
  UseMemory();
  const TempDir dir;
  UnpackHost(LargeHost(), dir);
  std::vector<Row> rows;
  AddWholeProcess("this machine", "/", runs, "3", rows);
  AddWholeProcess("256 CPUs, 300 PCI functions", dir.path(), runs, "10", rows);
  rows.push_back(
      InProcess("256 CPUs, 300 PCI functions, CPU in a process that runs", dir.path(), runs, "-"));
  return rows;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "40");
  if (!runs || *runs == 0 || *runs > 10'000) {
    (void)std::fputs("usage: features-bench [RUNS], 1 to 10000\n", stderr);
    return 2;
  }
  (void)std::fputs(kgpu::bench::RenderRows(kgpu::bench::Run(static_cast<int>(*runs))).c_str(),
                   stdout);
  return 0;
}

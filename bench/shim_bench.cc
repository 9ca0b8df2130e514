// What kgpu-runtime costs at every create, over the runtime alone and over a static shim that does
// nothing but start the runtime, taken in turns. docs/benchmarks.md explains the rows. Needs root
// (simulated hosts have device nodes).
//   shim-bench [RUNS]      default 300
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "bench/process.h"
#include "src/platform/base/strings.h"
#include "testing/temp_dir.h"

namespace kgpu::bench {
namespace {

namespace fs = std::filesystem;

const std::string kBin = KGPU_BIN_DIR;
const std::string kBench = KGPU_BENCH_DIR;
constexpr int kRealRuns = 25;

void Require(bool claim, const std::string& what) {
  if (!claim) {
    (void)std::fputs(fmt::format("shim-bench: {}\n", what).c_str(), stderr);
    std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread
  }
}

// A program as an installation leaves it: a file written in one go, which the kernel keeps in large
// pieces. What a linker wrote lies in small ones and starts 0.1 ms and more later.
std::string Install(const std::string& from, const TempDir& dir) {
  std::ifstream in(from, std::ios::binary);
  const std::string name = fs::path(from).filename();
  dir.WriteFile(name, std::string(std::istreambuf_iterator<char>(in), {}));
  fs::permissions(dir.At(name), fs::perms::owner_all);
  return dir.At(name);
}

// Where engines keep bundles: memory, if this machine has such a folder.
class BundleFolder {
 public:
  BundleFolder() {
    struct statfs info{};
    const bool is_memory = statfs("/dev/shm", &info) == 0 && info.f_type == TMPFS_MAGIC;
    path_ = is_memory ? "/dev/shm/kgpu-bench-XXXXXX" : "/tmp/kgpu-bench-XXXXXX";
    Require(mkdtemp(path_.data()) != nullptr, "no folder for the bundle");
    fs::create_directory(path_ + "/rootfs");
    fs::copy_file(kBench + "/noop", path_ + "/rootfs/noop");
  }
  ~BundleFolder() { fs::remove_all(path_); }
  BundleFolder(const BundleFolder&) = delete;
  BundleFolder& operator=(const BundleFolder&) = delete;

  const std::string& path() const { return path_; }
  void WriteSpec(const std::string& text) const { std::ofstream(path_ + "/config.json") << text; }
  std::string ReadSpec() const {
    std::ifstream in(path_ + "/config.json");
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  std::string path_;
};

// A spec such as docker writes, 27 kB: variables of a CUDA image, usual mounts, lists of system
// calls.
std::string Spec(bool asks) {
  std::string calls;
  for (int i = 0; i < 1200; ++i) {
    calls += fmt::format("{}\"system_call_{}\"", i == 0 ? "" : ",", i);
  }
  return fmt::format(
      R"({{"ociVersion":"1.0.2","process":{{"user":{{"uid":0,"gid":0}},"args":["/noop"],"env":[)"
      R"("PATH=/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/bin:/bin","HOSTNAME=box",)"
      R"("NVIDIA_REQUIRE_CUDA=cuda>=12.2 brand=tesla,driver>=470,driver<471","CUDA_VERSION=12.2.0",)"
      R"("NV_CUDA_CUDART_VERSION=12.2.140-1","NVIDIA_VISIBLE_DEVICES={}"],"cwd":"/"}},)"
      R"("root":{{"path":"rootfs"}},"hostname":"box","mounts":[)"
      R"({{"destination":"/proc","type":"proc","source":"proc"}},)"
      R"({{"destination":"/dev","type":"tmpfs","source":"tmpfs","options":["nosuid","mode=755"]}},)"
      R"({{"destination":"/sys","type":"sysfs","source":"sysfs","options":["nosuid","ro"]}}],)"
      R"("hooks":{{"prestart":[{{"path":"/usr/bin/nvidia-container-runtime-hook"}}]}},)"
      R"("linux":{{"resources":{{"devices":[{{"allow":false,"access":"rwm"}}]}},)"
      R"("namespaces":[{{"type":"pid"}},{{"type":"ipc"}},{{"type":"uts"}},{{"type":"mount"}}],)"
      R"("seccomp":{{"defaultAction":"SCMP_ACT_ALLOW","syscalls":[{{"names":[{}],)"
      R"("action":"SCMP_ACT_ALLOW"}}]}}}}}})",
      asks ? "0,1" : "void", calls);
}

class ShimBench {
 public:
  explicit ShimBench(int runs) : runs_(runs) {
    const std::string host = host_path();
    Require(
        RunAndMeasure({kBin + "/kgpu-sim", "create", host, "--profile", "8xA100-SXM4-80GB"}).code ==
            0,
        "kgpu-sim create");
    Require(RunAndMeasure(
                {kBin + "/kgpu", "cdi", "generate", "--host-root", host, "--engine-root", "/"})
                    .code == 0,
            "kgpu cdi generate");
    UseRuntime(noop_);
  }
  ~ShimBench() { (void)RunAndMeasure({kBin + "/kgpu-sim", "delete", host_path()}); }
  ShimBench(const ShimBench&) = delete;
  ShimBench& operator=(const ShimBench&) = delete;

  std::vector<Row> Run() {
    const std::string asking = Spec(true);
    // Without a request and without the hook entry: a container that has nothing to do with GPUs.
    std::string other = Spec(false);
    const size_t hooks = other.find("\"hooks\"");
    other.erase(hooks, other.find("\"linux\"") - hooks);
    std::vector<Row> rows = Costs("create with two of 8 GPUs", asking, "1.00", "0.50");
    for (Row& row : Costs("create without GPUs", other, "-", "-")) {
      rows.push_back(std::move(row));
    }
    rows.push_back(Memory(asking));
    if (const std::string runc = FindRunc(); !runc.empty()) {
      rows.push_back(RealCreate(runc, asking));
    }
    return rows;
  }

 private:
  std::string host_path() const { return dir_.At("host"); }

  void UseRuntime(const std::string& path) const {
    dir_.WriteFile("host/etc/kgpu/runtime.json", fmt::format(R"({{"runtimes": ["{}"]}})", path));
  }

  static std::string FindRunc() {
    for (const char* path : {"/usr/sbin/runc", "/usr/bin/runc"}) {
      if (fs::exists(path)) {
        return path;
      }
    }
    return "";
  }

  Cost Create(std::vector<std::string> front, const std::string& spec) const {
    bundle_.WriteSpec(spec);
    front.insert(front.end(), {"create", "--bundle", bundle_.path(), "kgpu-bench"});
    const Cost cost = RunAndMeasure(front);
    Require(cost.code == 0, fmt::format("{} create: exit code {}", front.front(), cost.code));
    return cost;
  }

  Cost Shim(const std::string& spec) const {
    return Create({shim_, "--kgpu-root", host_path()}, spec);
  }

  std::vector<Row> Costs(const std::string& what, const std::string& spec,
                         const std::string& over_runtime, const std::string& over_noop) const {
    Row alone{.what = what + ": cost over the runtime alone",
              .unit = "ms",
              .samples = {},
              .floor_name = "a runtime that does nothing",
              .floor = {},
              .budget = over_runtime};
    Row noop{.what = what + ": cost over a shim that does nothing",
             .unit = "ms",
             .samples = {},
             .floor_name = "what that shim costs",
             .floor = {},
             .budget = over_noop};
    for (int i = 0; i < runs_; ++i) {
      const double runtime = Create({noop_}, spec).milliseconds;
      const double floor = Create({noop_shim_, noop_}, spec).milliseconds;
      const double shim = Shim(spec).milliseconds;
      alone.samples.Add(shim - runtime);
      alone.floor.Add(runtime);
      noop.samples.Add(shim - floor);
      noop.floor.Add(floor - runtime);
    }
    return {std::move(alone), std::move(noop)};
  }

  Row Memory(const std::string& spec) const {
    Row row{.what = "peak memory of the shim",
            .unit = "MiB",
            .samples = {},
            .floor_name = "a shim that does nothing",
            .floor = {},
            .budget = "3"};
    for (int i = 0; i < 20; ++i) {
      row.samples.Add(Shim(spec).peak_mib);
      row.floor.Add(Create({noop_shim_, noop_}, spec).peak_mib);
    }
    return row;
  }

  // The same container made by runc alone, of the spec that the shim has written.
  Row RealCreate(const std::string& runc, const std::string& spec) const {
    (void)Shim(spec);
    const std::string edited = bundle_.ReadSpec();
    UseRuntime(runc);
    const std::string state = dir_.At("state");
    Row row{.what = "runc create through the shim, two of 8 GPUs",
            .unit = "ms",
            .samples = {},
            .floor_name = "runc create of the edited spec",
            .floor = {},
            .budget = "-"};
    const auto remove = [&] {
      (void)RunAndMeasure({runc, "--root", state, "delete", "--force", "kgpu-bench"});
    };
    for (int i = 0; i < kRealRuns; ++i) {
      row.floor.Add(Create({runc, "--root", state}, edited).milliseconds);
      remove();
      row.samples.Add(
          Create({shim_, "--kgpu-root", host_path(), "--root", state}, spec).milliseconds);
      remove();
    }
    return row;
  }

  int runs_;
  TempDir dir_;
  std::string noop_ = Install(kBench + "/noop", dir_);
  std::string noop_shim_ = Install(kBench + "/noop-shim", dir_);
  std::string shim_ = Install(kBin + "/kgpu-runtime", dir_);
  BundleFolder bundle_;
};

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "300");
  if (!runs || *runs == 0 || *runs > 10'000) {
    (void)std::fputs("usage: shim-bench [RUNS], 1 to 10000\n", stderr);
    return 2;
  }
  (void)std::fputs(
      kgpu::bench::RenderRows(kgpu::bench::ShimBench(static_cast<int>(*runs)).Run()).c_str(),
      stdout);
  return 0;
}

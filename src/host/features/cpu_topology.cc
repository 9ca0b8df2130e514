// Sockets and threads. Source: /sys/devices/system/cpu (Documentation/admin-guide/cputopology.rst).
// A machine may have hundreds of CPUs: the lists of one name its siblings, so only as many are
// looked at as there are packages, and the kernel's own word says whether cores have threads.
#include "src/host/features/cpu_list.h"
#include "src/host/features/cpu_parts.h"

#include <set>

#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr const char* kCpus = "sys/devices/system/cpu";

Folder TopologyOf(const Source& source, std::string_view cpu) {
  return Folder::Open(source.host, fmt::format("{}/{}/topology", kCpus, cpu));
}

bool HasSiblings(std::string_view list) {
  return list.find_first_of(",-") != std::string_view::npos;
}

// CPUs of the package that this one is in. The old name is that of kernels before 5.3.
std::vector<bool> PackageOf(const Folder& topology) {
  for (const char* name : {"package_cpus_list", "core_siblings_list"}) {
    if (const std::optional<std::string> list = topology.Text(name)) {
      return ParseCpuList(*list);
    }
  }
  return {};
}

class TopologyReader {
 public:
  explicit TopologyReader(const Source& source) : source_(source) {
    if (const std::optional<std::string> active =
            source.Text("sys/devices/system/cpu/smt/active")) {
      has_threads_ = *active == "1";
      knows_threads_ = true;
    }
  }

  void Visit(std::string_view name, unsigned number) {
    const bool is_known = number < package_of_.size() && package_of_[number] != 0;
    if (is_known && (knows_threads_ || has_threads_)) {
      return;
    }
    const Folder topology = TopologyOf(source_, name);
    if (!topology.is_open()) {
      return;  // switched off: it has no place in any core
    }
    if (const std::optional<std::string> siblings = topology.Text("thread_siblings_list")) {
      has_threads_ = has_threads_ || HasSiblings(*siblings);
    }
    if (is_known) {
      return;
    }
    if (std::optional<std::string> package = topology.Text("physical_package_id")) {
      packages_.insert(*std::move(package));
    }
    ++groups_;
    const std::vector<bool> siblings = PackageOf(topology);
    package_of_.resize(std::max(package_of_.size(), siblings.size()));
    for (size_t i = 0; i < siblings.size(); ++i) {
      package_of_[i] = siblings[i] ? groups_ : package_of_[i];
    }
  }

  void Finish(Attributes& out) const {
    if (packages_.empty()) {
      return;  // no topology at all: nothing is claimed
    }
    out["hardware_multithreading"] = has_threads_ ? "true" : "false";
    out["socket_count"] = std::to_string(packages_.size());
  }
  const PackageOfCpu& package_of() const { return package_of_; }

 private:
  const Source& source_;
  bool has_threads_ = false;
  bool knows_threads_ = false;
  unsigned groups_ = 0;
  PackageOfCpu package_of_;
  std::set<std::string> packages_;
};

}  // namespace

PackageOfCpu ReadTopology(const Source& source) {
  Attributes& out = source.attributes("cpu.topology");
  TopologyReader reader(source);
  for (const std::string& name : source.List(kCpus)) {
    if (const std::optional<unsigned> number = NumberedCpu(name, "cpu")) {
      reader.Visit(name, *number);
    }
  }
  reader.Finish(out);
  for (const char* kind : {"cpu_atom", "cpu_core"}) {
    if (source.Text(fmt::format("sys/devices/{}/cpus", kind))) {
      out[kind] = "true";
    }
  }
  return reader.package_of();
}

}  // namespace kgpu::features

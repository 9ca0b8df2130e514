// The CPU. The instruction CPUID is the truth of an x86 node: it tells what this very CPU, or the
// virtual one that the node has, can do, where /proc/cpuinfo leaves flags out and costs
// milliseconds on some kernels. Elsewhere /proc/cpuinfo is all there is.
#include <fcntl.h>
#include <unistd.h>

#include "src/host/features/cpu_flags.h"
#include "src/host/features/cpu_info.h"
#include "src/host/features/cpu_parts.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr const char* kCpuInfo = "proc/cpuinfo";

void AddModel(const CpuModel& model, std::string hypervisor, Attributes& out) {
  out["vendor_id"] = model.vendor;
  out["family"] = std::to_string(model.family);
  out["id"] = std::to_string(model.model);
  out["hypervisor"] = std::move(hypervisor);
}

void ReadRdt(const Source& source, const CpuLeaves& leaves) {
  constexpr const char* kClasses = "sys/fs/resctrl/info/L3/num_closids";
  Attributes& out = source.attributes("cpu.rdt");
  for (const std::string& flag : RdtFlags(leaves)) {
    out[flag] = "true";
  }
  if (!out.contains("RDTL3CA")) {
    return;
  }
  const std::optional<std::string> text = source.Text(kClasses);
  const std::optional<uint64_t> classes = text ? ParseUint(*text) : std::nullopt;
  if (classes && *classes > 0) {
    out["RDTL3CA_NUM_CLOSID"] = std::to_string(*classes - 1);  // one is the default group's
  }
}

void ReadWithCpuid(const Source& source, const CpuLeaves& leaves, const PackageOfCpu& packages) {
  source.flags("cpu.cpuid") = CpuFlags(leaves);
  Attributes& more = source.attributes("cpu.cpuid");
  if (const unsigned version = Avx10Version(leaves); version > 0) {
    more["AVX10_VERSION"] = std::to_string(version);
  }
  AddModel(leaves.model(), Hypervisor(leaves), source.attributes("cpu.model"));
  ReadRdt(source, leaves);
  ReadPower(source, NominalMhz(leaves), packages);
  ReadSecurity(source, &leaves);
}

// The beginning of /proc/cpuinfo: the kernel makes the text while it is read, one CPU after the
// other.
std::string ReadFirstCpu(const Source& source) {
  const StatusOr<UniqueFd> fd = source.host.OpenFile(kCpuInfo, O_RDONLY | O_NONBLOCK);
  std::string text(size_t{16} << 10, '\0');
  const ssize_t got = fd.ok() ? ::read(fd->get(), text.data(), text.size()) : ssize_t{-1};
  if (got <= 0) {
    source.Complain("cannot read {}: the CPU's model and flags are unknown",
                    source.host.At(kCpuInfo));
  }
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return text;
}

void ReadWithoutCpuid(const Source& source, const PackageOfCpu& packages) {
  CpuInfo info = ParseCpuInfo(ReadFirstCpu(source));
  const bool is_guest = info.flags.contains("HYPERVISOR");
  source.flags("cpu.cpuid") = std::move(info.flags);
  AddModel(info.model, is_guest ? "unknown" : "none", source.attributes("cpu.model"));
  source.attributes("cpu.rdt").clear();
  ReadPower(source, 0, packages);
  ReadSecurity(source, nullptr);
}

}  // namespace

void ReadCpu(const Source& source) {
  const PackageOfCpu packages = ReadTopology(source);
  if (source.cpuid.is_available()) {
    ReadWithCpuid(source, CpuLeaves(source.cpuid), packages);
  } else {
    ReadWithoutCpuid(source, packages);
  }
  Attributes& coprocessor = source.attributes("cpu.coprocessor");
  if (source.host.Exists("sys/devices/vio/ibm,compression-v1/nx_gzip_caps")) {
    coprocessor["nx_gzip"] = "true";
  }
}

}  // namespace kgpu::features

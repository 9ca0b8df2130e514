// Idle states and frequencies under Intel's drivers. Sources: Documentation/admin-guide/pm/
// intel_idle.rst, intel_pstate.rst, cpufreq.rst.
#include <set>

#include "src/host/features/cpu_list.h"
#include "src/host/features/cpu_parts.h"
#include "src/platform/base/strings.h"

namespace kgpu::features {
namespace {

constexpr const char* kPolicies = "sys/devices/system/cpu/cpufreq";

const char* PowerClaim(bool is_so) {
  return is_so ? "true" : "false";
}

void ReadIdleStates(const Source& source) {
  Attributes& out = source.attributes("cpu.cstate");
  const std::optional<std::string> driver =
      source.Text("sys/devices/system/cpu/cpuidle/current_driver");
  if (driver != "intel_idle") {
    return;  // of other drivers nobody can say in one word whether they idle
  }
  constexpr const char* kMost = "sys/module/intel_idle/parameters/max_cstate";
  const std::optional<std::string> most = source.Text(kMost);
  const std::optional<uint64_t> states = most ? ParseUint(*most) : std::nullopt;
  if (!states) {
    source.Complain("{}: {} is not a number of idle states", source.host.At(kMost),
                    most ? fmt::format("\"{}\"", Printable(*most, 20)) : "what is missing");
    return;
  }
  out["enabled"] = PowerClaim(*states > 0);
}

// The values that all frequency policies share. There may be a policy for each core, so a file is
// read only if it can still change the result.
class Policies {
 public:
  Policies(const Source& source, unsigned nominal_mhz, const PackageOfCpu& packages)
      : folder_(Folder::Open(source.host, kPolicies)),
        nominal_mhz_(nominal_mhz),
        packages_(packages) {}

  void Visit(const std::string& policy) {
    VisitGovernor(policy);
    if (may_have_base_ && !has_fast_cores_ && !lacks_nominal_) {
      VisitBaseFrequency(policy);
    }
  }
  // Empty if they differ, or if there is none.
  std::string governor() const { return differ_ ? "" : governor_; }
  bool has_fast_cores() const { return has_fast_cores_; }
  bool lacks_nominal() const { return lacks_nominal_; }

 private:
  std::optional<std::string> Text(const std::string& policy, const char* name) const {
    return folder_.Text(fmt::format("{}/{}", policy, name).c_str());
  }

  void VisitGovernor(const std::string& policy) {
    const std::optional<std::string> governor =
        differ_ ? std::nullopt : Text(policy, "scaling_governor");
    if (!governor || governor->empty() || *governor == governor_) {
      return;
    }
    // Policies whose CPUs are all switched off do not count.
    if (const auto cpus = Text(policy, "affected_cpus"); !cpus || cpus->empty()) {
      return;
    }
    differ_ = !governor_.empty();
    governor_ = *governor;
  }

  // Speed select makes some cores of a package faster and all others slower: where one runs at the
  // frequency that the CPU is sold with, none is faster.
  void VisitBaseFrequency(const std::string& policy) {
    const std::optional<unsigned> cpu = NumberedCpu(policy, "policy");
    const unsigned package = cpu && *cpu < packages_.size() ? packages_[*cpu] : 0;
    if (usual_packages_.contains(package)) {
      return;
    }
    const FileText file = folder_.Read(fmt::format("{}/base_frequency", policy).c_str());
    may_have_base_ = !file.is_missing();  // one driver serves all: it offers the file or not
    const std::optional<uint64_t> khz = file.ok() ? ParseUint(file.text) : std::nullopt;
    if (!khz) {
      return;
    }
    lacks_nominal_ = nominal_mhz_ == 0;
    has_fast_cores_ = !lacks_nominal_ && *khz / 1000 > nominal_mhz_;
    if (package != 0 && *khz / 1000 == nominal_mhz_) {
      usual_packages_.insert(package);
    }
  }

  Folder folder_;
  unsigned nominal_mhz_;
  const PackageOfCpu& packages_;
  std::set<unsigned> usual_packages_;
  std::string governor_;
  bool differ_ = false;
  bool may_have_base_ = true;
  bool has_fast_cores_ = false;
  bool lacks_nominal_ = false;
};

void ReadFrequencies(const Source& source, unsigned nominal_mhz, const PackageOfCpu& packages) {
  Attributes& pstate = source.attributes("cpu.pstate");
  Attributes& sst = source.attributes("cpu.sst");
  const Folder driver = Folder::Open(source.host, "sys/devices/system/cpu/intel_pstate");
  const std::optional<std::string> status = driver.Text("status");
  if (!status || *status == "off") {
    return;
  }
  pstate["status"] = *status;
  if (const std::optional<std::string> no_turbo = driver.Text("no_turbo")) {
    pstate["turbo"] = PowerClaim(no_turbo->starts_with('0'));
  }
  Policies policies(source, nominal_mhz, packages);
  for (const std::string& name : source.List(kPolicies)) {
    policies.Visit(name);
  }
  if (const std::string governor = policies.governor(); *status == "active" && !governor.empty()) {
    pstate["scaling_governor"] = governor;
  }
  if (policies.lacks_nominal()) {
    source.Complain(
        "the CPU does not report its nominal frequency: whether speed select raises some is "
        "unknown");
  }
  if (policies.has_fast_cores()) {
    sst["bf.enabled"] = "true";
  }
}

}  // namespace

void ReadPower(const Source& source, unsigned nominal_mhz, const PackageOfCpu& packages) {
  ReadIdleStates(source);
  ReadFrequencies(source, nominal_mhz, packages);
}

}  // namespace kgpu::features

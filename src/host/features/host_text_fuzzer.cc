// A host whose files all have the same text, DMI's and those of every device: reading it must end
// and make labels that Kubernetes takes.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "src/host/features/label_text.h"
#include "src/host/features/pci_uevent.h"
#include "src/host/features/read.h"

namespace {

namespace fs = std::filesystem;

constexpr std::array kFiles = {
    "etc/os-release",
    "proc/cpuinfo",
    "proc/modules",
    "proc/swaps",
    "proc/sys/kernel/osrelease",
    "sys/block/sda/queue/rotational",
    "sys/bus/node/devices/node0/x",
    "sys/bus/nd/devices/nd0/devtype",
    "sys/bus/pci/devices/0000:01:00.0/class",
    "sys/bus/pci/devices/0000:01:00.0/uevent",
    "sys/bus/pci/devices/0000:01:00.0/sriov_totalvfs",
    "sys/bus/usb/devices/1-1/bDeviceClass",
    "sys/bus/usb/devices/1-1/idProduct",
    "sys/class/net/eth0/device/sriov_totalvfs",
    "sys/class/net/eth0/speed",
    "sys/devices/system/cpu/cpu0/topology/package_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "sys/devices/system/cpu/intel_pstate/status",
    "sys/devices/virtual/dmi/id/product_name",
    "sys/devices/virtual/dmi/id/sys_vendor",
    "sys/fs/cgroup/misc.capacity",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/module/kvm_amd/parameters/sev",
};

// One folder for the whole run: every file in it is a link to one file that is written again.
struct Host {
  Host() : root(fs::temp_directory_path() / ("kgpu-fuzz-" + std::to_string(getpid()))) {
    fs::remove_all(root);
    for (const char* file : kFiles) {
      fs::create_directories((root / file).parent_path());
    }
    text = root / "text";
    std::ofstream(text).flush();
    for (const char* file : kFiles) {
      fs::create_hard_link(text, root / file);
    }
  }
  ~Host() {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  fs::path root;
  fs::path text;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::features;  // NOLINT(google-build-using-namespace): a fuzz target alone
  static const Host host;          // made once: a run has millions of inputs
  const int fd = ::open(host.text.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (fd < 0 || ::write(fd, data, size) != static_cast<ssize_t>(size)) {
    std::abort();
  }
  ::close(fd);
  ParsePciUevent(std::string_view(reinterpret_cast<const char*>(data), size));
  const auto root = kgpu::sys::Root::Open(host.root.string());
  const auto cpuid = ParseRecordedCpuid("");
  if (!root.ok() || !cpuid.ok()) {
    std::abort();
  }
  const Reading reading = ReadFeatures(*root, {}, **cpuid);
  for (const auto& [key, value] : FeatureLabels(reading.features, {})) {
    if (!IsLabelKey(key) || !IsLabelValue(value)) {
      std::abort();
    }
  }
  return 0;
}

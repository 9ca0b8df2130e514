#include <fmt/format.h>

#include "src/diagnose/doctor/test_healthy_host.h"

namespace kgpu::doctor {
namespace {

// A switch port whose configuration space has an ACS capability behind another one.
std::string ConfigWithAcs(char control) {
  std::string config(4096, '\0');
  config[0x100] = 0x01;  // advanced error reporting, next at 0x148
  config[0x102] = static_cast<char>(0x81);
  config[0x103] = 0x14;
  config[0x148] = 0x0d;
  config[0x14e] = control;
  return config;
}

}  // namespace

std::vector<Broken> BrokenHardware() {
  return {
      {"pci-no-gpu", [](const HealthyHost& host) { host.Remove("sys/bus/pci/devices"); }},
      {"place-unusual", [](const HealthyHost& host) { host.Write("dev/dxg", ""); }},
      {"pci-gpu-off-bus",
       [](const HealthyHost& host) { host.WriteGpu("config", std::string(64, '\xff')); }},
      {"pci-gpu-held-by-other-driver",
       [](const HealthyHost& host) {
         host.Link("../../bus/pci/drivers/nvidiafb",
                   fmt::format("sys/bus/pci/devices/{}/driver", kGpu));
       }},
      {"pci-gpu-held-by-nobody",
       [](const HealthyHost& host) {
         host.Remove(fmt::format("sys/bus/pci/devices/{}/driver", kGpu));
       }},
      {"pci-bar-small",
       [](const HealthyHost& host) {
         host.WriteGpu("resource",
                       "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"
                       "0x00000000b0000000 0x00000000bfffffff 0x000000000014220c\n");
         host.WriteGpu("resource1_resize", "000000000001ffc0\n");
       }},
      {"pci-bar-unplaced",
       [](const HealthyHost& host) {
         host.WriteGpu("resource",
                       "0x00000000a0000000 0x00000000a0ffffff 0x0000000000040200\n"
                       "0x0000000000000000 0x0000000fffffffff 0x000000002014220c\n");
       }},
      {"pci-link-narrow",
       [](const HealthyHost& host) { host.WriteGpu("current_link_width", "8\n"); }},
      {"pci-link-errors",
       [](const HealthyHost& host) {
         host.WriteGpu("aer_dev_fatal", "DLP 3\nTOTAL_ERR_FATAL 3\n");
       }},
      {"pci-numa-unknown", [](const HealthyHost& host) { host.WriteGpu("numa_node", "-1\n"); }},
      {"pci-iommu-translates",
       [](const HealthyHost& host) { host.WriteGpu("iommu_group/type", "DMA-FQ\n"); }},
      {"pci-acs-redirects",
       [](const HealthyHost& host) {
         host.Write(PortFolder(kGpu) + "/config", ConfigWithAcs(0x1d));
       }},
  };
}

}  // namespace kgpu::doctor

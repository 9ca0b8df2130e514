// Tests only: a host folder with NVIDIA GPUs on its PCI bus, complete enough for the inventory.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "src/host/inspect/driver_root.h"
#include "testing/temp_dir.h"

namespace kgpu::inventory {

class TestHost {
 public:
  TestHost() {
    dir_.MakeDir("dev");
    dir_.MakeDir("sys/bus/pci/devices");
    dir_.WriteFile("proc/modules", "nvidia 1 0 - Live 0x0\n");
    dir_.WriteFile("proc/driver/nvidia/version",
                   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19\n");
  }

  // The address that the fake library gives GPU `index`: bus index + 1, with minor `index`.
  static std::string Address(unsigned index) { return fmt::format("0000:{:02x}:00.0", index + 1); }
  void AddGpu(unsigned index, const std::string& kernel_driver = "nvidia") {
    const std::string folder = Folder(index);
    dir_.WriteFile(folder + "/vendor", "0x10de\n");
    dir_.WriteFile(folder + "/device", "0x20b2\n");
    dir_.WriteFile(folder + "/class", "0x030200\n");
    dir_.WriteFile(folder + "/subsystem_vendor", "0x10de\n");
    dir_.WriteFile(folder + "/subsystem_device", "0x1463\n");
    dir_.WriteFile(folder + "/resource", "");
    dir_.WriteFile(folder + "/numa_node", "1\n");
    dir_.Symlink("../../../../bus/pci/drivers/" + kernel_driver, folder + "/driver");
    dir_.WriteFile(fmt::format("proc/driver/nvidia/gpus/{}/information", Address(index)),
                   fmt::format("Model: \t\t NVIDIA A100\nDevice Minor: \t {}\n", index));
  }
  void RemoveGpu(unsigned index) { std::filesystem::remove_all(dir_.At(Folder(index))); }
  // A plain file can stand for a device node here: only its name is read.
  void AddNode(unsigned index) { dir_.WriteFile(fmt::format("dev/nvidia{}", index), ""); }
  void RemoveNode(unsigned index) {
    std::filesystem::remove(dir_.At(fmt::format("dev/nvidia{}", index)));
  }
  const TempDir& dir() const { return dir_; }
  host::DriverRoot Open() const {
    return *host::OpenDriverRoot(dir_.path(), std::string(), std::string());
  }

 private:
  static std::string Folder(unsigned index) { return "sys/bus/pci/devices/" + Address(index); }

  TempDir dir_;
};

}  // namespace kgpu::inventory

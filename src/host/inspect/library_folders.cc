#include "src/host/inspect/library_folders.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace kgpu::host {
namespace {

constexpr std::array<MachineFolders, 3> kMachines = {{
    {ElfMachine::kX86_64, "x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib64"},
    {ElfMachine::kAarch64, "aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64"},
    {ElfMachine::kI386, "i386-linux-gnu", "usr/lib/i386-linux-gnu", "usr/lib"},
}};

// Below a triplet's folder. Debian has a folder for each flavour of the driver.
constexpr std::array<std::string_view, 4> kBelowTriplet = {"", "/nvidia/current", "/nvidia/tesla",
                                                           "/nvidia"};

// Independent of the machine; the ELF header says for which one a library is.
constexpr std::array<std::string_view, 14> kPlain = {
    "usr/lib64",         // RHEL, SUSE, Amazon
    "usr/lib64/nvidia",  // RHEL with the packages of RPM Fusion and negativo17
    "lib64",             // GKE's /home/kubernetes/bin/nvidia, roots in /opt
    "usr/lib",           // Arch; 32-bit on RHEL
    "usr/lib/nvidia",
    "lib",
    "usr/lib32",               // 32-bit on Arch
    "usr/local/nvidia/lib64",  // container-optimised hosts
    "usr/local/nvidia/lib",
    "usr/local/lib64",
    "usr/local/lib",  // Talos
    "usr/local/glibc/usr/lib",
    "run/opengl-driver/lib",  // NixOS
    "run/opengl-driver-32/lib",
};

}  // namespace

const MachineFolders* FoldersOf(ElfMachine machine) {
  const auto* const row = std::ranges::find(kMachines, machine, &MachineFolders::machine);
  return row == kMachines.end() ? nullptr : row;
}

std::vector<std::string> CandidateLibraryFolders() {
  std::vector<std::string> folders;
  for (const MachineFolders& machine : kMachines) {
    for (const std::string_view below : kBelowTriplet) {
      folders.push_back(fmt::format("{}{}", machine.multiarch, below));
    }
    folders.push_back(fmt::format("lib/{}", machine.triplet));
  }
  folders.insert(folders.end(), kPlain.begin(), kPlain.end());
  return folders;
}

}  // namespace kgpu::host

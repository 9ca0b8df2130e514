// Finds the driver's user-space files below a driver root: through ld.so.cache and in the library
// folders that distributions use. Takes architectures from the ELF headers; nothing here assumes
// x86_64.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/host/inspect/elf.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::host {

// A shared library of the driver.
struct DriverLibrary {
  std::string name;     // file name: "libcuda.so.535.104.05"
  std::string path;     // real file below the driver root, all links followed
  std::string soname;   // DT_SONAME: "libcuda.so.1"; empty when it has none
  std::string version;  // "535.104.05"; empty for libraries with versions of their own
  ElfMachine machine = ElfMachine::kUnknown;
  bool operator==(const DriverLibrary&) const = default;
};

// What is installed below a driver root.
struct DriverFiles {
  std::string version;                // of the driver's user-space files; never empty
  std::vector<std::string> versions;  // every version found, sorted; more than one is a problem
  ElfMachine machine = ElfMachine::kUnknown;  // of libcuda or libnvidia-ml
  std::vector<DriverLibrary> libraries;       // those of `version`, sorted by (machine, name)
  std::vector<std::string> problems;          // files that could not be read and why
};

// If several versions are installed, takes `preferred_version` (of the loaded kernel module, may be
// empty), else the highest. Errors: NotFound (no libcuda.so.<version> and no
// libnvidia-ml.so.<version> anywhere: lists the folders searched).
StatusOr<DriverFiles> FindDriverFiles(const sys::Root& driver, std::string_view preferred_version);

// Versions of libcuda and libnvidia-ml found below `driver`, sorted, unique; may be empty.
std::vector<std::string> FindDriverVersions(const sys::Root& driver);

// File names of the libraries that every program with CUDA needs, of that version, that are not
// there while libcuda or libnvidia-ml of that version is: libcuda, libnvidia-ml and the compiler of
// PTX, which libcuda loads. Sorted; empty too if nothing of that version is installed.
std::vector<std::string> MissingLibraries(const sys::Root& driver, std::string_view version);

// libnvidia-ml.so.1 for the machine this program runs on: path below the root, links followed.
// Errors: NotFound, naming the places searched.
StatusOr<std::string> FindNvmlLibrary(const sys::Root& driver);

}  // namespace kgpu::host

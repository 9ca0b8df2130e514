// Checks whether all files of the driver's packages are on a host: no package manager reports files
// that are deleted or emptied after the installation.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::host {

struct PackageFiles {
  size_t packages = 0;               // number of packages checked
  std::vector<std::string> failed;   // one sentence per package with missing files, with the fix
  std::vector<std::string> fixes;    // the command of each of `failed`
  std::vector<std::string> skipped;  // what could not be checked, and why
};

// For every installed package of the driver: each file exists, and is not empty unless shipped so.
// If Debian's alternatives link into those packages, the links exist. Skips documentation, headers
// and sources, which hosts may leave out. Reads dpkg's file lists, or runs rpm. Sources:
// dpkg-query(1) "--listfiles", update-alternatives(1), rpm-queryformat(7).
PackageFiles CheckPackageFiles(const sys::Root& root, sys::ProgramRunner& runner);

}  // namespace kgpu::host

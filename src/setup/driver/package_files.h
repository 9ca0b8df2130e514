// Whether the files of the driver's packages are all on a host: what is deleted or emptied after
// the installation, no package manager reports by itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "src/platform/sys/root.h"
#include "src/platform/sys/run.h"

namespace kgpu::driver {

struct PackageFiles {
  size_t packages = 0;               // whose files were looked at
  std::vector<std::string> failed;   // a sentence for each package that lacks some, with the fix
  std::vector<std::string> skipped;  // what could not be looked at, and why
};

// Of every installed package of the driver: each file is there, and is not empty unless it came so.
// Where Debian's alternatives link into those packages, the links are there. Texts, headers and
// sources are passed over: a host may be set up to leave them out. Reads dpkg's lists of files, or
// asks rpm. Sources: dpkg-query(1) "--listfiles", update-alternatives(1), rpm-queryformat(7).
PackageFiles CheckPackageFiles(const sys::Root& root, sys::ProgramRunner& runner);

}  // namespace kgpu::driver

// The CDI folders that a command reads or writes, from its flags.
#pragma once

#include <string>
#include <vector>

#include "src/cli/base/host_options.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

struct CdiFolders {
  sys::Root root;
  std::vector<std::string> paths;  // below `root`; the last one decides
};

// The folders in `given`, by this process's own paths; the host's if there are none. Errors: those
// of opening the root.
StatusOr<CdiFolders> FoldersToRead(const HostOptions& host, const std::vector<std::string>& given);

// The folder to write, last, and all folders that decide what may be written there: the host's own
// count besides `output_dir`, since engines may read both. Errors: as FoldersToRead.
StatusOr<CdiFolders> FoldersToWrite(const HostOptions& host, const std::string& output_dir);

}  // namespace kgpu::cli

// The CDI folders a command reads or writes, from its flags.
#pragma once

#include <string>
#include <vector>

#include "src/cli/host_options.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cli {

struct CdiFolders {
  sys::Root root;
  std::vector<std::string> paths;  // below `root`, the deciding one last
};

// The folders in `given`, which are this process's own paths; the host's when there are none.
// Errors: those of opening the root.
StatusOr<CdiFolders> FoldersToRead(const HostOptions& host, const std::vector<std::string>& given);

// The folder to write, last, and all whose files decide what may be written there: the host's own
// count beside an `output_dir` too, since engines may read both. Errors: as FoldersToRead.
StatusOr<CdiFolders> FoldersToWrite(const HostOptions& host, const std::string& output_dir);

}  // namespace kgpu::cli

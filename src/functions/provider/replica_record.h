// The service's own record of its replicas: a file beside the socket of each, from
// before its container is started until that is removed. By it containers are found where podman
// cannot list them: a single one whose network is out of podman's sight makes `podman ps` fail as a
// whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/functions/provider/container_command.h"
#include "src/functions/provider/podman.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// `container.pid` is its first process; 0: it is not started yet. Errors: those of the file.
Status WriteReplicaRecord(const ProviderFolders& folders, const FoundContainer& container);

// The containers with a record. They run if the first process that was recorded does; a number that
// another process has by now does not count.
std::vector<FoundContainer> RecordedContainers(const ProviderFolders& folders);

enum class RecordedProcess : uint8_t {
  kUnknown,  // there is no record of one
  kRuns,
  kGone,
};
// The first process of a replica's container.
RecordedProcess StateOfRecorded(const ProviderFolders& folders, const std::string& replica);
// Ends it, and with it all others of its container: for a container that podman cannot remove. Does
// nothing unless it runs.
void KillRecorded(const ProviderFolders& folders, const std::string& replica);

}  // namespace kgpu::functions

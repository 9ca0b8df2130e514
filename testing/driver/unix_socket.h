// Unix stream sockets by paths of any length below a folder.
#pragma once

#include <string>

#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace kgpu::sim {

// A socket connected to `name` in `folder`. Errors: NotFound (no such folder or socket),
// Unavailable (nobody listens), PermissionDenied.
StatusOr<UniqueFd> ConnectUnix(const std::string& folder, const std::string& name);

// A non-blocking listener at `name` in `folder`, open to every user. A socket that is left there is
// replaced when nobody answers it. Errors: AlreadyExists (somebody answers), as ErrnoStatus.
StatusOr<UniqueFd> ListenUnix(const std::string& folder, const std::string& name);

}  // namespace kgpu::sim

// The secrets of a replica, as its container sees them: copies that every user of the container can
// read, in a folder that nobody but root reaches on the host. As a folder, so that a secret that is
// replaced is seen by the containers that run.
#pragma once

#include <string>
#include <string_view>

#include "src/functions/provider/container_command.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

inline constexpr size_t kMaxSecret = size_t{1} << 20;

// "<run>/<replica>/secrets": in a folder of the replica that only root may enter.
std::string SecretFolder(const ProviderFolders& folders, std::string_view replica);

// Errors: NotFound (a secret has no file: the text says where to put it), OutOfRange (it is larger
// than 1 MiB), those of reading it.
Status CheckSecrets(const ProviderFolders& folders, const Function& function);

// Copies the secrets of `function` for a replica, byte for byte; each takes the place of the one
// before it as a whole. Errors: those of CheckSecrets, and of writing.
Status CopySecrets(const ProviderFolders& folders, const Function& function,
                   std::string_view replica);

// The same for a replica that has such a folder already: an older service mounted files.
Status RefreshSecrets(const ProviderFolders& folders, const Function& function,
                      std::string_view replica);

}  // namespace kgpu::functions

#include "src/functions/provider/secret_files.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "src/functions/service/folders.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/sys/atomic_file.h"
#include "src/platform/sys/root.h"

namespace kgpu::functions {
namespace {

constexpr mode_t kContainers = 0755;
constexpr mode_t kReadable = 0444;

StatusOr<std::string> ReadSecret(const ProviderFolders& folders, const Function& function,
                                 const std::string& secret) {
  const std::string path = fmt::format("{}/{}", folders.secrets, secret);
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return NotFound("{}: secret {}: {} is no file: write the secret to it", function.name, secret,
                    path);
  }
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  StatusOr<std::string> text = root.ReadFile(path, kMaxSecret);
  RETURN_IF_ERROR(Annotate(text.status(), "{}: secret {}", function.name, secret));
  return text;
}

Status Copy(const std::string& path, const std::string& bytes) {
  ASSIGN_OR_RETURN(const sys::Root root, sys::Root::Open("/"));
  const StatusOr<std::string> before = root.ReadFile(path, kMaxSecret);
  if (before.ok() && *before == bytes) {
    return OkStatus();
  }
  return sys::WriteFileAtomically(path, bytes, kReadable, sys::Durability::kMemory);
}

}  // namespace

std::string SecretFolder(const ProviderFolders& folders, std::string_view replica) {
  return fmt::format("{}/{}/secrets", folders.run, replica);
}

Status CheckSecrets(const ProviderFolders& folders, const Function& function) {
  for (const std::string& secret : function.secrets) {
    RETURN_IF_ERROR(ReadSecret(folders, function, secret).status());
  }
  return OkStatus();
}

Status CopySecrets(const ProviderFolders& folders, const Function& function,
                   std::string_view replica) {
  if (function.secrets.empty()) {
    return OkStatus();
  }
  const std::string folder = SecretFolder(folders, replica);
  RETURN_IF_ERROR(MakeFolder(folder, kContainers));
  for (const std::string& secret : function.secrets) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadSecret(folders, function, secret));
    RETURN_IF_ERROR(Copy(fmt::format("{}/{}", folder, secret), bytes));
  }
  return OkStatus();
}

Status RefreshSecrets(const ProviderFolders& folders, const Function& function,
                      std::string_view replica) {
  std::error_code ignored;
  return std::filesystem::is_directory(SecretFolder(folders, replica), ignored)
             ? CopySecrets(folders, function, replica)
             : OkStatus();
}

}  // namespace kgpu::functions

#include "src/cli/base/config_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::cli {
namespace {

// Where the agent looks when no file is named.
constexpr const char* kUsualFile = "/etc/kgpu/config.yaml";

}  // namespace

Status CheckNamedPath(const std::string& path) {
  if (access(path.c_str(), F_OK) == 0 || errno != ENOENT) {
    return OkStatus();
  }
  return InvalidArgument("{}: no such file or folder: correct the path, or create it", path);
}

StatusOr<TextFile> ReadTextFile(const std::string& file, size_t limit) {
  UniqueFd opened;
  if (file != "-") {
    // A pipe is fine, since <(…) of a shell is one; a terminal would be read for ever.
    opened = UniqueFd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!opened.is_valid()) {
      RETURN_IF_ERROR(CheckNamedPath(file));
      return ErrnoStatus(errno, file);
    }
  }
  auto text = sys::ReadAll(opened.is_valid() ? opened.get() : STDIN_FILENO, limit);
  if (!text.ok()) {
    return Annotate(text.status(), "{}", file);
  }
  return TextFile{file == "-" ? "stdin" : file, *std::move(text)};
}

StatusOr<config::NodeConfig> ReadNodeConfig(const std::string& file) {
  if (file.empty() && access(kUsualFile, F_OK) != 0) {
    return config::DefaultNodeConfig();
  }
  ASSIGN_OR_RETURN(const TextFile text, ReadTextFile(file.empty() ? kUsualFile : file));
  return config::ParseNodeConfig(text.text, text.name);
}

}  // namespace kgpu::cli

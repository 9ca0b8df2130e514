#include "src/functions/build/sources.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/functions/build/ignore_list.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/sys/read_fd.h"

namespace kgpu::functions {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIgnoreFile = ".dockerignore";
constexpr size_t kMaxIgnoreFile = size_t{256} << 10;

// What never belongs to a program, at the top of the folder.
constexpr std::array<std::string_view, 6> kLeftOut = {
    ".git", ".dockerignore", "Dockerfile", "Containerfile", "config.yaml", "config.yml"};

Status FileError(const std::error_code& error, const fs::path& path) {
  return ErrnoStatus(error.value(), fmt::format("read {}", path.string()));
}

StatusOr<IgnoreList> ReadIgnoreList(const std::string& folder) {
  const std::string path = fmt::format("{}/{}", folder, kIgnoreFile);
  auto text = ReadSource(path, kMaxIgnoreFile);
  if (text.status().code() == StatusCode::kNotFound) {
    return IgnoreList();
  }
  RETURN_IF_ERROR(Annotate(text.status(), "{}", path));
  auto list = IgnoreList::Parse(*text);
  RETURN_IF_ERROR(Annotate(list.status(), "{}", path));
  return list;
}

// Walks through one folder.
class Walk {
 public:
  Walk(Sources& sources, const IgnoreList& ignored, const SourceLimits& limits)
      : sources_(sources), ignored_(ignored), limits_(limits) {}

  Status Run() {
    std::error_code error;
    const fs::path top = sources_.folder;
    fs::recursive_directory_iterator at(top, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string path = at->path().lexically_relative(top).string();
      struct stat stat{};
      if (lstat(at->path().c_str(), &stat) != 0) {
        return ErrnoStatus(errno, fmt::format("read {}", at->path().string()));
      }
      const bool is_ignored = std::ranges::find(kLeftOut, path) != kLeftOut.end();
      const bool is_named = ignored_.Matches(path);
      if (S_ISDIR(stat.st_mode)) {
        if (is_ignored || (is_named && !ignored_.HasExceptions())) {
          at.disable_recursion_pending();
        }
      } else if (!is_ignored && !is_named) {
        RETURN_IF_ERROR(Take(at->path(), path, stat));
      }
    }
    std::ranges::sort(sources_.files, {}, &SourceFile::path);
    return error ? FileError(error, top) : OkStatus();
  }

 private:
  Status Take(const fs::path& whole, std::string path, const struct stat& stat) {
    SourceFile file{.path = std::move(path)};
    if (S_ISLNK(stat.st_mode)) {
      std::error_code error;
      file.link = fs::read_symlink(whole, error).string();
      if (error) {
        return FileError(error, whole);
      }
    } else if (S_ISREG(stat.st_mode)) {
      file.is_executable = (stat.st_mode & S_IXUSR) != 0;
      file.size = static_cast<uint64_t>(stat.st_size);
    } else {
      return InvalidArgument(
          "{}: neither a file nor a folder nor a link, so it cannot be in an image: remove it, or "
          "name it in {}",
          whole.string(), kIgnoreFile);
    }
    bytes_ += file.size;
    sources_.files.push_back(std::move(file));
    if (sources_.files.size() > limits_.files || bytes_ > limits_.bytes) {
      return OutOfRange(
          "{}: more than {} files or {} MiB: move the function into a folder of its own, or name "
          "in {} what it does not need",
          sources_.folder, limits_.files, limits_.bytes >> 20, kIgnoreFile);
    }
    return OkStatus();
  }

  Sources& sources_;
  const IgnoreList& ignored_;
  const SourceLimits& limits_;
  uint64_t bytes_ = 0;
};

Status CheckHandler(const Function& function, const Sources& sources) {
  const std::string path =
      (fs::path(sources.handler_dir) / function.handler.file).lexically_normal().string();
  if (function.handler.file.empty() ||
      std::ranges::binary_search(sources.files, path, {}, &SourceFile::path)) {
    return OkStatus();
  }
  return NotFound(
      "functions.{}.handler: there is no file {} in {}: write the handler, or correct "
      "handler.dir and handler.file",
      function.name, path, sources.folder);
}

// Gives every part of the file to `take`.
template <typename Take>
Status ReadParts(const std::string& path, const Take& take) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  std::string buffer(size_t{256} << 10, '\0');
  while (true) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return ErrnoStatus(errno, fmt::format("read {}", path));
    }
    if (count == 0) {
      return OkStatus();
    }
    RETURN_IF_ERROR(take(std::string_view(buffer).substr(0, static_cast<size_t>(count))));
  }
}

// Folders of an image are for everybody, whatever the caller's umask is.
Status LetEverybodyIn(const fs::path& top) {
  constexpr fs::perms kMode{0755};
  std::error_code error;
  fs::permissions(top, kMode, error);
  fs::recursive_directory_iterator at(top, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    if (at->symlink_status(error).type() == fs::file_type::directory && !error) {
      fs::permissions(at->path(), kMode, error);
    }
  }
  return error ? FileError(error, top) : OkStatus();
}

}  // namespace

StatusOr<std::string> ReadSource(const std::string& path, size_t limit) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("open {}", path));
  }
  return sys::ReadAll(fd.get(), limit);
}

StatusOr<Sources> FindSources(const Function& function, const std::string& config_folder,
                              const SourceLimits& limits) {
  const fs::path dir = (fs::path(config_folder) / function.handler.dir / "").lexically_normal();
  const fs::path config = (fs::path(config_folder) / "").lexically_normal();
  Sources sources;
  if (dir == config) {
    sources.folder = config_folder;
  } else {
    const fs::path handler = dir.parent_path();
    sources.folder = handler.parent_path().empty() ? "." : handler.parent_path().string();
    sources.handler_dir = handler.filename().string();
  }
  ASSIGN_OR_RETURN(const IgnoreList ignored, ReadIgnoreList(sources.folder));
  RETURN_IF_ERROR(
      Annotate(Walk(sources, ignored, limits).Run(), "functions.{}.handler.dir", function.name));
  RETURN_IF_ERROR(CheckHandler(function, sources));
  return sources;
}

Status AddFile(Digest& digest, const std::string& path) {
  Digest content;
  RETURN_IF_ERROR(ReadParts(path, [&content](std::string_view bytes) {
    content.AddBytes(bytes);
    return OkStatus();
  }));
  digest.Add(content.Hex());
  return OkStatus();
}

Status AddTo(Digest& digest, const Sources& sources) {
  for (const SourceFile& file : sources.files) {
    digest.Add(file.path);
    digest.Add(fmt::format("{}{}", file.is_executable ? 'x' : '-', file.link));
    if (file.link.empty()) {
      RETURN_IF_ERROR(AddFile(digest, fmt::format("{}/{}", sources.folder, file.path)));
    }
  }
  return OkStatus();
}

Status CopyFile(const std::string& from, const std::string& to, bool is_executable) {
  const UniqueFd fd(open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                         is_executable ? 0755 : 0644));
  if (!fd.is_valid()) {
    return ErrnoStatus(errno, fmt::format("create {}", to));
  }
  // The umask is the caller's, and an image is for everybody.
  if (fchmod(fd.get(), is_executable ? 0755 : 0644) != 0) {
    return ErrnoStatus(errno, fmt::format("change the mode of {}", to));
  }
  return ReadParts(from, [&fd](std::string_view bytes) { return sys::WriteAll(fd.get(), bytes); });
}

Status CopySources(const Sources& sources, const std::string& target) {
  std::error_code error;
  fs::create_directories(fs::path(target) / sources.handler_dir, error);
  for (const SourceFile& file : sources.files) {
    const fs::path to = fs::path(target) / file.path;
    if (!error) {
      fs::create_directories(to.parent_path(), error);
    }
    if (!error && !file.link.empty()) {
      fs::create_symlink(file.link, to, error);
    }
    if (error) {
      return ErrnoStatus(error.value(), fmt::format("create {}", to.string()));
    }
    if (file.link.empty()) {
      RETURN_IF_ERROR(CopyFile(fmt::format("{}/{}", sources.folder, file.path), to.string(),
                               file.is_executable));
    }
  }
  return LetEverybodyIn(target);
}

}  // namespace kgpu::functions

// The files of a function that go into its image.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/build/digest.h"
#include "src/functions/spec/function.h"
#include "src/platform/base/status.h"

namespace kgpu::functions {

// One file or symbolic link; folders are there for the sake of their files.
struct SourceFile {
  std::string path;    // relative to the folder
  std::string link{};  // the target, if it is a symbolic link
  bool is_executable = false;
  uint64_t size = 0;
  bool operator==(const SourceFile&) const = default;
};

struct Sources {
  std::string folder;               // of this host: the one above handler.dir, as in OpenFx
  std::string handler_dir;          // below `folder`: "src"; empty: the folder itself
  std::vector<SourceFile> files{};  // by path
};

struct SourceLimits {
  size_t files = 20'000;
  uint64_t bytes = uint64_t{4} << 30;
};

// The files of `function`, whose config.yaml is in `config_folder`. Leaves out what is no part of
// the program: config.yaml, OpenFx's Dockerfile, .git, and what .dockerignore names. Reads no file.
// Errors: NotFound (the handler's folder or file), InvalidArgument (a socket or a device;
// .dockerignore), OutOfRange (too many files or bytes), as ErrnoStatus.
StatusOr<Sources> FindSources(const Function& function, const std::string& config_folder,
                              const SourceLimits& limits = {});

// A small file of them. Errors: OutOfRange (over `limit` bytes), as ErrnoStatus.
StatusOr<std::string> ReadSource(const std::string& path, size_t limit);

// Adds the content of one file. Errors: as ErrnoStatus.
Status AddFile(Digest& digest, const std::string& path);
// Adds names, modes and content. Errors: as ErrnoStatus.
Status AddTo(Digest& digest, const Sources& sources);

// Copies one file to a new one, with a mode that everybody may read. Errors: as ErrnoStatus.
Status CopyFile(const std::string& from, const std::string& to, bool is_executable);
// Copies them below `target`, a folder that does not exist yet. Times and owners are not kept.
// Errors: as ErrnoStatus.
Status CopySources(const Sources& sources, const std::string& target);

}  // namespace kgpu::functions

// The content of a host's CDI folders, and which file declares what. Source: SPEC.md, "CDI JSON
// Specification" and the rules of precedence that all engines share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/container/cdi/spec.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::cdi {

inline constexpr std::string_view kStaticFolder = "/etc/cdi";
inline constexpr std::string_view kDynamicFolder = "/var/run/cdi";

// One .json or .yaml file of a CDI folder (engines ignore other suffixes and subfolders).
struct SpecFile {
  std::string path;     // below the root: "/var/run/cdi/nvidia.yaml"
  size_t folder = 0;    // index of its folder; a higher one wins
  Spec spec;            // empty if `problem` is set
  std::string problem;  // why engines do not use this file; empty: they do
};

// A device that several files of the deciding folder declare: engines refuse it.
struct Conflict {
  std::string name;                // "nvidia.com/gpu=0"
  std::vector<std::string> paths;  // sorted
  bool operator==(const Conflict&) const = default;
};

// A device an engine can inject.
struct Resolved {
  std::string name;  // "nvidia.com/gpu=0"
  std::string path;  // of the file that decides
  bool operator==(const Resolved&) const = default;
};

struct FolderContents {
  std::vector<SpecFile> files;        // by folder, then name
  std::vector<std::string> problems;  // unreadable folders, with the reason
  std::vector<Conflict> conflicts;    // by name
  std::vector<Resolved> devices;      // by name
};

// Reads `folders`, lowest precedence first. A missing folder counts as empty. Never fails: an
// unreadable or invalid file or folder has its problem recorded, and hides no other.
FolderContents ReadFolders(const sys::Root& root, const std::vector<std::string>& folders);

// Valid files that declare devices of `kind`, sorted by path.
std::vector<std::string> FilesOfKind(const FolderContents& contents, std::string_view kind);

}  // namespace kgpu::cdi

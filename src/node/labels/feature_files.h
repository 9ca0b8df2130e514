// Labels and features that programs on the node put into files, in the format of Node Feature
// Discovery's features.d; and our own labels as such a file, for an NFD that runs on the node.
// Nothing is ever run: NFD's hooks are gone there too.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/host/features/feature_set.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"

namespace kgpu::labels {

inline constexpr const char* kFeatureFilesFolder =
    "etc/kubernetes/node-feature-discovery/features.d";
// The name of our own file there.
inline constexpr const char* kOwnFeatureFile = "kgpu";
inline constexpr size_t kMaxFeatureFileBytes = size_t{64} << 10;
inline constexpr size_t kMaxFeatureFiles = 256;

struct FileFeatures {
  std::map<std::string, std::string> labels;  // with whole keys; also local.label, as written
  features::Attributes raw_labels;            // local.label
  features::Attributes raw_features;          // local.feature
  std::vector<std::string> problems;          // "features.d/x:3: …"; the other lines count
  std::optional<WallTime> next_expiry;        // when the next of these lines goes out
  bool operator==(const FileFeatures&) const = default;

  // local.label and local.feature, there even when they are empty.
  features::FeatureSet Features() const;
};

// "key=value" a line, a key alone is "true"; directives "# +expiry-time=2030-01-02T03:04:05Z" from
// there on, "# +no-label" and "# +no-feature" for the next line. `file` is named in problems only.
FileFeatures ParseFeatureFile(std::string_view text, std::string_view file, WallTime now);

// All files of the folder in the order of their names; a later file wins. Left out are hidden ones
// and `own_file`, what we wrote ourselves. A folder that is not there is empty.
FileFeatures ReadFeatureFiles(const sys::Root& host, std::string_view folder, WallTime now,
                              std::string_view own_file = kOwnFeatureFile);

// What a file says of labels. Errors: InvalidArgument, what is no label; OutOfRange, more than NFD
// reads.
StatusOr<std::string> FeatureFileText(const std::map<std::string, std::string>& labels);

// What is to become of our file.
struct FeatureFilePlan {
  std::string path;                     // below the root
  std::optional<std::string> before{};  // nothing: there is no file
  std::optional<std::string> after{};   // nothing: there is to be none
  bool HasChange() const { return before != after; }
};

// The file with these labels, as a whole. Errors: those of FeatureFileText and of the file system;
// NotFound where the folder is not: NFD does not run here; AlreadyExists (somebody else wrote the
// file).
StatusOr<FeatureFilePlan> PlanFeatureFile(const sys::Root& host, std::string_view folder,
                                          const std::map<std::string, std::string>& labels,
                                          std::string_view own_file = kOwnFeatureFile);
// No file; a plan without a change where there is none. Errors: FailedPrecondition (somebody else
// wrote it).
StatusOr<FeatureFilePlan> PlanFeatureFileRemoval(const sys::Root& host, std::string_view folder,
                                                 std::string_view own_file = kOwnFeatureFile);
// Errors: of the file system.
Status ApplyFeatureFile(const sys::Root& host, const FeatureFilePlan& plan);

// Plans and applies: tells whether the file said something else. Errors: those of both.
StatusOr<bool> WriteFeatureFile(const sys::Root& host, std::string_view folder,
                                const std::map<std::string, std::string>& labels,
                                std::string_view own_file = kOwnFeatureFile);
// Folder and name of a configured file: "/etc/a/b" is {"/etc/a", "b"}.
std::pair<std::string, std::string> SplitFilePath(std::string_view path);

// Whether there is such a file and we wrote it.
bool IsOwnFeatureFile(const sys::Root& host, std::string_view path);
// Plans and applies the removal. Errors: those of both.
Status RemoveFeatureFile(const sys::Root& host, std::string_view folder,
                         std::string_view own_file = kOwnFeatureFile);

}  // namespace kgpu::labels

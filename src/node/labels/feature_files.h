// Labels and features that programs on the node write into files, in the format of Node Feature
// Discovery's features.d; and our own labels as such a file, for an NFD that runs on the node.
// Never runs anything: NFD has removed its hooks too.
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
  std::map<std::string, std::string> labels;  // with full keys; also local.label, as written
  features::Attributes raw_labels;            // local.label
  features::Attributes raw_features;          // local.feature
  std::vector<std::string> problems;          // "features.d/x:3: …"; the other lines count
  std::optional<WallTime> next_expiry;        // when the next of these lines expires
  bool operator==(const FileFeatures&) const = default;

  // local.label and local.feature, present even if they are empty.
  features::FeatureSet Features() const;
};

// One "key=value" per line, a key alone is "true"; "# +expiry-time=2030-01-02T03:04:05Z" holds for
// all later lines, "# +no-label" and "# +no-feature" for the next. Only problems name `file`.
FileFeatures ParseFeatureFile(std::string_view text, std::string_view file, WallTime now);

// All files in the folder, sorted by name; a later file wins. Skips hidden files and `own_file`,
// which we wrote ourselves. A missing folder counts as empty.
FileFeatures ReadFeatureFiles(const sys::Root& host, std::string_view folder, WallTime now,
                              std::string_view own_file = kOwnFeatureFile);

// The text of a feature file with these labels. Errors: InvalidArgument, an invalid label;
// OutOfRange, more than NFD reads.
StatusOr<std::string> FeatureFileText(const std::map<std::string, std::string>& labels);

// What will become of our file.
struct FeatureFilePlan {
  std::string path;                     // below the root
  std::optional<std::string> before{};  // nothing: there is no file
  std::optional<std::string> after{};   // nothing: the file is removed
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
// Folder and name of a configured file: {"/etc/a", "b"} for "/etc/a/b".
std::pair<std::string, std::string> SplitFilePath(std::string_view path);

// Whether the file exists and we wrote it.
bool IsOwnFeatureFile(const sys::Root& host, std::string_view path);
// Plans and applies the removal. Errors: those of both.
Status RemoveFeatureFile(const sys::Root& host, std::string_view folder,
                         std::string_view own_file = kOwnFeatureFile);

}  // namespace kgpu::labels

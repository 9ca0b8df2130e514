// Makes a folder contain a desired tree: the only file of this module that changes files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/simhost/tree.h"

namespace kgpu::simhost {

// One change to the folder; in a list, in order.
struct TreeChange {
  enum class Kind { kRemove, kWrite };
  Kind kind = Kind::kWrite;
  std::string path;
  bool operator==(const TreeChange&) const = default;
};

// The changes that turn `before` into `after`: removals first, deepest first; then writes, folders
// before their content. An entry whose kind or content differs is written again.
std::vector<TreeChange> Difference(const Tree& before, const Tree& after);

struct WriteReport {
  size_t removed = 0;
  size_t written = 0;
  // Device nodes that became empty regular files because this user may not create nodes.
  size_t nodes_faked = 0;
};

// What is below `folder` at `paths` now, as a tree; leaves out what is missing or of an unknown
// kind. Errors: those of reading, with the path.
StatusOr<Tree> ReadTree(const std::string& folder, const std::set<std::string>& paths);

// Makes `folder` contain `wanted`, and removes what an earlier call created and `wanted` lacks:
// `manifest_path` records the paths of each call. Replaces each file as a whole, so a reader never
// sees half of one; folders in which others keep files stay. If mknod(2) is not permitted, uses an
// empty regular file for each node. Can be repeated after any failure. Errors: those of the file
// system, with the path.
StatusOr<WriteReport> Reconcile(const std::string& folder, const std::string& manifest_path,
                                const Tree& wanted);

// As Reconcile, for a folder that contains `before` since the last call: does not read it, which is
// most of the work. What others have changed there meanwhile stays, or is an error.
StatusOr<WriteReport> Advance(const std::string& folder, const std::string& manifest_path,
                              const Tree& before, const Tree& wanted);

}  // namespace kgpu::simhost

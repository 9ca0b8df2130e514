// Makes a folder hold a wanted tree: the only place of this module that changes files.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "src/platform/base/status.h"
#include "testing/simhost/tree.h"

namespace kgpu::simhost {

// One thing to do to the folder, in the order of a list of them.
struct TreeChange {
  enum class Kind { kRemove, kWrite };
  Kind kind = Kind::kWrite;
  std::string path;
  bool operator==(const TreeChange&) const = default;
};

// The changes that turn `before` into `after`: removals first, deepest first; then writes, folders
// before what is in them. An entry whose kind or content differs is written again.
std::vector<TreeChange> Difference(const Tree& before, const Tree& after);

struct WriteReport {
  size_t removed = 0;
  size_t written = 0;
  // Device nodes that became empty regular files because this user may not make nodes.
  size_t nodes_faked = 0;
};

// What is below `folder` at `paths` now, as a tree; what is missing or of no kind of ours is left
// out. Errors: those of reading, with the path.
StatusOr<Tree> ReadTree(const std::string& folder, const std::set<std::string>& paths);

// Makes `folder` hold `wanted`, and nothing that an earlier call put there and `wanted` lacks: the
// paths of each call are kept in `manifest_path`. Each file is replaced as a whole, so a reader
// never meets half of one; folders in which others keep files stay. Where mknod(2) is not permitted
// an empty regular file stands in for each node. Can be repeated after any failure.
// Errors: those of the file system, with the path.
StatusOr<WriteReport> Reconcile(const std::string& folder, const std::string& manifest_path,
                                const Tree& wanted);

// As Reconcile, for a folder that holds `before` since the last call: it is not read, which is most
// of the work. What others have changed there meanwhile stays, or is an error.
StatusOr<WriteReport> Advance(const std::string& folder, const std::string& manifest_path,
                              const Tree& before, const Tree& wanted);

}  // namespace kgpu::simhost

// One change that an editor made in a text: enough to print it, to keep it in a file and to take it
// back later, also when other parts of the text were changed meanwhile.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::edit {

// The names from the root of a document down to one value: {"runtimes", "nvidia", "path"}.
using Key = std::vector<std::string>;

// As people write it in an error: runtimes.nvidia."a.b".
std::string Dotted(const Key& key);

enum class ChangeKind : uint8_t {
  kValue,    // `key` got a value
  kItem,     // the list at `key` got an item
  kTable,    // `key` was made, empty, for the changes that follow: an object, a table or a list
  kComment,  // text of ours that says nothing to a machine; no key
};

struct Change {
  ChangeKind kind = ChangeKind::kValue;
  Key key;
  std::optional<std::string> before;  // raw text of the value that stood there; none: no such key
  std::string after;  // raw text of what stands there now; of a TOML table its header

  // The splice: `removed` made way for `inserted`, which holds `after` at `offset`. While these
  // bytes stand unchanged, wherever they moved, taking the change back restores every byte.
  std::string removed;
  std::string inserted;
  size_t offset = 0;

  bool operator==(const Change&) const = default;
};

// For state files: a list of objects, in the order in which the changes were made.
boost::json::value ChangesToJson(const std::vector<Change>& changes);
// `where` is named in errors ("state.json: files[0].changes"). Errors: InvalidArgument.
StatusOr<std::vector<Change>> ChangesFromJson(const boost::json::value& value,
                                              std::string_view where);

}  // namespace kgpu::edit

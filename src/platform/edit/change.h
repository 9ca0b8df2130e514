// One change that an editor made to a text: enough to print it, to store it in a file and to revert
// it later, even if other parts of the text have changed since.
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

// The names from a document's root down to one value: {"runtimes", "nvidia", "path"}.
using Key = std::vector<std::string>;

// As printed in errors: runtimes.nvidia."a.b".
std::string Dotted(const Key& key);

enum class ChangeKind : uint8_t {
  kValue,    // `key` got a value
  kItem,     // the list at `key` got an item
  kTable,    // `key`: an empty object, table or list was created for the changes that follow
  kComment,  // a comment of ours, which programs ignore; no key
};

struct Change {
  ChangeKind kind = ChangeKind::kValue;
  Key key;
  std::optional<std::string> before;  // raw text of the old value; none: the key did not exist
  std::string after;                  // raw text of the new value; for a TOML table, its header

  // The splice: `inserted`, which holds `after` at `offset`, replaced `removed`. As long as these
  // bytes are intact, wherever they have moved, reverting the change restores every byte.
  std::string removed;
  std::string inserted;
  size_t offset = 0;

  bool operator==(const Change&) const = default;
};

// For state files: a list of objects, in the order of the changes.
boost::json::value ChangesToJson(const std::vector<Change>& changes);
// `where` is used in errors ("state.json: files[0].changes"). Errors: InvalidArgument.
StatusOr<std::vector<Change>> ChangesFromJson(const boost::json::value& value,
                                              std::string_view where);

}  // namespace kgpu::edit

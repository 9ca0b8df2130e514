// Where the keys of one text stand, and the splices that would change them. One class for each
// syntax; Document, its only user, checks what a splice makes of the text.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "src/platform/base/status.h"
#include "src/platform/edit/change.h"
#include "src/platform/edit/lines.h"

namespace kgpu::edit {

// `length` bytes at `at` make way for `inserted`; `after` stands in it at `offset`.
struct Splice {
  size_t at = 0;
  size_t length = 0;
  std::string inserted;
  std::string after;
  size_t offset = 0;
};

// Keys name values of objects and tables only, never items of a list.
class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  virtual ~Layout() = default;

  // Raw text of a value. Nothing for a table that has no text of its own.
  virtual std::optional<Span> ValueAt(const Key& key) const = 0;
  virtual std::optional<Span> ItemAt(const Key& list, size_t index) const = 0;
  // What InsertTable wrote for `key`, or would have: the table itself or its header.
  virtual std::optional<Span> TableAt(const Key& key) const = 0;
  // Whether the text at TableAt holds nothing.
  virtual bool IsEmptyTable(const Key& key) const = 0;
  // Where `key` stands, or as much of it as is there: for errors.
  virtual size_t Nearest(const Key& key) const = 0;

  // The next table that must be made before `key` can be inserted.
  virtual std::optional<Key> MissingTable(const Key& key) const = 0;
  virtual StatusOr<Splice> InsertTable(const Key& key) const = 0;
  virtual StatusOr<Splice> InsertValue(const Key& key, const std::string& raw) const = 0;
  virtual StatusOr<Splice> InsertItem(const Key& list, const std::string& raw) const = 0;

  // What they remove is there.
  virtual Splice RemoveValue(const Key& key) const = 0;
  virtual Splice RemoveItem(const Key& list, size_t index) const = 0;
  virtual Splice RemoveTable(const Key& key) const = 0;
};

// Of a text that doc::Parse takes, or one of blanks only. `text` outlives the layout.
std::unique_ptr<Layout> JsonLayout(std::string_view text);
// Errors: InvalidArgument.
StatusOr<std::unique_ptr<Layout>> TomlLayout(std::string_view text, std::string_view file);

}  // namespace kgpu::edit

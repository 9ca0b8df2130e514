// Where the keys of a text are, and the splices that would change them. One class per syntax;
// Document, its only user, checks the result of each splice.
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

// `inserted` replaces `length` bytes at `at`; `after` starts at `offset` in it.
struct Splice {
  size_t at = 0;
  size_t length = 0;
  std::string inserted;
  std::string after;
  size_t offset = 0;
};

// Keys name values of objects and tables only, never list items.
class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  virtual ~Layout() = default;

  // Raw text of a value. Nothing for a table without a text of its own.
  virtual std::optional<Span> ValueAt(const Key& key) const = 0;
  virtual std::optional<Span> ItemAt(const Key& list, size_t index) const = 0;
  // What InsertTable wrote for `key`, or would write: the table itself or its header.
  virtual std::optional<Span> TableAt(const Key& key) const = 0;
  // Whether the text at TableAt is empty.
  virtual bool IsEmptyTable(const Key& key) const = 0;
  // Where `key`, or its longest existing prefix, is: for errors.
  virtual size_t Nearest(const Key& key) const = 0;

  // The next table that must be created before `key` can be inserted.
  virtual std::optional<Key> MissingTable(const Key& key) const = 0;
  virtual StatusOr<Splice> InsertTable(const Key& key) const = 0;
  virtual StatusOr<Splice> InsertValue(const Key& key, const std::string& raw) const = 0;
  virtual StatusOr<Splice> InsertItem(const Key& list, const std::string& raw) const = 0;

  // What these remove must exist.
  virtual Splice RemoveValue(const Key& key) const = 0;
  virtual Splice RemoveItem(const Key& list, size_t index) const = 0;
  virtual Splice RemoveTable(const Key& key) const = 0;
};

// For a text that doc::Parse accepts, or one of blanks only. `text` must outlive the layout.
std::unique_ptr<Layout> JsonLayout(std::string_view text);
// Errors: InvalidArgument.
StatusOr<std::unique_ptr<Layout>> TomlLayout(std::string_view text, std::string_view file);

}  // namespace kgpu::edit

// A configuration text that is edited: sets keys and leaves every other byte alone. After each
// splice the text is parsed again and compared with the intended result, so an edit is either
// correct or refused.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/platform/base/status.h"
#include "src/platform/edit/change.h"

namespace kgpu::edit {

enum class Syntax : uint8_t {
  kJson,
  kToml,
  // TOML with actions of Go's text/template: lines that begin with {{ are skipped, {{ … }} instead
  // of a value is a value.
  kTomlTemplate,
};

struct Span;
struct Splice;

inline constexpr size_t kMaxTextBytes = size_t{4} << 20;

class Document {
 public:
  // A text of blanks only is an empty document. `file` is used in errors. Errors:
  // InvalidArgument with file:line:column (syntax error, duplicate key, too
  // large).
  static StatusOr<Document> Open(std::string_view text, std::string_view file, Syntax syntax);

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  const std::string& text() const;
  // An object. TOML dates are objects too: see toml_tree.h.
  const boost::json::value& tree() const;
  // The changes by Set, AddItem and SetComment, in order.
  const std::vector<Change>& changes() const { return changes_; }

  // Null if there is no such key.
  const boost::json::value* Find(const Key& key) const;
  // "file:line:column" of a key, or of its longest existing prefix.
  std::string Where(const Key& key) const;

  // Sets `key` to `value`: a scalar, or a list of scalars. Creates the tables on the way. Does
  // nothing if the key already has that value. Errors: InvalidArgument (something on the way is no
  // table, or the key itself is a table), FailedPrecondition (no safe way to write it; says what to
  // do by hand).
  Status Set(const Key& key, const boost::json::value& value);
  // The same with the value's raw text, which may be a template action: "{{ .SystemdCgroup
  // }}".
  Status SetRaw(const Key& key, const std::string& raw);
  // Adds a string to a list, creating the list if needed; does nothing if the list contains it.
  Status AddItem(const Key& list, std::string_view item);
  // Puts a comment at the top of an empty text; `text` ends with a newline.
  Status SetComment(std::string_view text);

  // Reverts `change` if its key still has the value it wrote; reports in `notes` what was left and
  // why. False if nothing was reverted. Errors: FailedPrecondition (no safe way).
  StatusOr<bool> TakeBack(const Change& change, std::vector<std::string>& notes);

 private:
  // A text and everything read from it.
  struct Reading;

  Document(std::string_view file, Syntax syntax);

  StatusOr<std::unique_ptr<Reading>> Read(std::string text) const;
  StatusOr<std::string> Print(const boost::json::value& value) const;
  StatusOr<boost::json::value> ParseRaw(const std::string& raw) const;
  Status Put(const Key& key, const boost::json::value& value, const std::string& raw);
  Status CheckWay(const Key& key) const;
  Status MakeTablesFor(const Key& key);
  // Applies the splice if the text then parses to `wanted`; `key` is the key it is about.
  Status Apply(const Splice& splice, const boost::json::value& wanted, const Key& key);
  Status Record(ChangeKind kind, const Key& key, const StatusOr<Splice>& splice,
                const boost::json::value& wanted);
  Status TakeBackEither(const Change& change, Span now, const Splice& plain,
                        const boost::json::value& wanted);
  StatusOr<bool> TakeBackComment(const Change& change);
  StatusOr<bool> TakeBackValue(const Change& change, std::vector<std::string>& notes);
  StatusOr<bool> TakeBackItem(const Change& change, std::vector<std::string>& notes);
  StatusOr<bool> TakeBackTable(const Change& change, std::vector<std::string>& notes);

  std::string file_;
  Syntax syntax_;
  std::unique_ptr<Reading> now_;
  std::vector<Change> changes_;
};

}  // namespace kgpu::edit

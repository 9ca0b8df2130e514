// A configuration text that is edited: keys are set in it, and every byte that need not change
// stays. After each splice the text is parsed again and compared with what was wanted, so an edit
// is either right or refused.
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
  // TOML with actions of Go's text/template: lines that begin with {{ are passed over, {{ … }} in
  // the place of a value is a value.
  kTomlTemplate,
};

struct Span;
struct Splice;

inline constexpr size_t kMaxTextBytes = size_t{4} << 20;

class Document {
 public:
  // A text of blanks only is an empty document. `file` is named in errors.
  // Errors: InvalidArgument with file:line:column (not of the syntax, a key given twice, too
  // large).
  static StatusOr<Document> Open(std::string_view text, std::string_view file, Syntax syntax);

  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  const std::string& text() const;
  // An object. TOML dates are objects, too: see toml_tree.h.
  const boost::json::value& tree() const;
  // What Set, AddItem and SetComment did, in their order.
  const std::vector<Change>& changes() const { return changes_; }

  // Null when there is no such key.
  const boost::json::value* Find(const Key& key) const;
  // "file:line:column" of a key, or of as much of it as is there.
  std::string Where(const Key& key) const;

  // Makes `key` hold `value`: a scalar, or a list of scalars. Tables on the way are made. Does
  // nothing when the key holds it already.
  // Errors: InvalidArgument (something on the way is no table, or a table stands there),
  // FailedPrecondition (no safe way to write it: what to do by hand).
  Status Set(const Key& key, const boost::json::value& value);
  // The same with the value's own text, which may be an action in a template: "{{ .SystemdCgroup
  // }}".
  Status SetRaw(const Key& key, const std::string& raw);
  // Adds a string to a list, which is made when it is not there; nothing when it holds it already.
  Status AddItem(const Key& list, std::string_view item);
  // A comment at the top of a text that is empty; `text` ends with a newline.
  Status SetComment(std::string_view text);

  // Undoes `change` where its key still holds what it wrote; says in `notes` what was left and why.
  // False when nothing was undone. Errors: FailedPrecondition (no safe way).
  StatusOr<bool> TakeBack(const Change& change, std::vector<std::string>& notes);

 private:
  // A text and all that was read from it.
  struct Reading;

  Document(std::string_view file, Syntax syntax);

  StatusOr<std::unique_ptr<Reading>> Read(std::string text) const;
  StatusOr<std::string> Print(const boost::json::value& value) const;
  StatusOr<boost::json::value> ParseRaw(const std::string& raw) const;
  Status Put(const Key& key, const boost::json::value& value, const std::string& raw);
  Status CheckWay(const Key& key) const;
  Status MakeTablesFor(const Key& key);
  // Makes the splice when the text then says `wanted`; `key` is what it is about.
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

// Several TOML files that an engine reads one after the other, a later value winning, as one to
// edit.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/container/engine/config_edit.h"
#include "src/platform/base/status.h"
#include "src/platform/edit/document.h"

namespace kgpu::engine {

class Layers {
 public:
  // `files` in the order in which the engine reads them; new keys go into the one at `own`.
  static StatusOr<Layers> Open(const std::vector<NamedText>& files, size_t own);

  // The value that counts; null when no file has one. Of a table, the last file's part of it alone.
  const boost::json::value* Find(const edit::Key& key) const;
  // The names of all keys that the files have in a table, sorted.
  std::vector<std::string> NamesIn(const edit::Key& table) const;
  std::string Where(const edit::Key& key) const;

  // Makes the value count: nothing when it does; else in a file behind our own which says
  // otherwise; else in our own.
  Status Set(const edit::Key& key, const boost::json::value& value);

  // What our own file begins with, once a key goes into it while it is empty.
  void BeginWith(std::string_view comment, int64_t config_version);

  edit::Document& own() { return documents_[own_]; }
  const std::vector<edit::Document>& documents() const { return documents_; }

 private:
  explicit Layers(size_t own);

  std::vector<edit::Document> documents_;
  size_t own_;
  std::string comment_;
  int64_t config_version_ = 0;
};

}  // namespace kgpu::engine

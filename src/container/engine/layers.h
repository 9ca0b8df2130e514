// Several TOML files that an engine reads in sequence, where later values win, edited as if they
// were one.
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
  // `files` in the order in which the engine reads them; new keys go into the one at `own`. The
  // first `generated` of them are made again by another program: their values may be gone then.
  static StatusOr<Layers> Open(const std::vector<NamedText>& files, size_t own,
                               size_t generated = 0);

  // The value in effect; null if no file has one. For a table, only the last file's part of it.
  const boost::json::value* Find(const edit::Key& key) const;
  // As Find, without the files that are generated.
  const boost::json::value* FindLasting(const edit::Key& key) const;
  // The names of all keys in a table, from all files, sorted.
  std::vector<std::string> NamesIn(const edit::Key& table) const;
  std::string Where(const edit::Key& key) const;

  // Makes the value take effect: does nothing if it does already; else changes a later file that
  // contradicts it; else our own file.
  Status Set(const edit::Key& key, const boost::json::value& value);

  // The first lines of our own file, written when it is empty and gets its first key.
  void BeginWith(std::string_view comment, int64_t config_version);

  edit::Document& own() { return documents_[own_]; }
  const std::vector<edit::Document>& documents() const { return documents_; }

 private:
  Layers(size_t own, size_t generated) : own_(own), generated_(generated) {}

  const boost::json::value* FindFrom(size_t first, const edit::Key& key) const;

  std::vector<edit::Document> documents_;
  size_t own_;
  size_t generated_;
  std::string comment_;
  int64_t config_version_ = 0;
};

}  // namespace kgpu::engine

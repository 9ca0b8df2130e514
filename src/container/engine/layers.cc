#include "src/container/engine/layers.h"

#include <boost/json.hpp>

#include <algorithm>
#include <ranges>
#include <set>
#include <utility>

#include "src/platform/base/status_macros.h"

namespace kgpu::engine {

StatusOr<Layers> Layers::Open(const std::vector<NamedText>& files, size_t own, size_t generated) {
  Layers layers(own, generated);
  for (const NamedText& file : files) {
    ASSIGN_OR_RETURN(edit::Document document,
                     edit::Document::Open(file.text, file.path, TextKind::kToml));
    layers.documents_.push_back(std::move(document));
  }
  return layers;
}

void Layers::BeginWith(std::string_view comment, int64_t config_version) {
  comment_ = comment;
  config_version_ = config_version;
}

const boost::json::value* Layers::FindFrom(size_t first, const edit::Key& key) const {
  for (size_t i = documents_.size(); i-- > first;) {
    if (const boost::json::value* value = documents_[i].Find(key)) {
      return value;
    }
  }
  return nullptr;
}

const boost::json::value* Layers::Find(const edit::Key& key) const {
  return FindFrom(0, key);
}

const boost::json::value* Layers::FindLasting(const edit::Key& key) const {
  return FindFrom(generated_, key);
}

std::vector<std::string> Layers::NamesIn(const edit::Key& table) const {
  std::set<std::string> names;
  for (const edit::Document& document : documents_) {
    const boost::json::value* value = document.Find(table);
    if (value == nullptr || !value->is_object()) {
      continue;
    }
    for (const auto& field : value->get_object()) {
      names.emplace(field.key());
    }
  }
  return {names.begin(), names.end()};
}

std::string Layers::Where(const edit::Key& key) const {
  for (const edit::Document& document : std::views::reverse(documents_)) {
    if (document.Find(key) != nullptr) {
      return document.Where(key);
    }
  }
  return documents_[own_].Where(key);
}

Status Layers::Set(const edit::Key& key, const boost::json::value& value) {
  const boost::json::value* old = FindLasting(key);
  if (old != nullptr && *old == value) {
    return OkStatus();
  }
  for (size_t i = documents_.size(); i-- > own_ + 1;) {
    if (documents_[i].Find(key) != nullptr) {
      return documents_[i].Set(key, value);
    }
  }
  if (own().text().empty() && config_version_ != 0) {
    RETURN_IF_ERROR(own().SetComment(comment_));
    RETURN_IF_ERROR(own().Set({"version"}, config_version_));
  }
  return own().Set(key, value);
}

}  // namespace kgpu::engine

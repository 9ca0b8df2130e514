#include "src/platform/doc/fields.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <utility>

#include "src/platform/base/strings.h"

namespace kgpu::doc {

namespace json = boost::json;

Fields::Fields(const json::value& value, std::string where)
    : object_(value.if_object()), where_(std::move(where)) {
  if (object_ == nullptr) {
    Fail("", "must be an object");
  }
}

bool Fields::Has(std::string_view key) const {
  return object_ != nullptr && object_->if_contains({key.data(), key.size()}) != nullptr;
}

const json::value& Fields::Get(std::string_view key) {
  static const json::value null;
  const json::value* value =
      object_ == nullptr ? nullptr : object_->if_contains({key.data(), key.size()});
  if (value == nullptr) {
    Fail(key, "is missing");
    return null;
  }
  return *value;
}

std::string Fields::Text(std::string_view key) {
  const json::value& value = Get(key);
  if (!value.is_string()) {
    Fail(key, "must be a string");
    return "";
  }
  return {value.get_string().data(), value.get_string().size()};
}

bool Fields::Bool(std::string_view key) {
  const json::value& value = Get(key);
  if (!value.is_bool()) {
    Fail(key, "must be true or false");
  }
  return value.is_bool() && value.get_bool();
}

int64_t Fields::Number(std::string_view key) {
  const json::value& value = Get(key);
  if (!value.is_int64()) {
    Fail(key, "must be a number");
  }
  return value.is_int64() ? value.get_int64() : 0;
}

std::vector<std::string> Fields::Texts(std::string_view key) {
  const json::value& value = Get(key);
  std::vector<std::string> texts;
  if (!value.is_array()) {
    Fail(key, "must be a list");
    return texts;
  }
  for (const json::value& item : value.get_array()) {
    if (!item.is_string()) {
      Fail(key, "must be a list of strings");
      return texts;
    }
    texts.emplace_back(item.get_string().data(), item.get_string().size());
  }
  return texts;
}

std::map<std::string, std::string> Fields::TextMap(std::string_view key) {
  const json::value& value = Get(key);
  std::map<std::string, std::string> texts;
  if (!value.is_object()) {
    Fail(key, "must be an object");
    return texts;
  }
  for (const auto& item : value.get_object()) {
    if (!item.value().is_string()) {
      Fail(key, "must contain strings");
      return texts;
    }
    const json::string& text = item.value().get_string();
    texts.emplace(std::string(item.key().data(), item.key().size()),
                  std::string(text.data(), text.size()));
  }
  return texts;
}

size_t Fields::Word(std::string_view key, std::span<const std::string_view> words) {
  const std::string word = Text(key);
  for (size_t i = 0; i < words.size(); ++i) {
    if (word == words[i]) {
      return i;
    }
  }
  Fail(key, fmt::format("\"{}\" is not an allowed value", Printable(word, 40)));
  return 0;
}

void Fields::Fail(std::string_view key, std::string_view what) {
  if (status_.ok()) {
    status_ = InvalidArgument("{}{}{}: {}", where_, key.empty() ? "" : ".", key, what);
  }
}

}  // namespace kgpu::doc

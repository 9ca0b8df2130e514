#include "src/cli/top/field_reader.h"

#include <cmath>

namespace kgpu::top {
namespace {

namespace json = boost::json;

// Any JSON number that is finite.
std::optional<double> NumberIn(const json::value& value) {
  if (!value.is_number()) {
    return std::nullopt;
  }
  const double number = value.to_number<double>();
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

}  // namespace

const json::value* FieldReader::Find(std::string_view key) const {
  const json::value* value = object_.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string FieldReader::Path(std::string_view key) const {
  return where_.empty() ? std::string(key) : fmt::format("{}.{}", where_, key);
}

void FieldReader::Refuse(std::string_view key, std::string_view what) const {
  RefuseAt(Path(key), what);
}

void FieldReader::RefuseAt(std::string_view where, std::string_view what) const {
  if (status_.ok()) {
    status_ = InvalidArgument(
        "the agent's answer: {}: {}: use the same version of kgpu as the agent's", where, what);
  }
}

void FieldReader::Need(std::string_view key) const {
  if (Find(key) == nullptr) {
    Refuse(key, "is missing");
  }
}

void FieldReader::Text(std::string_view key, std::string& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (const json::string* text = value->if_string(); text != nullptr) {
    out.assign(text->data(), text->size());
  } else {
    Refuse(key, "must be a string");
  }
}

void FieldReader::Texts(std::string_view key, std::vector<std::string>& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (!value->is_array()) {
    Refuse(key, "must be a list");
    return;
  }
  for (const json::value& item : value->get_array()) {
    const json::string* text = item.if_string();
    if (text == nullptr) {
      Refuse(key, "must be a list of strings");
      return;
    }
    out.emplace_back(text->data(), text->size());
  }
}

void FieldReader::Flag(std::string_view key, bool& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (value->is_bool()) {
    out = value->get_bool();
  } else {
    Refuse(key, "must be true or false");
  }
}

void FieldReader::Number(std::string_view key, std::optional<double>& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  out = NumberIn(*value);
  if (!out) {
    Refuse(key, "must be a number");
  }
}

void FieldReader::Number(std::string_view key, double& out) const {
  std::optional<double> number;
  Number(key, number);
  out = number.value_or(out);
}

void FieldReader::Numbers(std::string_view key, std::vector<std::optional<double>>& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (!value->is_array()) {
    Refuse(key, "must be a list");
    return;
  }
  for (const json::value& item : value->get_array()) {
    out.push_back(NumberIn(item));
    if (!out.back() && !item.is_null()) {
      Refuse(key, "must be a list of numbers");
      return;
    }
  }
}

void FieldReader::Whole(std::string_view key, std::optional<int64_t>& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (value->is_int64()) {
    out = value->get_int64();
  } else {
    Refuse(key, "must be a whole number");
  }
}

void FieldReader::Count(std::string_view key, std::optional<uint64_t>& out) const {
  const json::value* value = Find(key);
  if (value == nullptr) {
    return;
  }
  if (value->is_uint64()) {
    out = value->get_uint64();
  } else if (value->is_int64() && value->get_int64() >= 0) {
    out = static_cast<uint64_t>(value->get_int64());
  } else {
    Refuse(key, "must be a whole number of at least 0");
  }
}

void FieldReader::Count(std::string_view key, uint64_t& out) const {
  std::optional<uint64_t> count;
  Count(key, count);
  out = count.value_or(out);
}

}  // namespace kgpu::top

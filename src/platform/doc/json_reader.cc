#include "src/platform/doc/json_reader.h"

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"

namespace kgpu::doc {
namespace {

namespace json = boost::json;

// Boost.JSON lets the last of equal keys win. This handler walks the text once more and stops at
// the second of two equal keys; everything else it ignores.
// NOLINTBEGIN(readability-identifier-naming): the names are those that basic_parser calls.
struct DuplicateKeyFinder {
  static constexpr size_t max_object_size = SIZE_MAX;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = SIZE_MAX;
  static constexpr size_t max_string_size = SIZE_MAX;

  std::vector<std::set<std::string>> objects;
  std::string key;
  std::string duplicate;

  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_object_begin(json::error_code&) {
    objects.emplace_back();
    return true;
  }
  bool on_object_end(size_t, json::error_code&) {
    objects.pop_back();
    return true;
  }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(size_t, json::error_code&) { return true; }
  bool on_key_part(json::string_view part, size_t, json::error_code&) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, size_t, json::error_code& error) {
    key.append(part.data(), part.size());
    if (!objects.back().insert(key).second) {
      duplicate = key;
      error = json::error::extra_data;
      return false;
    }
    key.clear();
    return true;
  }
  bool on_string_part(json::string_view, size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, size_t, json::error_code&) { return true; }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(int64_t, json::string_view, json::error_code&) { return true; }
  bool on_uint64(uint64_t, json::string_view, json::error_code&) { return true; }
  bool on_double(double, json::string_view, json::error_code&) { return true; }
  bool on_bool(bool, json::error_code&) { return true; }
  bool on_null(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};
// NOLINTEND(readability-identifier-naming)

// Where the string that begins at the quote `at` ends.
size_t EndOfString(std::string_view text, size_t at) {
  size_t end = text.find('"', at + 1);
  while (end != std::string_view::npos) {
    // The quote counts unless it follows an odd number of backslashes.
    size_t first = end;
    while (text[first - 1] == '\\') {
      --first;
    }
    if ((end - first) % 2 == 0) {
      return end;
    }
    end = text.find('"', end + 1);
  }
  return text.size();
}

// How many fields the objects of a JSON text have: each has one colon outside of strings.
size_t FieldsInText(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      at = EndOfString(text, at);
    } else if (text[at] == ':') {
      ++count;
    }
  }
  return count;
}

// The same of a tree, in which equal keys are one field.
size_t FieldsInTree(const json::value& value) {
  size_t count = 0;
  if (const json::array* items = value.if_array()) {
    for (const json::value& item : *items) {
      count += FieldsInTree(item);
    }
  } else if (const json::object* fields = value.if_object()) {
    count = fields->size();
    for (const auto& field : *fields) {
      count += FieldsInTree(field.value());
    }
  }
  return count;
}

std::string PlaceInText(std::string_view text, size_t offset, std::string_view file) {
  const std::string_view before = text.substr(0, offset);
  const auto lines = std::ranges::count(before, '\n');
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return fmt::format("{}:{}:{}", file, lines + 1, offset - line_start + 1);
}

// The most frequent mistakes, if the parser stopped at `offset`; empty for other errors.
std::string_view Hint(std::string_view text, size_t offset) {
  const char wrong = offset < text.size() ? text[offset] : '\0';
  const std::string_view before = Trim(text.substr(0, offset));
  const char last = before.empty() ? '\0' : before.back();
  if (wrong == '/' || wrong == '#') {
    return ": JSON has no comments: remove it";
  }
  if (wrong == '\'') {
    return ": use double quotes";
  }
  if ((wrong == '}' || wrong == ']') && last == ',') {
    return ": remove the comma before it";
  }
  const bool is_behind_value = last == '"' || last == '}' || last == ']' ||
                               (last >= '0' && last <= '9') || (last >= 'a' && last <= 'z');
  if (wrong == '"' && is_behind_value) {
    return ": a comma or colon is missing before it";
  }
  return "";
}

Status CheckDuplicates(std::string_view text, std::string_view file, size_t depth) {
  json::parse_options options;
  options.max_depth = depth;
  json::basic_parser<DuplicateKeyFinder> parser(options);
  json::error_code error;
  const size_t consumed = parser.write_some(false, text.data(), text.size(), error);
  if (const std::string& key = parser.handler().duplicate; !key.empty()) {
    return InvalidArgument("{}: duplicate key \"{}\": remove one",
                           PlaceInText(text, consumed, file), Printable(key, 80));
  }
  return OkStatus();
}

}  // namespace

StatusOr<json::value> ParseJson(std::string_view text, std::string_view file, const Limits& limits,
                                json::storage_ptr memory) {
  try {
    json::parse_options options;
    options.max_depth = limits.depth;
    json::parser parser(json::storage_ptr(), options);
    parser.reset(std::move(memory));
    json::error_code error;
    const size_t consumed = parser.write_some(text.data(), text.size(), error);
    if (!error && !Trim(text.substr(consumed)).empty()) {
      error = json::error::extra_data;
    }
    if (error) {
      return InvalidArgument("{}: not JSON: {}{}", PlaceInText(text, consumed, file),
                             error.message(), Hint(text, consumed));
    }
    json::value value = parser.release();
    // Counting is cheap, so that good files, which most are, are not walked a second time.
    if (FieldsInText(text) != FieldsInTree(value)) {
      if (Status status = CheckDuplicates(text, file, limits.depth); !status.ok()) {
        return status;
      }
    }
    return value;
  } catch (const std::exception& e) {
    return Internal("{}: {}", file, e.what());
  }
}

}  // namespace kgpu::doc

// Print and PrintLine of doc.h.
#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "src/platform/doc/doc.h"
#include "src/platform/doc/yaml_reader.h"

namespace kgpu::doc {
namespace {

namespace json = boost::json;

// Source: YAML 1.2 §7.4: a key without "?" has 1024 characters at most, quotes and all.
constexpr size_t kLongestPlainKey = 1000;

bool IsEmptyCollection(const json::value& value) {
  return (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty());
}

bool IsLeaf(const json::value& value) {
  return !value.is_structured() || IsEmptyCollection(value);
}

// Boost.JSON writes 0.5 as 5E-1, which no person does.
std::string LeafText(const json::value& value) {
  const double* number = value.if_double();
  return number != nullptr && std::isfinite(*number) ? NumberText(*number)
                                                     : std::string(json::serialize(value));
}

bool HasDouble(const json::value& value) {
  if (const json::array* items = value.if_array()) {
    return std::ranges::any_of(*items, HasDouble);
  }
  if (const json::object* fields = value.if_object()) {
    return std::ranges::any_of(*fields, [](const auto& field) { return HasDouble(field.value()); });
  }
  return value.is_double();
}

// On one line.
void PutLine(const json::value& value, std::string& out) {
  char separator = 0;
  if (const json::array* items = value.if_array()) {
    out += '[';
    for (const json::value& item : *items) {
      out.append(separator == 0 ? 0 : 1, separator);
      PutLine(item, out);
      separator = ',';
    }
    out += ']';
  } else if (const json::object* fields = value.if_object()) {
    out += '{';
    for (const auto& field : *fields) {
      out.append(separator == 0 ? 0 : 1, separator);
      out += json::serialize(json::value(field.key()));
      out += ':';
      PutLine(field.value(), out);
      separator = ',';
    }
    out += '}';
  } else {
    out += LeafText(value);
  }
}

class JsonPrinter {
 public:
  void Put(const json::value& value, size_t indent) {
    if (IsLeaf(value)) {
      out += LeafText(value);
    } else if (const json::array* items = value.if_array()) {
      out += "[";
      const char* separator = "\n";
      for (const json::value& item : *items) {
        out += separator;
        out.append(indent + 2, ' ');
        Put(item, indent + 2);
        separator = ",\n";
      }
      Close(']', indent);
    } else {
      out += "{";
      const char* separator = "\n";
      for (const auto& field : value.get_object()) {
        out += separator;
        out.append(indent + 2, ' ');
        out += json::serialize(json::value(field.key()));
        out += ": ";
        Put(field.value(), indent + 2);
        separator = ",\n";
      }
      Close('}', indent);
    }
  }
  std::string out;

 private:
  void Close(char bracket, size_t indent) {
    out += '\n';
    out.append(indent, ' ');
    out += bracket;
  }
};

// Texts that YAML 1.1 reads as numbers and 1.2 as text: 1_000, 0b101, .inf.
bool IsOldNumber(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_') {
      digits += c;
    }
  }
  const bool is_binary =
      text.starts_with("0b") && text.find_first_not_of("01_", 2) == std::string_view::npos;
  const bool is_grouped = digits.size() < text.size() && !digits.empty() && text.front() >= '0' &&
                          text.front() <= '9' && !ScalarValue(digits).is_string();
  return is_binary || is_grouped || text == ".inf" || text == ".Inf" || text == ".INF" ||
         text == ".nan" || text == ".NaN" || text == ".NAN";
}

// True when YAML reads the text back as this very string without quotes.
bool IsPlainYaml(std::string_view text) {
  // Words that YAML 1.1 readers take for booleans are quoted, too.
  constexpr std::string_view kFirst =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._";
  constexpr std::string_view kOther =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=,()@ ";
  for (const std::string_view word : {"y", "n", "yes", "no", "on", "off", "Y", "N", "Yes", "No",
                                      "On", "Off", "YES", "NO", "ON", "OFF"}) {
    if (text == word) {
      return false;
    }
  }
  return !text.empty() && kFirst.find(text.front()) != std::string_view::npos &&
         text.find_first_not_of(kOther) == std::string_view::npos && text.back() != ' ' &&
         ScalarValue(text).is_string() && !IsOldNumber(text);
}

class YamlPrinter {
 public:
  void Put(const json::value& value, size_t indent, bool is_after_dash) {
    if (const json::array* items = value.if_array(); items != nullptr) {
      for (const json::value& item : *items) {
        Indent(indent, is_after_dash);
        is_after_dash = false;
        out += "-";
        PutItem(item, indent);
      }
      return;
    }
    for (const auto& field : value.get_object()) {
      Indent(indent, is_after_dash);
      is_after_dash = false;
      const bool is_long = PutKey(field.key(), indent);
      if (IsLeaf(field.value())) {
        PutLeaf(field.value());
      } else {
        out += "\n";
        // Lists have the indentation of their key, as in Kubernetes' files.
        Put(field.value(), field.value().is_array() && !is_long ? indent : indent + 2, false);
      }
    }
  }
  void PutLeaf(const json::value& value) {
    out += " ";
    if (const json::string* text = value.if_string()) {
      out += Scalar(*text);
    } else {
      out += LeafText(value);
    }
    out += "\n";
  }
  std::string out;

 private:
  void PutItem(const json::value& item, size_t indent) {
    if (IsLeaf(item)) {
      PutLeaf(item);
    } else {
      out += " ";
      Put(item, indent + 2, true);
    }
  }
  // True when the key is so long that YAML wants it said.
  bool PutKey(json::string_view key, size_t indent) {
    const std::string text = Scalar(key);
    const bool is_long = text.size() > kLongestPlainKey;
    if (is_long) {
      out += "? ";
    }
    out += text;
    if (is_long) {
      out += "\n";
      Indent(indent, false);
    }
    out += ":";
    return is_long;
  }
  static std::string Scalar(json::string_view text) {
    const std::string_view plain(text.data(), text.size());
    // A JSON string is a double-quoted YAML scalar.
    return IsPlainYaml(plain) ? std::string(plain)
                              : std::string(json::serialize(json::value(text)));
  }
  void Indent(size_t indent, bool is_after_dash) {
    if (!is_after_dash) {
      out.append(indent, ' ');
    }
  }
};

}  // namespace

std::string Print(const json::value& value, Format format) {
  if (format == Format::kJson) {
    JsonPrinter printer;
    printer.Put(value, 0);
    return printer.out + "\n";
  }
  YamlPrinter printer;
  if (IsLeaf(value)) {
    printer.PutLeaf(value);
    return printer.out.substr(1);
  }
  printer.Put(value, 0, false);
  return printer.out;
}

std::string PrintLine(const json::value& value) {
  if (!HasDouble(value)) {
    return std::string(json::serialize(value));
  }
  std::string out;
  PutLine(value, out);
  return out;
}

std::string NumberText(double number) {
  std::string text = fmt::format("{}", number);
  const bool is_whole = text.find_first_of(".en") == std::string::npos;  // "1e+20", "inf", "nan"
  return is_whole ? text + ".0" : text;
}

}  // namespace kgpu::doc

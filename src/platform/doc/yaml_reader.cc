#include "src/platform/doc/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::doc {
namespace {

namespace json = boost::json;

template <typename Number>
std::optional<Number> WholeNumber(std::string_view text, int base = 10) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::optional<double> Float(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && stop == end && std::isfinite(number);
  return is_number ? std::optional(number) : std::nullopt;
}

// Receives the events of a document and ignores them.
class IgnoreEvents final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnAlias(const YAML::Mark& /*mark*/, YAML::anchor_t /*anchor*/) override {}
  void OnScalar(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& /*value*/) override {}
  void OnSequenceStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/,
                       YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& /*mark*/, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {}
  void OnMapEnd() override {}
};

// YAML::LoadAll would tell, but yaml-cpp 0.7 finds endless empty documents in texts like ",,,": so
// this looks for two, and no more.
bool HasSecondDocument(const std::string& text) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  IgnoreEvents ignore;
  return parser.HandleNextDocument(ignore) && parser.HandleNextDocument(ignore);
}

class Converter {
 public:
  Converter(std::string_view file, const Limits& limits) : file_(file), limits_(limits) {}

  StatusOr<json::value> Convert(const YAML::Node& node, size_t depth, Place* place) {
    if (depth > limits_.depth) {
      return InvalidArgument("{}: nested deeper than {} levels", At(node), limits_.depth);
    }
    if (++values_ > limits_.values) {
      return InvalidArgument("{}: more than {} values", At(node), limits_.values);
    }
    if (place != nullptr) {
      place->value = PositionOf(node);
    }
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        // "?" marks a plain scalar; quoted and block scalars ("!") are strings whatever they say.
        return node.Tag() == "?" && !limits_.keeps_scalars ? ScalarValue(node.Scalar())
                                                           : json::value(node.Scalar());
      case YAML::NodeType::Sequence:
        return List(node, depth, place);
      case YAML::NodeType::Map:
        return Map(node, depth, place);
      default:
        return json::value(nullptr);
    }
  }

 private:
  StatusOr<json::value> List(const YAML::Node& node, size_t depth, Place* place) {
    json::array items;
    for (const YAML::Node& item : node) {
      Place* const child = place == nullptr ? nullptr : &place->children.emplace_back();
      ASSIGN_OR_RETURN(json::value value, Convert(item, depth + 1, child));
      items.push_back(std::move(value));
    }
    return json::value(std::move(items));
  }

  StatusOr<json::value> Map(const YAML::Node& node, size_t depth, Place* place) {
    json::object fields;
    for (const auto& field : node) {
      if (!field.first.IsScalar()) {
        return InvalidArgument("{}: a key must be a string, not a list or a map", At(field.first));
      }
      const std::string& key = field.first.Scalar();
      if (fields.contains(key)) {
        return InvalidArgument("{}: duplicate key \"{}\": remove one", At(field.first),
                               Printable(key, 80));
      }
      Place* const child = place == nullptr ? nullptr : &place->children.emplace_back();
      ASSIGN_OR_RETURN(json::value value, Convert(field.second, depth + 1, child));
      if (child != nullptr) {
        child->key = PositionOf(field.first);
        // yaml-cpp says of a value left out that it stands where the next token does.
        child->value = value.is_null() ? child->key : child->value;
      }
      fields.emplace(key, std::move(value));
    }
    return json::value(std::move(fields));
  }

  static Position PositionOf(const YAML::Node& node) {
    const YAML::Mark mark = node.Mark();
    return mark.is_null() ? Position()
                          : Position{.line = static_cast<size_t>(mark.line) + 1,
                                     .column = static_cast<size_t>(mark.column) + 1};
  }
  std::string At(const YAML::Node& node) const {
    const Position position = PositionOf(node);
    return fmt::format("{}:{}:{}", file_, position.line, position.column);
  }

  std::string_view file_;
  const Limits& limits_;
  size_t values_ = 0;
};

}  // namespace

json::value ScalarValue(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") {
    return nullptr;
  }
  if (text == "true" || text == "True" || text == "TRUE") {
    return true;
  }
  if (text == "false" || text == "False" || text == "FALSE") {
    return false;
  }
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  if (const auto number = WholeNumber<int64_t>(digits)) {
    return *number;
  }
  if (const auto number = WholeNumber<uint64_t>(digits)) {
    return *number;
  }
  if (text.starts_with("0x")) {
    if (const auto number = WholeNumber<uint64_t>(text.substr(2), 16)) {
      return *number;
    }
  }
  if (text.starts_with("0o")) {
    if (const auto number = WholeNumber<uint64_t>(text.substr(2), 8)) {
      return *number;
    }
  }
  if (digits.find_first_of("0123456789") != std::string_view::npos) {
    if (const auto number = Float(digits)) {
      return *number;
    }
  }
  return json::value(json::string_view(text.data(), text.size()));
}

StatusOr<json::value> ParseYaml(std::string_view text, std::string_view file, const Limits& limits,
                                Place* place) {
  try {
    const std::string whole(text);
    if (HasSecondDocument(whole)) {
      return InvalidArgument("{}: more than one document in the file: keep one", file);
    }
    return Converter(file, limits).Convert(YAML::Load(whole), 1, place);
  } catch (const YAML::Exception& e) {
    return InvalidArgument("{}:{}:{}: not YAML: {}", file, e.mark.line + 1, e.mark.column + 1,
                           e.msg);
  } catch (const std::exception& e) {
    return InvalidArgument("{}: not YAML: {}", file, e.what());
  }
}

}  // namespace kgpu::doc

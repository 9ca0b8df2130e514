// A value in a template: nothing, a boolean, an integer, a decimal number, a text, a list or a map.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "src/platform/base/status.h"

namespace kgpu::gotemplate {

// Immutable; copies share lists and maps.
class Value {
 public:
  using List = std::vector<Value>;
  using Dict = std::map<std::string, Value, std::less<>>;

  Value() = default;
  explicit Value(bool truth) : held_(truth) {}
  explicit Value(int64_t number) : held_(number) {}
  explicit Value(double number) : held_(number) {}
  explicit Value(std::string text) : held_(std::move(text)) {}
  explicit Value(std::string_view text) : held_(std::string(text)) {}
  explicit Value(const char* text) : held_(std::string(text)) {}
  explicit Value(List items) : held_(std::make_shared<const List>(std::move(items))) {}
  // `order`: the keys as the author ordered them, for printers; empty: sorted.
  explicit Value(Dict fields, std::vector<std::string> order = {})
      : held_(std::make_shared<const Map>(std::move(fields), std::move(order))) {}

  bool is_nothing() const { return std::holds_alternative<std::monostate>(held_); }
  const bool* if_truth() const { return std::get_if<bool>(&held_); }
  const int64_t* if_number() const { return std::get_if<int64_t>(&held_); }
  const double* if_decimal() const { return std::get_if<double>(&held_); }
  const std::string* if_text() const { return std::get_if<std::string>(&held_); }
  const List* if_list() const {
    const auto* held = std::get_if<std::shared_ptr<const List>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }
  const Dict* if_dict() const {
    const auto* held = std::get_if<std::shared_ptr<const Map>>(&held_);
    return held == nullptr ? nullptr : &(*held)->fields;
  }
  // The keys of a map in its author's order.
  std::vector<std::string> OrderedKeys() const;

  // As in Go's templates: false, 0, nothing and empty values are not true.
  bool IsTrue() const;
  // As printed. Errors: InvalidArgument for decimal numbers, lists and maps.
  StatusOr<std::string> Text() const;
  // "a text", "a list", for people.
  std::string_view KindName() const;

  bool operator==(const Value& other) const;

 private:
  struct Map {
    Map(Dict some, std::vector<std::string> keys)
        : fields(std::move(some)), order(std::move(keys)) {}
    Dict fields;
    std::vector<std::string> order;
  };

  std::variant<std::monostate, bool, int64_t, double, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Map>>
      held_;
};

}  // namespace kgpu::gotemplate

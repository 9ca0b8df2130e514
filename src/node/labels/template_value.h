// A value in a template: nothing, a boolean, an integer, a text, a list or a map.
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

namespace kgpu::labels {

// Immutable; copies share lists and maps.
class Value {
 public:
  using List = std::vector<Value>;
  using Dict = std::map<std::string, Value, std::less<>>;

  Value() = default;
  explicit Value(bool truth) : held_(truth) {}
  explicit Value(int64_t number) : held_(number) {}
  explicit Value(std::string text) : held_(std::move(text)) {}
  explicit Value(std::string_view text) : held_(std::string(text)) {}
  explicit Value(const char* text) : held_(std::string(text)) {}
  explicit Value(List items) : held_(std::make_shared<const List>(std::move(items))) {}
  explicit Value(Dict fields) : held_(std::make_shared<const Dict>(std::move(fields))) {}

  bool is_nothing() const { return std::holds_alternative<std::monostate>(held_); }
  const bool* if_truth() const { return std::get_if<bool>(&held_); }
  const int64_t* if_number() const { return std::get_if<int64_t>(&held_); }
  const std::string* if_text() const { return std::get_if<std::string>(&held_); }
  const List* if_list() const { return Pointed<List>(); }
  const Dict* if_dict() const { return Pointed<Dict>(); }

  // As in Go's templates: false, 0, nothing and empty values are not true.
  bool IsTrue() const;
  // As printed. Errors: InvalidArgument for lists and maps.
  StatusOr<std::string> Text() const;
  // "a text", "a list", for people.
  std::string_view KindName() const;

  bool operator==(const Value& other) const;

 private:
  template <typename T>
  const T* Pointed() const {
    const auto* held = std::get_if<std::shared_ptr<const T>>(&held_);
    return held == nullptr ? nullptr : held->get();
  }

  std::variant<std::monostate, bool, int64_t, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>>
      held_;
};

}  // namespace kgpu::labels

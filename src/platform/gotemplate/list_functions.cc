// Functions of lists and maps.
#include <algorithm>
#include <array>
#include <optional>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/gotemplate/functions.h"

namespace kgpu::gotemplate {
namespace {

using Result = StatusOr<Value>;

StatusOr<const Value::Dict*> DictOf(const Value& value) {
  const Value::Dict* dict = value.if_dict();
  if (dict != nullptr) {
    return dict;
  }
  return InvalidArgument("{} instead of a map", value.KindName());
}

Result Len(Arguments args, const Context&) {
  if (const std::string* text = args[0].if_text()) {
    return Value(static_cast<int64_t>(text->size()));
  }
  if (const Value::Dict* dict = args[0].if_dict()) {
    return Value(static_cast<int64_t>(dict->size()));
  }
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[0]));
  return Value(static_cast<int64_t>(list->size()));
}

Result ItemAt(const Value::List& list, const Value& index) {
  ASSIGN_OR_RETURN(const int64_t at, NumberOf(index));
  if (at < 0 || at >= static_cast<int64_t>(list.size())) {
    return OutOfRange("no item {} in a list of {}", at, list.size());
  }
  return list[static_cast<size_t>(at)];
}

// A missing key is empty, as in Go: an attribute that a device lacks is "".
Result MemberOf(const Value::Dict& dict, const Value& key) {
  ASSIGN_OR_RETURN(const std::string_view name, TextOf(key));
  const auto found = dict.find(name);
  if (found != dict.end()) {
    return found->second;
  }
  const bool holds_texts = dict.empty() || dict.begin()->second.if_text() != nullptr;
  return holds_texts ? Value("") : Value();
}

Result Index(Arguments args, const Context&) {
  Value value = args[0];
  for (const Value& key : args.subspan(1)) {
    if (const Value::Dict* dict = value.if_dict()) {
      ASSIGN_OR_RETURN(value, MemberOf(*dict, key));
    } else {
      ASSIGN_OR_RETURN(const Value::List* list, ListOf(value));
      ASSIGN_OR_RETURN(value, ItemAt(*list, key));
    }
  }
  return value;
}

Result Get(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::Dict* dict, DictOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view name, TextOf(args[1]));
  const auto found = dict->find(name);
  return found == dict->end() ? Value("") : found->second;
}

Result HasKey(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::Dict* dict, DictOf(args[0]));
  ASSIGN_OR_RETURN(const std::string_view name, TextOf(args[1]));
  return Value(dict->find(name) != dict->end());
}

// In the order of the keys.
Result Keys(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::Dict* dict, DictOf(args[0]));
  Value::List keys;
  for (const auto& [key, value] : *dict) {
    keys.emplace_back(key);
  }
  return Value(std::move(keys));
}

Result First(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[0]));
  return list->empty() ? Value() : list->front();
}

Result LastItem(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[0]));
  return list->empty() ? Value() : list->back();
}

// All but the first.
Result Rest(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[0]));
  return Value(list->empty() ? Value::List() : Value::List(list->begin() + 1, list->end()));
}

// Whether the list, which stands last, holds the value.
Result Has(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(args[1]));
  return Value(std::ranges::find(*list, args[0]) != list->end());
}

Result MakeList(Arguments args, const Context&) {
  return Value(Value::List(args.begin(), args.end()));
}

StatusOr<std::vector<std::string>> TextsOf(const Value& value) {
  ASSIGN_OR_RETURN(const Value::List* list, ListOf(value));
  std::vector<std::string> texts;
  for (const Value& item : *list) {
    ASSIGN_OR_RETURN(std::string text, item.Text());
    texts.push_back(std::move(text));
  }
  return texts;
}

Value ListFrom(const std::vector<std::string>& texts) {
  Value::List list;
  for (const std::string& text : texts) {
    list.emplace_back(text);
  }
  return Value(std::move(list));
}

Result SortAlpha(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(std::vector<std::string> texts, TextsOf(args[0]));
  std::ranges::sort(texts);
  return ListFrom(texts);
}

// The first of those that are alike, in their order.
Result Uniq(Arguments args, const Context&) {
  ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(args[0]));
  std::vector<std::string> sorted = texts;
  std::ranges::sort(sorted);
  std::vector<bool> seen(sorted.size());
  std::vector<std::string> kept;
  for (const std::string& text : texts) {
    const auto at = static_cast<size_t>(std::ranges::lower_bound(sorted, text) - sorted.begin());
    if (!seen[at]) {
      seen[at] = true;
      kept.push_back(text);
    }
  }
  return ListFrom(kept);
}

constexpr std::array kListFunctions = {
    Function{.name = "first", .least = 1, .most = 1, .body = First},
    Function{.name = "get", .least = 2, .most = 2, .body = Get},
    Function{.name = "has", .least = 2, .most = 2, .body = Has},
    Function{.name = "hasKey", .least = 2, .most = 2, .body = HasKey},
    Function{.name = "index", .least = 1, .most = kAnyNumber, .body = Index},
    Function{.name = "keys", .least = 1, .most = 1, .body = Keys},
    Function{.name = "last", .least = 1, .most = 1, .body = LastItem},
    Function{.name = "len", .least = 1, .most = 1, .body = Len},
    Function{.name = "list", .least = 0, .most = kAnyNumber, .body = MakeList},
    Function{.name = "rest", .least = 1, .most = 1, .body = Rest},
    Function{.name = "sortAlpha", .least = 1, .most = 1, .body = SortAlpha},
    Function{.name = "uniq", .least = 1, .most = 1, .body = Uniq},
};

}  // namespace

std::span<const Function> ListFunctions() {
  return kListFunctions;
}

}  // namespace kgpu::gotemplate
